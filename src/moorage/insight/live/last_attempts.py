"""The number of each pod's last attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.insight.log.decision_log import DecisionLog

_FEWEST = 10_000


class LastAttempts:
    """Reads what is new in the log when it is asked, so that scheduling does nothing for it."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log
        self._by_pod: dict[str, int] = {}
        self._read = 0

    def of(self, key: str) -> int | None:
        """Of the pod with this namespace and name; None if there is none in the log."""
        log = self._log
        if log.newest > self._read:
            fresh = log.attempts(limit=log.newest - self._read)
            for attempt in reversed(fresh):
                self._by_pod[attempt.entry.key] = attempt.number
            self._read = log.newest
            if len(self._by_pod) > 2 * (log.newest - log.oldest) + _FEWEST:
                self._by_pod = {pod: number for pod, number in self._by_pod.items() if number >= log.oldest}
        number = self._by_pod.get(key)
        return number if number is not None and number >= log.oldest else None
