from __future__ import annotations

import pytest

from moorage.cel.declarations import Argument, Range
from moorage.cel.environment import Environment
from moorage.cel.evaluation.planner import ProgramError
from moorage.cel.libraries.catalog import KUBERNETES
from moorage.cel.types import STRING
from tests.cel.libraries.calling import call, cost, estimate, fails, known

FACE = "\U0001f600"


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("abc 123", "[0-9]+", "123"),
        ("abc 123", "[0-9]*", ""),
        ("abc", "xyz", ""),
        ("abc", "", ""),
        (f"é{FACE}x", ".x", f"{FACE}x"),
        ("ABC", "(?i)b", "B"),
        ("a\nb", "a.b", ""),
    ],
)
def test_find(text: str, pattern: str, expected: str) -> None:
    assert call("string_find_string", text, pattern) == expected


@pytest.mark.parametrize(
    ("text", "pattern", "limit", "expected"),
    [
        ("123 abc 456", "[0-9]+", -1, ("123", "456")),
        ("123 abc 456", "[0-9]+", 1, ("123",)),
        ("123 abc 456", "[0-9]+", 0, ()),
        ("123 abc 456", "[0-9]+", -5, ("123", "456")),
        ("abc", "xyz", -1, ()),
        ("baab", "a*", -1, ("", "aa", "")),
        (f"é{FACE}", "", -1, ("", "", "")),
        ("ababa", "^a", -1, ("a",)),
        ("éaé", r"\B", -1, ("", "")),
        ("", "a*", -1, ("",)),
    ],
)
def test_find_all(text: str, pattern: str, limit: int, expected: tuple[str, ...]) -> None:
    assert call("string_find_all_string_int", text, pattern, limit) == expected
    if limit < 0:
        assert call("string_find_all_string", text, pattern) == expected


@pytest.mark.parametrize("pattern", ["(", "[", "a**", "*", "(?=a)", r"\1"])
def test_what_is_not_a_pattern(pattern: str) -> None:
    for name in ("string_find_string", "string_find_all_string"):
        assert fails(name, "text", pattern).startswith("Illegal regex: ")


@pytest.mark.parametrize("expression", ["'a'.find('(') == ''", "'a'.findAll('[') == []"])
def test_a_pattern_that_is_written_out_has_to_be_one(expression: str) -> None:
    with pytest.raises(ProgramError, match="error parsing regexp"):
        Environment(KUBERNETES, {}).compile(expression)


def test_costs_multiply_text_and_pattern() -> None:
    assert cost("string_find_string", "é" * 10, "x" * 5) == 2 * 2
    assert cost("string_find_string", "", "x") == 1
    assert cost("string_find_all_string", "x" * 9, "") == 0
    assert cost("string_find_string", "x" * 99, "(" * 8) == 10 * 2


def test_estimates_multiply_text_and_pattern() -> None:
    text = Argument(STRING, Range(0, 64))
    assert estimate("string_find_string", text, known("x" * 9)) == (Range(3, 21), Range(0, 64))
