"""JSON patches: results and refusals as the API server gives them."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.merging.json_patches import MOST_OPERATIONS, json_patch

REJECTED = "the server rejected our request due to an error in our request"
DOCUMENT: dict[str, Any] = {"data": {"k": "v", "n": None}, "list": ["a", "b"], "e/f~": 1}


@pytest.mark.parametrize(
    ("operation", "changed"),
    [
        ({"op": "add", "path": "/data/x", "value": 1}, {"data": {"k": "v", "n": None, "x": 1}}),
        ({"op": "add", "path": "/data/x"}, {"data": {"k": "v", "n": None, "x": None}}),
        ({"op": "add", "path": "/list/-", "value": "c"}, {"list": ["a", "b", "c"]}),
        ({"op": "add", "path": "/list/0", "value": "c"}, {"list": ["c", "a", "b"]}),
        ({"op": "add", "path": "/list/2", "value": "c"}, {"list": ["a", "b", "c"]}),
        ({"op": "add", "path": "/list/-1", "value": "c"}, {"list": ["a", "b", "c"]}),
        ({"op": "remove", "path": "/list/-1"}, {"list": ["a"]}),
        ({"op": "remove", "path": "/list/+1"}, {"list": ["a"]}),
        ({"op": "remove", "path": "/data/k"}, {"data": {"n": None}}),
        ({"op": "replace", "path": "/data/new", "value": "2"}, {"data": {"k": "v", "n": None, "new": "2"}}),
        ({"op": "replace", "path": "/list/1", "value": "c"}, {"list": ["a", "c"]}),
        ({"op": "replace", "path": "/e~1f~0", "value": 2}, {"e/f~": 2}),
        ({"op": "copy", "from": "/list", "path": "/data/k"}, {"data": {"k": ["a", "b"], "n": None}}),
        ({"op": "copy", "from": "/data/zz", "path": "/data/k"}, {"data": {"k": None, "n": None}}),
        ({"op": "move", "from": "/list/0", "path": "/list/1"}, {"list": ["b", "a"]}),
        ({"op": "test", "path": "/data/k", "value": "v"}, {}),
        ({"op": "test", "path": "/data/n"}, {}),
        ({"op": "test", "path": "/data/zz", "value": None}, {}),
        (
            {
                "op": "test",
                "path": "",
                "value": {"e/f~": 1, "list": ["a", "b"], "data": {"n": None, "k": "v"}},
            },
            {},
        ),
    ],
)
def test_operations(operation: dict[str, Any], changed: dict[str, Any]) -> None:
    before = deepcopy(DOCUMENT)
    assert json_patch(DOCUMENT, [operation]) == {**DOCUMENT, **changed}
    assert before == DOCUMENT


def test_move_takes_the_value_away() -> None:
    moved = json_patch(DOCUMENT, [{"op": "move", "from": "/list", "path": "/data/k"}])
    assert moved == {"data": {"k": ["a", "b"], "n": None}, "e/f~": 1}


def test_a_copy_is_its_own() -> None:
    patched = json_patch(
        DOCUMENT,
        [
            {"op": "add", "path": "/list/-", "value": "c"},
            {"op": "copy", "from": "/list", "path": "/copied"},
            {"op": "add", "path": "/copied/-", "value": "d"},
        ],
    )
    assert (patched["list"], patched["copied"]) == (["a", "b", "c"], ["a", "b", "c", "d"])


def test_values_of_the_patch_are_not_changed() -> None:
    value: dict[str, Any] = {"x": {}}
    patched = json_patch({}, [{"op": "add", "path": "/a", "value": value}, {"op": "add", "path": "/a/x/y"}])
    assert patched == {"a": {"x": {"y": None}}}
    assert value == {"x": {}}


def test_the_whole_document_can_be_replaced() -> None:
    assert json_patch(DOCUMENT, [{"op": "replace", "path": "", "value": {"a": 1}}]) == {"a": 1}


@pytest.mark.parametrize("operations", [None, []])
def test_nothing_to_do(operations: Any) -> None:
    assert json_patch(DOCUMENT, operations) == DOCUMENT


@pytest.mark.parametrize(
    "operation",
    [
        None,
        {},
        {"op": "frob", "path": "/data"},
        {"op": "add"},
        {"op": "add", "path": "data"},
        {"op": "add", "path": ""},
        {"op": "add", "path": "/nope/x", "value": 1},
        {"op": "add", "path": "/data/k/x", "value": 1},
        {"op": "add", "path": "/data/n/x", "value": 1},
        {"op": "add", "path": "/list/7", "value": 1},
        {"op": "add", "path": "/list/-9", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "remove", "path": "/data/zz"},
        {"op": "remove", "path": "/list/7"},
        {"op": "remove", "path": "/list/-"},
        {"op": "remove", "path": "/list/"},
        {"op": "remove", "path": "/list/1_0"},
        {"op": "remove", "path": "/list/99999999999999999999"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "/nope/x", "value": 1},
        {"op": "replace", "path": "/list/2", "value": 1},
        {"op": "replace", "path": "", "value": "x"},
        {"op": "replace", "path": "", "value": []},
        {"op": "replace", "path": ""},
        {"op": "move", "path": "/data/q"},
        {"op": "move", "from": "/data/zz", "path": "/data/q"},
        {"op": "move", "from": "/data/k", "path": "/nope/q"},
        {"op": "move", "from": "/data", "path": "/data/q"},
        {"op": "copy", "from": "/nope/zz", "path": "/data/q"},
        {"op": "copy", "from": "/data/k", "path": "/list/9"},
        {"op": "copy", "from": "/data/k"},
        {"op": "test", "path": "/data/k", "value": "no"},
        {"op": "test", "path": "/data/k"},
        {"op": "test", "path": "/data/zz", "value": 1},
        {"op": "test", "path": "/e~1f~0", "value": True},
        {"op": "test", "path": "/e~1f~0", "value": 1.0},
        {"op": "test", "path": "/list/7", "value": 1},
    ],
)
def test_what_cannot_be_done(operation: Any) -> None:
    with pytest.raises(Refusal) as refusal:
        json_patch(DOCUMENT, [operation])
    assert (refusal.value.code, refusal.value.reason, refusal.value.message) == (422, "Invalid", REJECTED)
    assert refusal.value.document()["details"] == {}


@pytest.mark.parametrize(
    ("operations", "text"),
    [
        ({}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ("x", "cannot unmarshal string into Go value of type []handlers.jsonPatchOp"),
        ([1], "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 5}], "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
        ([{"path": 5}], "cannot unmarshal number into Go struct field jsonPatchOp.path of type string"),
        ([{"from": True}], "cannot unmarshal bool into Go struct field jsonPatchOp.from of type string"),
    ],
)
def test_what_is_no_patch(operations: Any, text: str) -> None:
    with pytest.raises(Refusal) as refusal:
        json_patch(DOCUMENT, operations)
    assert (refusal.value.code, refusal.value.message) == (400, f"error decoding patch: json: {text}")


def test_too_many_operations() -> None:
    operation = {"op": "add", "path": "/data/k", "value": "x"}
    assert json_patch(DOCUMENT, [operation] * MOST_OPERATIONS)["data"]["k"] == "x"
    with pytest.raises(Refusal) as refusal:
        json_patch(DOCUMENT, [operation] * (MOST_OPERATIONS + 1))
    assert refusal.value.code == 413
    assert refusal.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_cannot_grow_without_bounds() -> None:
    doubling = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "move", "from": "/b", "path": "/a/b"},
        {"op": "move", "from": "/a", "path": "/c"},
        {"op": "add", "path": "/a", "value": {}},
        {"op": "move", "from": "/c", "path": "/a/c"},
    ]
    with pytest.raises(Refusal) as refusal:
        json_patch({"a": {"x": "y" * 100}}, doubling * 100)
    assert refusal.value.message == REJECTED


POINTERS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1", "~0", ""]), max_size=3).map(
    lambda steps: "".join(f"/{step}" for step in steps)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab~"), inner, max_size=3),
    max_leaves=8,
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
    optional={"path": POINTERS, "from": POINTERS, "value": VALUES},
)


@given(st.dictionaries(st.sampled_from("ab~"), VALUES, max_size=3), st.lists(OPERATIONS, max_size=5) | VALUES)
def test_nothing_but_refusals_and_inputs_stay(document: dict[str, Any], operations: Any) -> None:
    before = deepcopy((document, operations))
    with suppress(Refusal):
        assert isinstance(json_patch(document, operations), dict)
    assert (document, operations) == before
