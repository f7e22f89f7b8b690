"""Comparing what a command printed with what a document shows.

A line of three dots stands for any lines, `…` for any part of a line. What differs from run to run is masked
on both sides: times, ages, generated names, ports, and the width of columns.
"""

import re

ANY_LINES = "..."
ANY_PART = "…"

_MASKS = (
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? s\b"), "SECONDS"),
    (re.compile(r"(?<![\w.-])(\d+m)?\d+(\.\d+)?s\b"), "AGE"),
    (re.compile(r"-[0-9a-f]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-GENERATED"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"(?<=\S) {2,}"), "  "),
)


def difference(expected: str, printed: str) -> str:
    """What to tell about two texts that differ; empty if they are the same."""
    wanted = [_masked(line) for line in expected.splitlines()]
    found = [_masked(line) for line in printed.splitlines()]
    if _same(wanted, found):
        return ""
    return "\n".join(("expected:", *wanted, "", "printed:", *found))


def _masked(line: str) -> str:
    for pattern, mask in _MASKS:
        line = pattern.sub(mask, line)
    return line.rstrip()


def _same(wanted: list[str], found: list[str]) -> bool:
    if not wanted:
        return not found
    if wanted[0] == ANY_LINES:
        return any(_same(wanted[1:], found[start:]) for start in range(len(found) + 1))
    return bool(found) and _same_line(wanted[0], found[0]) and _same(wanted[1:], found[1:])


def _same_line(wanted: str, found: str) -> bool:
    parts = [re.escape(part) for part in wanted.split(ANY_PART)]
    return re.fullmatch(".*".join(parts), found) is not None
