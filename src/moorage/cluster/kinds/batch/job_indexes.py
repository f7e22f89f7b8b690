"""Indexes of an Indexed Job's pods, as texts tell them: `1,3-5,7`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from moorage.cluster.base.go_text import quoted

_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


class IndexProblem(ValueError):
    """A text that does not tell indexes."""


def intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """First and last of each stretch. Raises IndexProblem where that is no number below `completions`."""
    for each in text.split(",") if text else ():
        yield _interval(each, completions)


def count_indexes(text: str, completions: int) -> int:
    """How many there are; they have to grow. Raises IndexProblem."""
    total, last = 0, -1
    for number, (first, end) in enumerate(intervals(text, completions)):
        if number and last >= first:
            raise IndexProblem(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def overlap(one: str, other: str, completions: int) -> int | None:
    """The first index that is in both."""
    found = [list(_readable(text, completions)) for text in (one, other)]
    common = [
        max(first, start)
        for first, last in found[0]
        for start, end in found[1]
        if first <= end and start <= last
    ]
    return min(common, default=None)


def _readable(text: str, completions: int) -> Iterator[tuple[int, int]]:
    for each in text.split(",") if text else ():
        try:
            yield _interval(each, completions)
        except IndexProblem:
            continue


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        raise IndexProblem(
            f"the fragment {quoted(text)} violates the requirement that an index interval can have at most "
            "two parts separated by '-'"
        )
    numbers = [_index(limit, completions) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise IndexProblem(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise IndexProblem(f"cannot convert string to integer for index: {quoted(text)}")
    if int(text) >= completions:
        raise IndexProblem(f"too large index: {quoted(text)}")
    return int(text)
