"""What came of each test, and how it is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

State = Literal["passed", "failed", "skipped", "left out"]

_WORST_FIRST: tuple[State, ...] = ("failed", "passed", "skipped", "left out")
_PREFIX = "[sig-scheduling] "


class Result(msgspec.Struct, frozen=True):
    """One run of a test, or why there was none."""

    test: str
    state: State
    seconds: float = 0.0
    reason: str = ""
    """Why it failed, why the suite skipped it, or why it is left out."""
    log: str = ""
    """The file with what the suite wrote."""

    @property
    def name(self) -> str:
        return self.test.removeprefix(_PREFIX)

    def line(self) -> str:
        seconds = f"{self.seconds:6.1f} s" if self.seconds else " " * 8
        return f"{self.state:<8} {seconds}  {self.name}"


class Row(msgspec.Struct, frozen=True):
    """All runs of a test: the worst outcome, how often there was it, and the longest time."""

    worst: Result
    times: int
    runs: int
    seconds: float

    def cells(self) -> tuple[str, str, str]:
        outcome: str = self.worst.state
        if self.runs > 1:
            outcome += f" {self.times} of {self.runs}"
        if self.worst.reason:
            outcome += f": {self.worst.reason}"
        return self.worst.name, outcome, f"{self.seconds:.1f}" if self.seconds else ""


def rows(results: Iterable[Result]) -> list[Row]:
    """A row for each test, in the order of their first runs."""
    by_test: dict[str, list[Result]] = {}
    for result in results:
        by_test.setdefault(result.test, []).append(result)
    return [_row(runs) for runs in by_test.values()]


def _row(runs: Sequence[Result]) -> Row:
    worst = min(runs, key=lambda each: _WORST_FIRST.index(each.state))
    times = sum(each.state == worst.state for each in runs)
    return Row(worst, times, len(runs), max(each.seconds for each in runs))


def any_failed(results: Iterable[Result]) -> bool:
    return any(result.state == "failed" for result in results)


def counted(results: Iterable[Result]) -> str:
    """For example: 27 passed, 1 skipped, 2 left out."""
    found = Counter(row.worst.state for row in rows(results))
    states: tuple[State, ...] = ("passed", "failed", "skipped", "left out")
    return ", ".join(f"{found[state]} {state}" for state in states if found[state]) or "no test matches"


def markdown(title: str, results: Sequence[Result]) -> str:
    lines = [f"# {title}", "", counted(results), "", "| test | outcome | seconds |", "|---|---|---:|"]
    lines += [f"| {' | '.join(map(_cell, row.cells()))} |" for row in rows(results)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def as_json(title: str, results: Sequence[Result]) -> bytes:
    return msgspec.json.format(msgspec.json.encode({"title": title, "results": results}), indent=2) + b"\n"
