"""Every trap of docs/go-traps.md has lines of Go beside lines of Python, which tests/docs runs."""

from __future__ import annotations

import pytest

from tests.docs.blocks import PYTHON, ROOT, blocks_of

PAGE = ROOT / "docs" / "go-traps.md"
TRAPS = [
    "Division",
    "Rounding",
    "64 bits",
    "Division by zero, infinity, NaN",
    "Maps",
    "Zero values",
    "Status",
    "Errors",
    "NodeInfo is live",
    "Goroutines",
]


def test_the_page_has_these_traps() -> None:
    headings = [line.removeprefix("## ") for line in PAGE.read_text().splitlines() if line.startswith("## ")]
    assert headings == TRAPS


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_shows_both_languages(trap: str) -> None:
    lines = PAGE.read_text().splitlines()
    start = lines.index(f"## {trap}") + 1
    end = next((n for n, line in enumerate(lines[start:], start) if line.startswith("## ")), len(lines))
    [block] = [block for block in blocks_of(PAGE) if start < block.line <= end]
    assert block.language == PYTHON and not block.not_run
    assert block.first_line.startswith("# ") and "assert " in block.text
