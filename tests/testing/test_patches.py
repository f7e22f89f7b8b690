"""Patches in tests give what they give in the embedded cluster, whose patches are held to the real ones."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.client.errors import ApiError
from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.merging import json_patches
from moorage.testing.patches import json_patch, merge

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["x", ""]),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(KEYS, inside, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=3)
STEPS = st.sampled_from(["a", "b", "c", "0", "1", "2", "-", "-1", "a~1b"])
PATHS = st.lists(STEPS, min_size=1, max_size=3).map(lambda steps: "/" + "/".join(steps))
OPERATIONS = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": PATHS,
        "from": PATHS,
        "value": VALUES,
    }
)


@given(DOCUMENTS, st.lists(OPERATIONS, max_size=3))
def test_json_patches(document: dict[str, Any], operations: list[dict[str, Any]]) -> None:
    try:
        expected = json_patches.json_patch(document, operations)
    except Refusal:
        expected = "refused"
    try:
        found = json_patch(document, operations)
    except ApiError:
        found = "refused"
    assert found == expected


@given(DOCUMENTS, DOCUMENTS)
def test_merge_patches(document: dict[str, Any], patch: dict[str, Any]) -> None:
    assert merge(document, patch) == json_patches.merge_patch(document, patch)
