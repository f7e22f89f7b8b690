"""Noticing that a plugin's file has changed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

POLL_SECONDS = 0.3


def files_of(plugins: Iterable[str]) -> list[Path]:
    """The files behind `--plugin` values that were loaded, with what they imported from beside them."""
    found: dict[Path, None] = {}
    for spec in plugins:
        place = spec.partition(":")[0]
        is_file = place.endswith(".py") or Path(place).is_file()
        if is_file:
            found[Path(place)] = None
        package = place.partition(".")[0]
        for name, file in _loaded():
            beside = is_file and file.parent == Path(place).resolve().parent
            inside = not is_file and (name == package or name.startswith(f"{package}."))
            if (beside and file != Path(place).resolve()) or inside:
                found[file] = None
    return list(found)


def _loaded() -> Iterator[tuple[str, Path]]:
    """The modules that come from Python files, but for the program itself."""
    for name, module in tuple(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and name != "__main__":
            yield name, Path(file).resolve()


def forget_modules(files: Iterable[Path]) -> None:
    """Has the modules of these files imported anew when they are asked for the next time."""
    wanted = {path.resolve() for path in files}
    for name, file in tuple(_loaded()):
        if file in wanted:
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
