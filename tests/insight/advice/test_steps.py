"""Operations: what `difference` finds, carried out by anybody, makes the one document of the other."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from moorage.insight.advice.steps import PatchError, difference, patched
from tests.insight.advice.carrying_out import apply

VALUES = some.recursive(
    some.none() | some.booleans() | some.integers(0, 3) | some.sampled_from(["", "a", "~/"]),
    lambda inner: (
        some.lists(inner, max_size=4)
        | some.dictionaries(some.sampled_from(["a", "b/c", "~d", ""]), inner, max_size=4)
    ),
    max_leaves=12,
)
DOCUMENTS = some.dictionaries(some.sampled_from(["spec", "a/b", "~"]), VALUES, max_size=3)


@given(DOCUMENTS, DOCUMENTS)
def test_a_difference_is_made_good_by_its_operations(before: dict[str, Any], after: dict[str, Any]) -> None:
    kept = copy.deepcopy(before)
    operations = difference(before, after)
    assert {operation["op"] for operation in operations} <= {"add", "replace", "remove"}
    document = copy.deepcopy(before)
    for operation in operations:
        apply(document, operation)
    assert same(document, after)
    assert same(patched(before, operations), after)
    assert before == kept
    assert not difference(before, kept)


def same(one: Any, other: Any) -> bool:
    """Python holds 1 and True for equal, and JSON does not."""
    return repr(one) == repr(other) if not isinstance(one, dict) else one == other


def test_lists_lose_and_gain_as_little_as_possible() -> None:
    assert difference([1, 2, 3], [1, 3]) == [{"op": "remove", "path": "/1"}]
    assert difference([1], [1, 2]) == [{"op": "add", "path": "/-", "value": 2}]
    assert difference([{"a": 1}, 2], [{"a": 3}, 2]) == [{"op": "replace", "path": "/0/a", "value": 3}]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"op": "remove", "path": "/b"}, "remove /b: there is no such place"),
        ({"op": "replace", "path": "/a/7", "value": 1}, "replace /a/7: there is no such place"),
        ({"op": "add", "path": "/b/c", "value": 1}, "add /b/c: there is no such place"),
        ({"op": "test", "path": "/a", "value": 1}, "test /a: the value is another"),
        ({"op": "move", "path": "/a"}, "move /a: use add, replace, remove or test"),
        ({"op": "add", "path": "a", "value": 1}, "path 'a' does not begin with a slash"),
    ],
)
def test_what_cannot_be_carried_out_says_so(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(PatchError) as caught:
        patched({"a": [1]}, [operation])
    assert str(caught.value) == message


def test_a_test_that_holds_changes_nothing() -> None:
    assert patched({"a": [1]}, [{"op": "test", "path": "/a/0", "value": 1}]) == {"a": [1]}
