"""Noticing that a plugin's file has changed."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

POLL_SECONDS = 0.3


def files_of(plugins: Iterable[str]) -> list[Path]:
    """The files behind `--plugin` values: the given ones, and those of importable modules."""
    found = []
    for spec in plugins:
        place = spec.partition(":")[0]
        if place.endswith(".py") or Path(place).is_file():
            found.append(Path(place))
            continue
        module = importlib.util.find_spec(place)
        if module is not None and module.origin and module.origin.endswith(".py"):
            found.append(Path(module.origin))
    return found


def forget_modules(files: Iterable[Path]) -> None:
    """Has the modules of these files imported anew when they are asked for the next time."""
    wanted = {path.resolve() for path in files}
    for name, module in tuple(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and name != "__main__" and Path(file).resolve() in wanted:
            del sys.modules[name]


class FileWatch:
    """Calls `changed` when one of the files has another content; looks at their times only."""

    def __init__(self, files: Iterable[Path], changed: Callable[[], Awaitable[None]]) -> None:
        self._files = list(files)
        self._changed = changed
        self._seen = self._look()

    async def run(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        while True:
            await sleep(POLL_SECONDS)
            now = self._look()
            # A file that is being replaced may be missing for a moment.
            if now != self._seen and None not in now:
                self._seen = now
                await self._changed()

    def _look(self) -> list[tuple[int, int] | None]:
        return [_signature(path) for path in self._files]


def _signature(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
