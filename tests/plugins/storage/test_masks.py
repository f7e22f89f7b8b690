"""A mask of all or no nodes counts for an array of the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.plugins.storage.masks import Mask, both, either, has_any, part, without
from moorage.state.columns import Bools

SIZE = 4
MASKS = st.booleans() | st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array)


def spelled_out(mask: Mask) -> Bools:
    return np.full(SIZE, mask) if isinstance(mask, bool) else mask


@given(MASKS, MASKS)
def test_the_same_as_with_arrays(one: Mask, other: Mask) -> None:
    a, b = spelled_out(one), spelled_out(other)
    assert spelled_out(both(one, other)).tolist() == (a & b).tolist()
    assert spelled_out(either(one, other)).tolist() == (a | b).tolist()
    assert spelled_out(without(one, other)).tolist() == (a & ~b).tolist()
    assert has_any(one) is bool(a.any())


@pytest.mark.parametrize("rows", [slice(1, 3), np.array([2, 1])])
def test_none_stands_for_all_rows(rows: slice) -> None:
    assert part(None, rows) is True
    found = part(np.array([True, False, True, False]), rows)
    assert not isinstance(found, bool)
    assert found.tolist() == ([False, True] if isinstance(rows, slice) else [True, False])
