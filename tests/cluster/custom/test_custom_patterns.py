"""Expected results are those of Go's regexp package."""

from __future__ import annotations

import time

import pytest

from moorage.cluster.custom.patterns import compiled, problem


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("^a$", ["a"], ["a\n", "ba", ""]),
        ("(?m)^a$", ["a", "b\na", "a\nb"], ["ba"]),
        ("(?i)abc", ["ABC", "xaBc"], ["ab"]),
        ("x(?i)y", ["xY", "xy"], ["Xy"]),
        ("(a(?i)b|c)d", ["aBd", "cd", "Cd"], ["Abd", "aBD"]),
        (r"^\d+\z", ["12"], ["12\n", "\u0663"]),
        ("^[[:alpha:]_]+$", ["a_Z"], ["a1", "é"]),
        (r"^\pL+$", ["éa"], ["1"]),
        (r"^\p{Lu}$", ["É"], ["é"]),
        (r"^[^\p{L}]$", ["1"], ["é"]),
        (r"^\PL$", ["1"], ["a"]),
        (r"^\Qa.b\E$", ["a.b"], ["axb"]),
        (r"^\x41\x{1F600}$", ["A\U0001f600"], ["A"]),
        ("^a{,2}$", ["a{,2}"], ["aa"]),
        ("^[]a]$", ["]", "a"], ["b"]),
        ("^[a&&b]$", ["&", "a"], ["c"]),
        ("(?<year>[0-9]{4})", ["2020"], ["20"]),
        ("(?s).+", ["\n"], [""]),
    ],
)
def test_patterns_mean_what_they_mean_in_go(pattern: str, fitting: list[str], others: list[str]) -> None:
    found = compiled(pattern)

    assert found is not None and problem(pattern) == ""
    assert [text for text in fitting + others if found.search(text)] == fitting


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        (r"\p{Nowhere}", r"invalid character class range: `\p{Nowhere}`"),
        (r"\y", r"invalid escape sequence: `\y`"),
    ],
)
def test_what_is_no_pattern(pattern: str, expected: str) -> None:
    assert compiled(pattern) is None
    assert problem(pattern) == f"error parsing regexp: {expected}"


@pytest.mark.parametrize(
    "pattern",
    ["^(a+)+$", "(a|a)*b", "(a*)*b", "(.*)*x", ".*.*.*=.*", "(a?){30}a{30}b", "^(([a-z])+.)+[A-Z]([a-z])+$"],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    expression = compiled(pattern)
    assert expression is not None
    began = time.perf_counter()
    assert not expression.search("a" * 20_000 + "!")
    assert time.perf_counter() - began < 5


def test_an_empty_text_has_no_boundary() -> None:
    within, between = compiled(r"\B"), compiled(r"\b")
    assert within is not None and between is not None
    assert within.search("")
    assert not between.search("")


@pytest.mark.parametrize("pattern", ["((a{100}){100}){100}", r"(\pL{100}){10}"])
def test_repetitions_that_multiply_are_refused(pattern: str) -> None:
    assert compiled(pattern) is None
    assert problem(pattern)
