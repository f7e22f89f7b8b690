from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.plugins.normalize import default_normalize


@pytest.mark.parametrize(
    ("scores", "reverse", "expected"),
    [
        ([0, 10, 30], False, [0, 33, 100]),
        ([0, 1, 3], True, [100, 67, 0]),
        ([0, 0], False, [0, 0]),
        ([0, 0], True, [100, 100]),
        ([7], False, [100]),
        ([], False, []),
        ([], True, []),
    ],
)
def test_examples(scores: list[int], reverse: bool, expected: list[int]) -> None:
    given_scores = np.array(scores, dtype=np.int64)
    assert default_normalize(given_scores, reverse=reverse).tolist() == expected
    assert given_scores.tolist() == scores, "the scores given must stay as they are: they may be kept"


@given(st.lists(st.integers(0, 10**9), min_size=1), st.booleans())
def test_formula(scores: list[int], reverse: bool) -> None:
    highest = max(scores)
    scaled = [100 * score // highest if highest else 0 for score in scores]
    expected = [100 - score for score in scaled] if reverse else scaled
    assert default_normalize(np.array(scores, dtype=np.int64), reverse=reverse).tolist() == expected
