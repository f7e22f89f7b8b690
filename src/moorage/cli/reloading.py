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
        folder = _folder_of(place)
        if folder is not None:
            found.update(dict.fromkeys(sorted(folder.rglob("*.py"))))
            continue
        is_file = place.endswith(".py") or Path(place).is_file()
        if is_file:
            found[Path(place).resolve()] = None
        package = place.partition(".")[0]
        for name, file in _loaded():
            beside = is_file and file.parent == Path(place).resolve().parent
            inside = not is_file and (name == package or name.startswith(f"{package}."))
            if beside or inside:
                found[file] = None
    return list(found)


def _folder_of(place: str) -> Path | None:
    """The outermost package of a folder: all of its files count, those that could not be imported, too."""
    from moorage.framework.loading.plugin_folders import outermost_of, package_at
    from moorage.framework.loading.registry import PluginLoadError

    try:
        package = package_at(place)
    except PluginLoadError:
        return None
    return None if package is None else outermost_of(package)


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
    """Calls `changed` with those of the files that have another content; looks at their times only.

    `files` is asked again after each call: another version of a plugin may be made of other files.
    """

    def __init__(
        self, files: Callable[[], Iterable[Path]], changed: Callable[[list[Path]], Awaitable[None]]
    ) -> None:
        self._files = files
        self._changed = changed
        self._seen = {path: _signature(path) for path in files()}

    async def run(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        before = self._seen
        while True:
            await sleep(POLL_SECONDS)
            now = {path: _signature(path) for path in self._seen}
            # A file that is being replaced may be missing for a moment.
            is_settled = None not in now.values() or now == before
            before = now
            if now != self._seen and is_settled:
                await self._changed([path for path in now if now[path] != self._seen[path]])
                self._seen = {path: now[path] if path in now else _signature(path) for path in self._files()}


def _signature(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
