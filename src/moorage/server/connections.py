"""The connections of the server: how many there may be, and how long they may take."""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Final

from moorage.server.profiling import LONGEST_PROFILE
from moorage.server.tls_connection import Phase, TlsConnection

log = logging.getLogger(__name__)

MOST_CONNECTIONS = 1000
SECONDS_TO_TAKE: Final = 60.0
"""How long an answer may wait to be taken: it stays in memory until then."""

SECONDS: Final = {
    Phase.HANDSHAKE: 10.0,
    Phase.HEAD: 10.0,
    Phase.REQUEST: LONGEST_PROFILE + SECONDS_TO_TAKE,
    Phase.IDLE: 90.0,
    Phase.CLOSING: SECONDS_TO_TAKE,
}
"""How long a connection may be in a phase."""

_LOOK_SECONDS = 1.0


def most_connections() -> int:
    """At most half of the files that the process may open: the scheduler needs connections, too."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, files // 2)


@dataclass
class _Account:
    since: float
    """When the phase began."""
    full_since: float | None = None
    """Since when there has been something that the caller has not taken."""


class Connections:
    """Ends connections that take too long, and for a new one that is too much the one that is missed least.

    So a new connection is always accepted: whoever holds many open keeps nobody from asking for our health.
    """

    def __init__(
        self,
        most: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._most = most_connections() if most is None else most
        self._clock = clock
        self._sleep = sleep
        self._accounts: dict[TlsConnection, _Account] = {}

    def __len__(self) -> int:
        return len(self._accounts)

    def __iter__(self) -> Iterator[TlsConnection]:
        return iter(self._accounts)

    def opened(self, connection: TlsConnection) -> None:
        if len(self._accounts) >= self._most:
            least = min(self._accounts, key=lambda each: (each.phase, self._accounts[each].since))
            log.debug("too many connections: the oldest of those in phase %s is closed", least.phase.name)
            self._end(least)
        self._accounts[connection] = _Account(self._clock())

    def moved_on(self, connection: TlsConnection) -> None:
        if connection in self._accounts:
            self._accounts[connection].since = self._clock()

    def closed(self, connection: TlsConnection) -> None:
        self._accounts.pop(connection, None)

    def end_all(self) -> None:
        for connection in list(self._accounts):
            self._end(connection)

    async def follow(self) -> None:
        """Never returns; ends by cancellation."""
        while True:
            await self._sleep(_LOOK_SECONDS)
            self.look()

    def look(self) -> None:
        """Ends what has taken too long."""
        now = self._clock()
        for connection, account in list(self._accounts.items()):
            if not connection.tcp.get_write_buffer_size():
                account.full_since = None
            elif account.full_since is None:
                account.full_since = now
            is_late = now - account.since >= SECONDS[connection.phase]
            is_stuck = account.full_since is not None and now - account.full_since >= SECONDS_TO_TAKE
            if is_late or is_stuck:
                self._end(connection)

    def _end(self, connection: TlsConnection) -> None:
        self._accounts.pop(connection, None)
        connection.abort()
