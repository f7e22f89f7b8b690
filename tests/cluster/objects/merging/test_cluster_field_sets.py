"""Field sets: FieldsV1 both ways, and the set operations against plain sets of paths."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.objects.merging.field_sets import FieldSet, key_step, path_text, value_step

STEPS = st.sampled_from(
    ["f:a", "f:b.c/d", 'k:{"name":"x"}', 'k:{"port":80,"protocol":"TCP"}', 'v:"x"', "v:1", "v:true", "i:0"]
)
PATHS = st.frozensets(st.lists(STEPS, min_size=1, max_size=4).map(tuple), max_size=8)


def set_of(paths: frozenset[tuple[str, ...]]) -> FieldSet:
    fields: dict[str, Any] = {}
    for path in paths:
        tree = fields
        for step in path:
            tree = tree.setdefault(step, {})
        tree["."] = {}
    return FieldSet.from_json(fields)


@given(PATHS)
def test_round_trip(paths: frozenset[tuple[str, ...]]) -> None:
    fields = set_of(paths)
    assert frozenset(fields.paths()) == paths
    again = FieldSet.from_json(fields.to_json())
    assert again == fields
    assert str(again.to_json()) == str(fields.to_json())
    assert all(path in fields for path in paths)


@given(PATHS, PATHS)
def test_operations(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> None:
    first, second = set_of(one), set_of(other)
    assert frozenset((first | second).paths()) == one | other
    assert str((first | second).to_json()) == str(set_of(one | other).to_json())
    assert frozenset((first & second).paths()) == one & other
    assert frozenset((first - second).paths()) == one - other
    below = {path for path in one if any(path[: len(start)] == start for start in other)}
    assert frozenset(first.without_subtrees(second).paths()) == one - below
    assert (frozenset(first.paths()), frozenset(second.paths())) == (one, other)


def test_an_entry_is_in_the_set_if_it_is_empty_or_says_so() -> None:
    fields = FieldSet.from_json({"f:a": {"f:b": {}}, "f:c": {".": {}, "f:d": {}}})
    assert fields.paths() == (("f:c",), ("f:a", "f:b"), ("f:c", "f:d"))
    assert ("f:a",) not in fields
    assert ("f:a", "f:b", "f:x") not in fields
    assert () not in fields


def test_the_order_of_entries() -> None:
    fields = FieldSet.from_json(
        {
            "f:ports": {
                'k:{"protocol":"TCP","port":8443}': {},
                'k:{"port":443,"protocol":"TCP"}': {},
                ".": {},
                'k:{"port":80,"protocol":"UDP"}': {},
                'k:{"port":80,"protocol":"TCP"}': {},
            },
            "f:data": {"f:k10": {}, "f:k1": {}, ".": {}},
        }
    ).to_json()
    assert list(fields) == ["f:data", "f:ports"]
    assert list(fields["f:data"]) == [".", "f:k1", "f:k10"]
    assert list(fields["f:ports"]) == [
        ".",
        'k:{"port":80,"protocol":"TCP"}',
        'k:{"port":80,"protocol":"UDP"}',
        'k:{"port":443,"protocol":"TCP"}',
        'k:{"port":8443,"protocol":"TCP"}',
    ]


def test_steps_are_written_as_go_writes_json() -> None:
    assert key_step({"protocol": "TCP", "port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
    assert value_step('<a>&"\u2028é') == 'v:"\\u003ca\\u003e\\u0026\\"\\u2028é"'
    assert value_step(True) == "v:true"


def test_paths_in_messages() -> None:
    path = ("f:spec", 'k:{"containerPort":80,"protocol":"TCP"}', "f:x", 'v:"a"', "i:3")
    assert path_text(path) == '.spec[containerPort=80,protocol="TCP"].x[="a"][3]'


@pytest.mark.parametrize(
    "fields",
    ["x", {"f:a": 1}, {"a": {}}, {"": {}}, {"k:x": {}}, {"k:1": {}}, {"v:": {}}, {"i:x": {}}],
)
def test_what_is_not_fields(fields: Any) -> None:
    with pytest.raises(ValueError):
        FieldSet.from_json(fields)


def test_steps_nobody_knows_are_dropped() -> None:
    assert FieldSet.from_json({"z:new": {"f:a": {}}, "f:a": {}}).paths() == (("f:a",),)


def test_deep_nesting_is_no_set() -> None:
    fields: dict[str, Any] = {}
    for _ in range(5000):
        fields = {"f:a": fields}
    with pytest.raises(ValueError, match="objects"):
        FieldSet.from_json(fields)
    with pytest.raises(ValueError):
        FieldSet.from_json({f"v:{'[' * 100_000}": {}})
