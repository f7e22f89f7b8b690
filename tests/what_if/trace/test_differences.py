from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.what_if.trace.differences import applied, difference

scalars = st.one_of(st.text(max_size=3), st.integers(2, 9), st.booleans())
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)


@given(documents, documents)
def test_what_differs_makes_the_new_of_the_old(old: Any, new: Any) -> None:
    if old != new:
        before = repr(old)
        assert applied(old, difference(old, new)) == new
        assert repr(old) == before


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a": 2, "b": 3}, {"a": 2, "b": 4}, {"b": 4}),
        ({"a": 2, "b": 3}, {"a": 2}, {"b": None}),
        ({"a": {"b": 2, "c": 3}}, {"a": {"b": 2, "c": 4}}, {"a": {"c": 4}}),
        ([{"a": 2}, {"b": 3}], [{"a": 2}, {"b": 4}], {1: {"b": 4}}),
        ([2, 3, 4], [2, 3, 9, 4], {-1: [2, 2, [9]]}),
        ([2, 3, 4], [2, 4], {-1: [1, 2, []]}),
        ([2, 3], [2, 3, 4], {-1: [2, 2, [4]]}),
        ([2], [], []),
    ],
)
def test_only_what_differs_is_told(old: Any, new: Any, told: Any) -> None:
    assert difference(old, new) == told
