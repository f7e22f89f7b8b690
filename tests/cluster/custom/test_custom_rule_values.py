"""Values as rules see them: laws of equality and addition, names, and what was before."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cel.evaluation.operators import add, equals, is_in
from moorage.cel.values import MISSING, Duration, EvaluationError, Failure, Timestamp
from moorage.cluster.custom.rules.correlation import Correlation
from moorage.cluster.custom.rules.names import escaped, unescaped
from moorage.cluster.custom.rules.values import value_of
from moorage.cluster.custom.structural import declared_schema
from moorage.cluster.schema.model import Schema

Document = dict[str, Any]
ITEM = {
    "type": "object",
    "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
    "required": ["k"],
}


def inner(open_api: Document) -> Schema:
    return declared_schema({"type": "object", "properties": {"a": open_api}}).fields["a"].schema


ORDERED = inner({"type": "array", "items": {"type": "string"}})
SET = inner({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})
KEYED = inner(
    {"type": "array", "items": ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
)
OBJECT = inner(
    {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "number"}, "x-y": ITEM}}
)

WORDS = st.text("abc", max_size=2)
SETS = st.lists(WORDS, unique=True, max_size=5)
KEYED_LISTS = st.dictionaries(WORDS, st.integers(0, 2), max_size=4).map(
    lambda entries: [{"k": key, "v": value} for key, value in entries.items()]
)
OBJECTS = st.fixed_dictionaries(
    {}, optional={"s": WORDS, "n": st.integers(0, 3) | st.floats(0, 3), "x-y": st.just({"k": "a"})}
)


@given(SETS, st.randoms())
def test_sets_are_equal_in_any_order(members: list[str], random: Any) -> None:
    shuffled = [*members]
    random.shuffle(shuffled)

    assert equals(value_of(members, SET), value_of(shuffled, SET))
    assert equals(value_of(members, ORDERED), value_of(shuffled, ORDERED)) == (members == shuffled)


@given(KEYED_LISTS, st.randoms())
def test_lists_with_keys_are_equal_in_any_order(items: list[Document], random: Any) -> None:
    shuffled = [*items]
    random.shuffle(shuffled)

    assert equals(value_of(items, KEYED), value_of(shuffled, KEYED))


@given(st.sampled_from([(SET, SETS), (ORDERED, SETS), (KEYED, KEYED_LISTS), (OBJECT, OBJECTS)]), st.data())
def test_equality_is_symmetric_and_that_of_what_was_sent(
    kind: tuple[Schema, Any], data: st.DataObject
) -> None:
    schema, raws = kind
    left, right = data.draw(raws), data.draw(raws)
    one, other = value_of(left, schema), value_of(right, schema)

    assert equals(one, one)
    assert equals(one, other) == equals(other, one)
    if left == right:
        assert equals(one, other)


@given(SETS, SETS)
def test_adding_to_a_set_joins(left: list[str], right: list[str]) -> None:
    joined = add(value_of(left, SET), value_of(right, SET))

    assert len(joined) == len({*left, *right})
    assert all(is_in(member, joined) for member in (*left, *right))
    assert equals(joined, add(value_of(right, SET), value_of(left, SET)))
    assert equals(add(joined, joined), joined)


@given(KEYED_LISTS, KEYED_LISTS)
def test_adding_to_a_list_with_keys_takes_over(left: list[Document], right: list[Document]) -> None:
    joined = add(value_of(left, KEYED), value_of(right, KEYED))
    expected = {item["k"]: item["v"] for item in (*left, *right)}

    assert [item["k"] for item in joined][: len(left)] == [item["k"] for item in left]
    assert {item["k"]: item["v"] for item in joined} == expected


@given(st.text("ab1_-./ü", max_size=8) | st.sampled_from(["for", "__for__", "true", "namespace", "in"]))
def test_names_come_back(name: str) -> None:
    spelled = escaped(name)
    if spelled is not None:
        assert unescaped(spelled) == name
        assert spelled.isidentifier()


@pytest.mark.parametrize(
    ("raw", "open_api", "expected"),
    [
        ("x", {"type": "integer"}, "invalid data, expected int, got string"),
        (None, {"type": "integer"}, "invalid data, got null for schema with nullable=false"),
        ([], {"type": "object"}, "invalid data, expected a map for the provided schema with type=object"),
        (
            "+",
            {"type": "string", "format": "byte"},
            "Invalid byte formatted string +: illegal base64 data at input byte 0",
        ),
    ],
)
def test_what_the_schema_does_not_allow_is_a_failure(raw: Any, open_api: Document, expected: str) -> None:
    assert value_of(raw, inner(open_api)) == Failure(expected)


@given(
    st.sampled_from(["byte", "date", "date-time", "duration", ""]),
    st.text(max_size=12) | st.text("0123456789-:TZtz.+= hmsd/", max_size=25),
)
def test_any_text_has_a_value_or_a_failure(form: str, text: str) -> None:
    schema = inner({"type": "string", "format": form})

    found = value_of(text, schema)
    assert isinstance(found, (str, bytes, Timestamp, Duration, Failure))


def test_a_null_property_is_not_there() -> None:
    schema = inner({"type": "object", "properties": {"a": {"type": "string", "nullable": True}}})
    of_map = inner({"type": "object", "additionalProperties": {"type": "string", "nullable": True}})

    assert value_of({"a": None}, schema).find("a") is MISSING
    assert value_of({"a": None}, of_map).find("a") is None


def test_objects_are_not_compared_with_other_things() -> None:
    with pytest.raises(EvaluationError, match="no such overload"):
        equals(value_of({"s": "a"}, OBJECT), "a")


def test_parts_that_have_not_changed() -> None:
    schema = declared_schema(
        {
            "type": "object",
            "properties": {
                "l": {"type": "array", "items": {"type": "integer"}},
                "m": {**ITEM, "x-kubernetes-preserve-unknown-fields": True},
                "k": {
                    "type": "array",
                    "items": ITEM,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                },
            },
        }
    )
    one, two = {"k": "a", "v": 1}, {"k": "b", "v": 2}
    new = {"l": [1, 2], "m": {"k": "a", "z": 1}, "k": [two, one]}
    old = {"l": [1, 2], "m": {"k": "a", "z": 1}, "k": [one, two]}
    whole = Correlation(schema, new, old)
    parts = {name: whole.of_name(name) for name in new}

    unchanged = {name: part is not None and part.is_unchanged() for name, part in parts.items()}
    assert unchanged == {"l": True, "m": False, "k": True}  # of `z` there is no schema
    assert not whole.is_unchanged()
    assert whole.of_name("unknown") is None


def test_definitions_without_rules_load_no_expressions() -> None:
    program = """
import sys
import moorage.cluster.embedded
from moorage.cluster.custom.definitions import CrdStrategy
from moorage.cluster.custom.strategy import CustomStrategy
schema = {"type": "object", "properties": {"spec": {"type": "object", "default": {}}}}
version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
spec = {"group": "a.b", "scope": "Cluster", "names": {"plural": "as", "kind": "A"}, "versions": [version]}
crd = {"metadata": {"name": "as.a.b"}, "spec": spec}
list(CrdStrategy().validate(crd))
list(CustomStrategy(crd, version).validate({"metadata": {"name": "x"}}))
print([name for name in sys.modules if name.startswith("moorage.cel")])
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
