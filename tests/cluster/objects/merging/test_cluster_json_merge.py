"""JSON merge patches: the table of RFC 7386 and what the API server refuses."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.merging.json_patches import merge_patch

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_the_table_of_the_rfc(target: object, patch: object, expected: object) -> None:
    assert merge_patch(target, patch) == expected


def test_what_does_not_change_is_shared() -> None:
    target: dict[str, Any] = {"spec": {"x": [1]}, "metadata": {"labels": {}}}
    merged = merge_patch(target, {"metadata": {"name": "n"}})
    assert merged["spec"] is target["spec"]
    assert merged["metadata"]["labels"] is target["metadata"]["labels"]
    assert target["metadata"] == {"labels": {}}


UNREADABLE = "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}"


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ([], UNREADABLE.format("array")),
        ("x", UNREADABLE.format("string")),
        (5, UNREADABLE.format("number")),
        (None, "Invalid JSON Patch"),
    ],
)
def test_a_patch_has_to_be_an_object(patch: object, text: str) -> None:
    with pytest.raises(Refusal) as refusal:
        merge_patch({}, patch)
    assert (refusal.value.code, refusal.value.message) == (400, text)


def test_deep_nesting_is_refused() -> None:
    patch: object = 1
    for _ in range(5000):
        patch = {"a": patch}
    with pytest.raises(Refusal):
        merge_patch({}, patch)


@given(JSON, JSON)
def test_nothing_but_refusals_and_inputs_stay(target: object, patch: object) -> None:
    before = deepcopy((target, patch))
    try:
        merged = merge_patch(target, patch)
    except Refusal:
        assert not isinstance(patch, dict)
    else:
        assert merge_patch(merged, patch) == merged
    assert (target, patch) == before
