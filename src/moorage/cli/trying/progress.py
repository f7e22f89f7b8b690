"""A progress bar on standard error that makes room for what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Bar:
    """Shown on terminals only."""

    def __init__(self, doing: str, total: float | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn(doing),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            redirect_stdout=False,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def advance(self, text: str = "") -> None:
        """One more is done; `text` stands behind the bar from now on."""
        self._progress.update(self._task, advance=1, description=text)

    @contextmanager
    def making_room(self) -> Iterator[None]:
        """Meanwhile it is not shown."""
        self._progress.stop()
        yield
        self._progress.start()
