"""How far a replay is: a bar with pods per second, virtual time and the estimated end."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from moorage.what_if.replay.running import Standing

_SHORTEST = 0.1
"""Seconds between two looks at the bar."""


class ReplayProgress:
    """A bar on the terminal for several replays, one after the other; nothing where nobody looks."""

    def __init__(self, began: float, replays: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._began = began
        self._replays = replays
        self._number = 0
        self._placed_at = (0.0, 0)
        self._shown = 0.0
        narrow = console.width < 80
        told = TextColumn("{task.fields[told]}")
        columns = (
            TextColumn("{task.description}"),
            BarColumn(None),
            TaskProgressColumn(),
            told,
            TimeRemainingColumn(),
        )
        self._progress = Progress(
            *(columns[1:] if narrow else columns),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            expand=True,
        )
        self._task = self._progress.add_task("Reading", total=1.0, told="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def reading(self, changes: int) -> None:
        self._progress.update(self._task, told=f"{changes} changes")

    def begin(self, name: str, seed: int) -> None:
        """The next replay begins."""
        which = f" {self._number + 1}/{self._replays}" if self._replays > 1 else ""
        self._number += 1
        self._progress.reset(self._task, total=1.0, description=f"Replaying{which}", told=name)
        self._placed_at = time.monotonic(), 0

    def tell(self, standing: Standing) -> None:
        now = time.monotonic()
        if now - self._shown < _SHORTEST:
            return
        self._shown = now
        from moorage.what_if.replay.comparing import duration

        since, before = self._placed_at
        rate = (standing.placed - before) / (now - since) if now > since else 0.0
        told = f"{rate:.0f} pods/s, {duration(standing.now - self._began)} in"
        self._progress.update(self._task, completed=standing.share, told=told)
