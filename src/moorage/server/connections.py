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
    phase: Phase
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
        self._in_phase: dict[Phase, dict[TlsConnection, None]] = {phase: {} for phase in Phase}
        """In the order in which they came into it."""

    def __len__(self) -> int:
        return len(self._accounts)

    def __iter__(self) -> Iterator[TlsConnection]:
        return iter(self._accounts)

    def opened(self, connection: TlsConnection) -> None:
        if len(self._accounts) >= self._most:
            phase = min(phase for phase, connections in self._in_phase.items() if connections)
            log.debug("too many connections: the oldest of those in phase %s is closed", phase.name)
            self._end(next(iter(self._in_phase[phase])))
        self._accounts[connection] = _Account(connection.phase, self._clock())
        self._in_phase[connection.phase][connection] = None

    def moved_on(self, connection: TlsConnection) -> None:
        account = self._accounts.get(connection)
        if account is not None:
            del self._in_phase[account.phase][connection]
            account.phase, account.since = connection.phase, self._clock()
            self._in_phase[account.phase][connection] = None

    def closed(self, connection: TlsConnection) -> None:
        account = self._accounts.pop(connection, None)
        if account is not None:
            del self._in_phase[account.phase][connection]

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
            is_late = now - account.since >= SECONDS[account.phase]
            is_stuck = account.full_since is not None and now - account.full_since >= SECONDS_TO_TAKE
            if is_late or is_stuck:
                self._end(connection)

    def _end(self, connection: TlsConnection) -> None:
        self.closed(connection)
        connection.abort()
