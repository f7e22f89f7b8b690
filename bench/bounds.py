"""A figure, the bound it must keep, and how both are printed."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    what: str
    value: float
    bound: float
    unit: str

    @property
    def kept(self) -> bool:
        return self.value <= self.bound

    def __str__(self) -> str:
        verdict = "ok    " if self.kept else "MISSED"
        return f"{verdict} {self.what}: {self.value:.2f} {self.unit} (at most {self.bound:g})"
