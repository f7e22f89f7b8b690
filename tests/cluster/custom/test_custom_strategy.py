"""Expected texts are those of a real API server (v1.36.4)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.custom.strategy import CustomStrategy, ScalePaths

Document = dict[str, Any]
GROUP = "shop.example.com"
TEXT = {"type": "string"}
SHORT = {"type": "string", "maxLength": 3}
ENTRY = {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": SHORT}}
BY_KEY = {
    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ENTRY,
}  # fmt: skip
SPEC = {"a": TEXT, "n": {"type": "integer"}, "replicas": {"type": "integer"}, "m": BY_KEY}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {**SPEC, "l": {"type": "array", "items": SHORT}}},
        "status": {
            "type": "object",
            "properties": {"replicas": {"type": "integer"}, "selector": TEXT, "x": SHORT},
        },
    },
}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
BOTH = {"status": {}, "scale": SCALE}


def make(*, deleting: bool = False, **version: Any) -> CustomStrategy:
    whole = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}, **version}
    names = {"plural": "objs", "kind": "Obj"}
    spec = {"group": GROUP, "scope": "Cluster", "names": names, "versions": [whole]}
    metadata: Document = {"name": f"objs.{GROUP}"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return CustomStrategy({"metadata": metadata, "spec": spec}, whole)


def obj(version: str = "", **parts: Any) -> Document:
    metadata: Document = {"name": "x", "generation": 4}
    if version:
        metadata["resourceVersion"] = version
    return {"apiVersion": f"{GROUP}/v1", "kind": "Obj", "metadata": metadata, **parts}


def messages(causes: Any) -> list[str]:
    return [str(cause) for cause in causes]


def test_with_an_address_of_its_own_the_status_is_changed_only_there() -> None:
    strategy = make(subresources=BOTH)
    new = obj(spec={"a": "x"}, status={"x": "y"})
    strategy.prepare_create(new)
    assert new == obj(spec={"a": "x"})

    old = obj(spec={"a": "x"}, status={"x": "y"})
    changed = obj(spec={"a": "z"}, status={"x": "other"})
    strategy.prepare_update(changed, old)
    assert changed == obj(spec={"a": "z"}, status={"x": "y"})

    changed = obj(spec={"a": "z"}, status={"x": "other"})
    strategy.prepare_status_update(changed, old)
    assert changed == obj(spec={"a": "x"}, status={"x": "other"})


def test_without_one_it_is_a_field_like_any_other() -> None:
    strategy = make()
    new = obj(status={"x": "y"})
    strategy.prepare_create(new)
    assert new["status"] == {"x": "y"}

    changed = obj(status={"x": "z"})
    strategy.prepare_update(changed, obj(status={"x": "y"}))
    assert (changed["status"], changed["metadata"]["generation"]) == ({"x": "z"}, 5)


def test_nothing_is_created_while_the_definition_goes() -> None:
    with pytest.raises(Refusal) as refused:
        make(deleting=True).prepare_create(obj())

    assert refused.value.code == 403
    assert refused.value.message == (
        f'objs.{GROUP} "x" is forbidden: create not allowed while custom resource definition is terminating'
    )


TOO_LONG = "Too long: may not be more than 3 bytes"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"a": "z"}, []),
        ({"l": ["abcdef", "c"]}, [f"spec.l[0]: {TOO_LONG}"]),
        ({"l": ["abcdef", "b"]}, []),
        ({"m": [{"k": "1", "v": "long"}, {"k": "3", "v": "long"}]}, [f"spec.m[1].v: {TOO_LONG}"]),
        ({"m": [{"k": "2", "v": "long"}]}, []),
    ],
)
def test_what_has_not_changed_may_go_on_breaking_rules(change: Document, expected: list[str]) -> None:
    spec = {"a": "y", "l": ["abcdef", "b"], "m": [{"k": "1", "v": "long"}, {"k": "2", "v": "long"}]}
    old = obj("1", spec=spec)
    new = obj("1", spec={**deepcopy(spec), **change})
    strategy = make(subresources=BOTH)

    assert messages(strategy.validate(new)) == []
    assert messages(strategy.validate_update(new, old)) == expected


def test_the_same_for_the_status() -> None:
    strategy = make(subresources=BOTH)
    old = obj("1", status={"x": "longer"})

    kept = obj("1", status={"x": "longer", "replicas": 1})
    assert messages(strategy.validate_status_update(kept, old)) == []
    changed = obj("1", status={"x": "other long"})
    assert messages(strategy.validate_status_update(changed, old)) == [f"status.x: {TOO_LONG}"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": -1}, [".spec.replicas: Invalid value: -1: should be a non-negative integer"]),
        (
            {"replicas": 2147483648},
            [".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"],
        ),
        (
            {"replicas": "x"},
            [
                'spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: '
                '"string"',
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, "
                "expected int64",
            ],
        ),
        (
            "x",
            [
                'spec: Invalid value: "string": spec in body must be of type object: "string"',
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, "
                "expected map[string]interface{}",
            ],
        ),
    ],
)
def test_the_number_of_replicas(spec: Any, expected: list[str]) -> None:
    assert messages(make(subresources=BOTH).validate(obj(spec=spec))) == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            {"selector": 1},
            [
                'status.selector: Invalid value: "integer": selector in body must be of type string: '
                '"integer"',
                '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type '
                "int64, expected string",
            ],
        ),
        (
            "x",
            [
                'status: Invalid value: "string":  in body must be of type object: "string"',
                ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type "
                "string, expected map[string]interface{}",
                '.status.selector: Invalid value: "": .status.selector accessor error: x is of the type '
                "string, expected map[string]interface{}",
            ],
        ),
    ],
)
def test_the_status_of_a_scale(status: Any, expected: list[str]) -> None:
    strategy = make(subresources=BOTH)

    assert messages(strategy.validate_status_update(obj("1", status=status), obj("1"))) == expected


def test_doubles_that_were_there_before_may_stay() -> None:
    strategy = make()
    twice = [{"k": "1"}, {"k": "1"}]
    wanted = ['spec.m[1]: Duplicate value: {"k":"1"}']

    assert messages(strategy.validate(obj(spec={"m": twice}))) == wanted
    assert messages(strategy.validate_update(obj("1", spec={"m": twice}), obj("1", spec={"m": []}))) == wanted
    old = obj("1", spec={"m": twice})
    assert messages(strategy.validate_update(obj("1", spec={"m": twice, "a": "b"}), old)) == []


def test_what_a_version_offers() -> None:
    columns = [{"name": "A", "type": "string", "jsonPath": ".spec.a"}]
    fields = [{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.n"}]
    strategy = make(subresources=BOTH, additionalPrinterColumns=columns, selectableFields=fields)

    assert strategy.scale_paths == ScalePaths(".spec.replicas", ".status.replicas", ".status.selector")
    assert strategy.printer_columns == columns
    assert strategy.selectable_fields(obj(spec={"a": "x", "n": 3})) == {"spec.a": "x", "spec.n": "3"}
    assert strategy.selectable_fields(obj()) == {"spec.a": "", "spec.n": ""}
    assert make().scale_paths is None
    assert [column["name"] for column in make().printer_columns] == ["Age"]


def test_a_deprecated_version_says_so() -> None:
    assert make(deprecated=True).deprecation == f"{GROUP}/v1 Obj is deprecated"
    assert make(deprecated=True, deprecationWarning="use v2").deprecation == "use v2"
    assert make().warnings(obj()) == []


def test_a_document_too_deep_to_follow_is_refused() -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    strategy = make(schema={"openAPIV3Schema": schema})
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}

    with pytest.raises(Refusal) as refused:
        strategy.conform(obj(spec=deep))
    assert refused.value.code == 400


def test_scores_of_nodes_as_a_custom_resource() -> None:
    flags = {"type": "object", "additionalProperties": {"type": "boolean"}}
    scores = {"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}}
    spec = {"type": "object", "properties": {"resourcesFilter": flags, "resourcesScore": scores}}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    strategy = make(schema={"openAPIV3Schema": schema})

    assert messages(strategy.validate(obj(spec={"resourcesScore": {"company.net/memory": 55}}))) == []
    assert messages(strategy.validate(obj(spec={"resourcesScore": {"x": "high"}}))) == [
        'spec.resourcesScore.x: Invalid value: "string": spec.resourcesScore.x in body must be of type '
        'integer: "string"'
    ]
    assert messages(strategy.validate(obj())) == ["spec: Required value"]


NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def with_rule(text: str, **more: Any) -> CustomStrategy:
    rules = {"x-kubernetes-validations": [{"rule": text, **more}]}
    spec = {"type": "object", "properties": SPEC, **rules}
    return make(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}})


def test_metadata_that_is_too_large_keeps_rules_from_being_checked() -> None:
    large = obj(spec={})
    large["metadata"]["annotations"] = {"a": "b" * 262144}

    assert messages(with_rule("false", message="never").validate(large)) == [NOT_CHECKED]
    assert messages(with_rule("false", message="never").validate(obj(spec={}))) == [
        "spec: Invalid value: never"
    ]


def test_a_rule_that_was_broken_before_is_told_as_a_warning() -> None:
    strategy, warnings = with_rule("self.n > 1"), list[str]()
    old, new = obj("1", spec={"n": 1}), obj("1", spec={"n": 1}, more="a")

    assert messages(strategy.validate_change(new, old, "", warnings)) == []
    assert warnings == ["spec: Invalid value: failed rule: self.n > 1"]


def test_rules_are_compiled_when_the_first_object_is_written() -> None:
    strategy = with_rule("self.n > 1")
    assert "_rule_tree" not in vars(strategy)

    strategy.validate(obj(spec={"n": 2}))
    assert "_rule_tree" in vars(strategy)
