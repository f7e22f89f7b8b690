from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.custom.rules.object_rules import ObjectRules
from moorage.cluster.custom.rules.tree import rule_tree
from moorage.cluster.custom.schema_rules import default_problems, schema_problems
from moorage.cluster.custom.structural import declared_schema, to_schema
from moorage.cluster.custom.validation import duplicates, validate
from moorage.cluster.custom.values import WrongMetadata, default, prune, read_embedded, validate_embedded

Document = dict[str, Any]

NAMES = st.sampled_from(["a", "b", "c", "k", "metadata", "kind", "apiVersion", "spec", "x.y/z", ""])
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=8) | st.sampled_from(
    ["a", "1s", "2020-01-02T03:04:05Z", "a@b.c", "::1", "http://x/%zz"]
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
FORMATS = st.sampled_from(
    ["int32", "int64", "float", "double", "date-time", "date", "email", "uri", "hostname", "ipv4", "ipv6",
     "cidr", "mac", "uuid4", "isbn", "creditcard", "duration", "byte", "rgbcolor", "k8s-long-name", "other"]
)  # fmt: skip
SIZES = st.integers(0, 4)
LEAF_CHECKS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["object", "array", "string", "integer", "number", "boolean"]),
    "format": FORMATS,
    "nullable": st.booleans(),
    "default": VALUES,
    "enum": st.lists(VALUES, max_size=3),
    "pattern": st.sampled_from(["^a$", "[", "(?i)A", r"\pL+", "a{1,3}", "", "^[[:alpha:]]*$"]),
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "exclusiveMinimum": st.booleans(),
    "multipleOf": NUMBERS,
    "minLength": SIZES,
    "maxLength": SIZES,
    "minItems": SIZES,
    "maxItems": SIZES,
    "minProperties": SIZES,
    "maxProperties": SIZES,
    "required": st.lists(NAMES, max_size=3),
    "x-kubernetes-preserve-unknown-fields": st.booleans(),
    "x-kubernetes-int-or-string": st.booleans(),
    "x-kubernetes-embedded-resource": st.booleans(),
    "x-kubernetes-list-type": st.sampled_from(["atomic", "set", "map"]),
    "x-kubernetes-list-map-keys": st.lists(NAMES, max_size=2),
    "x-kubernetes-validations": st.lists(
        st.fixed_dictionaries(
            {
                "rule": st.sampled_from(
                    ["true", "self == 1", "self.a", "oldSelf == self", "", "self.all(x, x > 1)"]
                )
            },
            optional={"optionalOldSelf": st.booleans(), "fieldPath": st.sampled_from([".a", "b", "['k']"])},
        ),
        max_size=2,
    ),
}


def _deeper(inner: st.SearchStrategy[Document]) -> st.SearchStrategy[Document]:
    more: dict[str, st.SearchStrategy[Any]] = {
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "additionalProperties": inner | st.booleans(),
        "items": inner,
        "anyOf": st.lists(inner, max_size=2),
        "allOf": st.lists(inner, max_size=2),
        "oneOf": st.lists(inner, max_size=2),
        "not": inner,
    }
    return st.fixed_dictionaries({}, optional={**LEAF_CHECKS, **more})


SCHEMAS = st.recursive(st.fixed_dictionaries({}, optional=LEAF_CHECKS), _deeper, max_leaves=6)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, OBJECTS, OBJECTS)
def test_no_schema_and_no_value_is_too_strange(open_api: Document, value: Document, old: Document) -> None:
    before = deepcopy((open_api, value, old))
    schema = declared_schema(open_api)
    pruned, unknown = prune(schema, value)
    default(schema, pruned)
    causes = [*validate(schema, pruned), *validate(schema, pruned, old=old), *duplicates(schema, pruned)]
    try:
        read_embedded(schema, pruned, "", [])
        causes += validate_embedded(schema, pruned)
    except WrongMetadata as error:
        assert str(error)
    to_schema(open_api)
    causes += [*schema_problems(open_api, "spec", has_status=True), *default_problems(open_api, "spec")]

    assert all(cause.field and cause.message for cause in causes)
    assert unknown == sorted(unknown)
    assert (open_api, value, old) == before


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, OBJECTS, OBJECTS)
def test_rules_have_an_answer_for_every_value(open_api: Document, value: Document, old: Document) -> None:
    node = rule_tree({**open_api, "type": "object"}, declared_schema({**open_api, "type": "object"}))
    if node is not None:
        rules = ObjectRules()
        rules.check(node, value, old, tolerates=True)
        assert all(cause.field and cause.message for cause in (*rules.causes, *rules.tolerated))


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, OBJECTS)
def test_pruning_again_changes_nothing(open_api: Document, value: Document) -> None:
    schema = declared_schema(open_api)
    pruned, _ = prune(schema, value)

    assert prune(schema, pruned) == (pruned, [])


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, OBJECTS)
def test_completing_again_changes_nothing(open_api: Document, value: Document) -> None:
    schema = declared_schema(open_api)
    default(schema, value)
    once = deepcopy(value)
    default(schema, value)

    assert value == once


@settings(max_examples=60, deadline=None)
@given(SCHEMAS, OBJECTS)
def test_what_stays_as_it_was_is_never_refused(open_api: Document, value: Document) -> None:
    schema = declared_schema(open_api)

    assert validate(schema, value, old=deepcopy(value)) == []
