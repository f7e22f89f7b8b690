"""No text does anything but compile or be refused, and no program anything but have a value or fail."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cel.devices import compile_selector, device_value
from moorage.cel.syntax.source import CompileError
from tests.cel.generating import _PIECES, DRIVER, Generator, mutated, random_device

DEVICE = device_value(DRIVER, random_device(Random(1)))


def try_out(expression: str) -> str:
    try:
        selector = compile_selector(expression)
    except CompileError as error:
        assert str(error)
        return "refused"
    selector.evaluate(DEVICE)
    return "compiled"


@given(st.text())
def test_any_text(text: str) -> None:
    try_out(text)


@given(st.lists(st.sampled_from(_PIECES), max_size=30))
def test_any_words(words: list[str]) -> None:
    try_out("".join(words))


@given(st.integers(0, 2**32))
def test_selectors_with_mistakes(seed: int) -> None:
    random = Random(seed)
    try_out(mutated(random, Generator(random).selector()))


NESTED = {
    "parentheses": ("(", "true", ")"),
    "lists": ("[", "", "]"),
    "maps": ("{'a': ", "1", "}"),
    "negations": ("!(", "true", ")"),
    "calls": ("dyn(", "1", ")"),
    "sums": ("1 + (", "1", ")"),
    "relations": ("true == (", "true", ")"),
    "conditions": ("true ? (", "true", ") : false"),
    "loops": ("[1].map(x, ", "1", ")"),
    "filtering loops": ("[1].map(x, x == 1 || x == 2, ", "1", ")"),
    "quantifiers": ("[1].all(x, ", "true", ")"),
    "bindings": ("cel.bind(x, 1, ", "true", ")"),
    "optional maps": ("optional.of(1).optMap(x, ", "1", ")"),
}
CHAINED = {
    "selections": ("device", ".a", ""),
    "indices": ("dyn(1)", "[0]", ""),
    "additions": ("1", " + 1", " > 0"),
    "products": ("1", " * 1", " > 0"),
    "comparisons": ("true", " == true", ""),
    "calls": ("'a'", ".trim()", " == 'a'"),
    "loops": ("[1]", ".map(x, x)", " == [1]"),
    "alternatives": ("", "true ? true : ", "true"),
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("levels", [10, 60, 124, 125, 249, 250, 1000, 20_000])
def test_deep_nesting_ends_at_the_limit(name: str, levels: int) -> None:
    before, inner, after = NESTED[name]
    outcome = try_out(before * levels + inner + after * levels)
    if levels > 249:
        assert outcome == "refused"


@pytest.mark.parametrize("name", CHAINED)
@pytest.mark.parametrize("levels", [10, 100, 248, 249, 250, 251, 1000, 10_000])
def test_long_chains_end_at_the_limit(name: str, levels: int) -> None:
    before, link, after = CHAINED[name]
    outcome = try_out(before + link * levels + after)
    if levels > 250:
        assert outcome == "refused"


def test_many_terms_and_elements_are_no_nesting() -> None:
    assert try_out("true" + " && true" * 5000) == "compiled"
    assert try_out("false" + " || false" * 5000) == "compiled"
    assert try_out("[" + "1, " * 5000 + "].size() == 5000") == "compiled"
    assert try_out("-" * 5001 + "1 < 0") == "compiled"
    assert try_out("!" * 5000 + "true") == "compiled"


def test_expressions_have_a_longest_length() -> None:
    assert try_out("true" + " " * 99_996) == "compiled"
    assert try_out("true" + " " * 99_997) == "refused"


@pytest.mark.parametrize(
    "text",
    [
        '"' * 50_000,
        "'''" + "a" * 90_000,
        '"""\\' * 20_000,
        "//" * 40_000,
        "`" * 90_000,
        "a." * 40_000,
        "a.a.a " * 15_000,
        "0" * 90_000,
        "1" * 90_000 + ".0 > 0.0",
        "\\" * 90_000,
    ],
)
def test_long_nonsense_is_refused_at_once(text: str) -> None:
    assert try_out(text) == "refused" or text.startswith("1")
