"""Files that are used anew when their content changes, such as certificates that are renewed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moorage.framework.logger import Logger
from moorage.server.tls import TlsError

LOOK_SECONDS = 5.0

log = Logger(__name__)


@dataclass
class _Watched:
    what: str
    files: Sequence[str]
    use: Callable[..., str]
    content: Sequence[bytes]
    problem: str = ""


class WatchedFiles:
    """Looks at files every few seconds. It compares what they hold, however they were replaced.

    Of files that belong together, one may be seen before the other is written. What cannot be used is told
    once and tried again, and until then what was there before stays in use.
    """

    def __init__(self, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._watched: list[_Watched] = []
        self._sleep = sleep

    def use(self, what: str, files: Sequence[str], use: Callable[..., str]) -> None:
        """Calls `use` with the contents, now and after each change; what it returns is logged.

        It raises ValueError if it cannot use them, which is a TlsError now and a line in the log later.
        """
        try:
            content = _read(files)
            done = use(*content)
        except (OSError, ValueError) as error:
            raise TlsError(f"{what}: cannot be used ({', '.join(files)}): {error}") from error
        log.info(2, "Loaded", what=what, detail=done)
        self._watched.append(_Watched(what, files, use, content))

    async def follow(self) -> None:
        """Never returns; ends by cancellation."""
        while True:
            await self._sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        for watched in self._watched:
            try:
                content = await asyncio.to_thread(_read, watched.files)
                if content != watched.content:
                    done = watched.use(*content)
                    watched.content = content
                    log.info(0, "Loaded again after a change", what=watched.what, detail=done)
                watched.problem = ""
            except (OSError, ValueError) as error:
                if str(error) != watched.problem:
                    watched.problem = str(error)
                    log.error(
                        error,
                        "Changed files cannot be used; what was there before stays in use, and they are "
                        "tried again",
                        what=watched.what,
                        files=", ".join(watched.files),
                    )


def _read(files: Sequence[str]) -> list[bytes]:
    return [Path(file).read_bytes() for file in files]
