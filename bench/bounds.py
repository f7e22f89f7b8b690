"""A figure, the bound it must keep, and how both are printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Check(NamedTuple):
    what: str
    value: float
    bound: float
    unit: str
    at_least: bool = False
    """Whether the bound is a lower one."""

    @property
    def kept(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def __str__(self) -> str:
        verdict = "ok    " if self.kept else "MISSED"
        side = "at least" if self.at_least else "at most"
        return f"{verdict} {self.what}: {self.value:.2f} {self.unit} ({side} {self.bound:.4g})"


class Failed(NamedTuple):
    """Something that could not be measured."""

    what: str
    why: str
    kept: bool = False

    def __str__(self) -> str:
        return f"FAILED {self.what}: {self.why}"


Outcomes = Iterator[Check | Failed]


class Unavailable(Exception):
    """What a benchmark needs is not on this machine; one line with the remedy."""
