"""Expected texts are those of a real API server (v1.36.4)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from moorage.cluster.custom.definitions import CrdStrategy

Document = dict[str, Any]
GROUP = "shop.example.com"


def version(name: str, *, storage: bool = True) -> Document:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }


def stored(group: str = GROUP, annotations: Document | None = None) -> Document:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    metadata = {"name": f"things.{group}", "resourceVersion": "1", "annotations": annotations or {}}
    return {
        "metadata": metadata,
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": names,
            "versions": [version("v1")],
            "conversion": {"strategy": "None"},
        },
        "status": {
            "conditions": [{"type": "Established", "status": "True"}],
            "acceptedNames": names,
            "storedVersions": ["v1"],
        },
    }


def problems(new: Document, old: Document) -> list[str]:
    strategy = CrdStrategy()
    strategy.prepare_update(new, old)
    return [str(cause) for cause in (*strategy.validate(new), *strategy.validate_update(new, old))]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("names", "kind"), "Thong"),
        (("names", "plural"), "x"),
        (("scope",), "Namespaced"),
        (("group",), "x.y"),
    ],
)
def test_what_cannot_change(path: tuple[str, ...], value: str) -> None:
    old = stored()
    new = deepcopy(old)
    place = new["spec"]
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value

    assert problems(new, old) == [f'spec.{".".join(path)}: Invalid value: "{value}": field is immutable']


def test_before_it_is_served_the_scope_can_change() -> None:
    old = stored()
    old["status"]["conditions"] = [{"type": "Established", "status": "False"}]
    new = deepcopy(old)
    new["spec"]["scope"] = "Namespaced"

    assert problems(new, old) == []


def test_a_version_in_which_objects_are_stored_cannot_go() -> None:
    old = stored()
    new = deepcopy(old)
    new["spec"]["versions"] = [version("v2")]

    assert problems(new, old) == [
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a '
        "storage version, and must remain in spec.versions until a storage migration ensures no data remains "
        "persisted in v1 and removes v1 from status.storedVersions"
    ]


def test_a_new_storage_version_is_remembered() -> None:
    old = stored()
    before = deepcopy(old)
    new = deepcopy(old)
    new["spec"]["versions"] = [version("v1", storage=False), version("v2")]

    assert problems(new, old) == []
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert old == before


def test_an_approval_cannot_be_taken_away() -> None:
    approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/78458"}
    old = stored("shop.k8s.io", approved)

    assert problems(stored("shop.k8s.io"), old) == [
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have "
        'approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111'
    ]
    without = stored("shop.k8s.io", {"api-approved.kubernetes.io": "unapproved, for a test"})
    assert problems(without, old) == []


def test_a_schema_too_deep_to_follow_is_refused() -> None:
    schema: Document = {"type": "object"}
    for _ in range(5000):
        schema = {"type": "object", "properties": {"a": schema}}
    crd = stored()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema

    assert [str(cause) for cause in CrdStrategy().validate(crd)] == [
        'spec.validation.openAPIV3Schema: Invalid value: "": must not be nested more than 80 levels deep'
    ]
