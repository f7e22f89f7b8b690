"""The number of each pod's last attempt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.insight.log.decision_log import DecisionLog

_AT_ONCE = 2000
_FEWEST = 10_000


class LastAttempts:
    """Reads what is new in the log when it is asked to, so that scheduling does nothing for it."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log
        self._by_pod: dict[str, int] = {}
        self._read = 0

    async def catch_up(self) -> None:
        """Reads what is new; the scheduler has its turn in between."""
        log, newest, before = self._log, self._log.newest, None
        fresh: dict[str, int] = {}
        while left := newest - self._read if before is None else before - 1 - self._read:
            attempts = log.attempts(before=before, limit=min(left, _AT_ONCE))
            if not attempts:
                break
            for attempt in attempts:
                fresh.setdefault(attempt.entry.key, attempt.number)
            before = attempts[-1].number
            await asyncio.sleep(0)
        self._by_pod |= fresh
        self._read = max(newest, self._read)
        if len(self._by_pod) > 2 * (log.newest - log.oldest) + _FEWEST:
            self._by_pod = {pod: number for pod, number in self._by_pod.items() if number >= log.oldest}

    def of(self, key: str) -> int | None:
        """Of the pod with this namespace and name; None if there is none in the log."""
        number = self._by_pod.get(key)
        return number if number is not None and number >= self._log.oldest else None
