from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.custom import linear_match
from moorage.cluster.custom.linear_match import Expression, TooLarge

ATOMS = (
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\n",
    "^",
    r"(?:\Z)",
    r"\b",
    r"\B",
    "(?i:B)",
    "(?m:^a$)",
    "(?s:.)",
)
COUNTS = ("", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?")


def patterns() -> st.SearchStrategy[str]:
    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        repeated = st.tuples(inner, st.sampled_from(COUNTS)).map(lambda pair: f"({pair[0]}){pair[1]}")
        return (
            repeated
            | st.lists(inner, min_size=1, max_size=3).map("".join)
            | st.lists(inner, min_size=2, max_size=3).map("|".join)
        )

    return st.recursive(st.sampled_from(ATOMS), larger, max_leaves=6)


@given(patterns(), st.text("abB\n-", min_size=1, max_size=8))
def test_it_finds_what_python_finds(pattern: str, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_match, "_CHEAP", 0)
        assert Expression(pattern).search(text) == bool(re.search(pattern, text, re.ASCII))


@pytest.mark.parametrize(
    "pattern",
    ["^(a+)+$", "(a|a)*b", "(a*)*b", "(.*)*x", ".*.*.*=.*", "(a?){30}a{30}b", "^(([a-z])+.)+[A-Z]([a-z])+$"],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    expression = Expression(pattern)
    began = time.perf_counter()
    assert not expression.search("a" * 20_000 + "!")
    assert time.perf_counter() - began < 5


def test_an_empty_text_has_no_boundary() -> None:
    assert Expression(r"\B").search("")
    assert not Expression(r"\b").search("")


def test_repetitions_that_multiply_are_refused() -> None:
    with pytest.raises(TooLarge):
        Expression("((a{100}){100}){100}")
