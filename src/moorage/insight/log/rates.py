"""How many attempts there were lately."""

from __future__ import annotations

from collections import deque

from moorage.insight.log.entries import ASSUMED, Entry

SECONDS = 10.0


class Rates:
    """Counts attempts, and remembers once a second how many there were."""

    def __init__(self) -> None:
        self.attempts = self.bound = self.failed = 0
        self._next = 0.0
        self._past: deque[tuple[float, int, int, int]] = deque(maxlen=int(SECONDS) + 1)

    def note(self, entry: Entry) -> None:
        """An attempt was made."""
        if entry.time >= self._next:
            self._remember(entry.time)
        self.attempts += 1
        if entry.outcome is not ASSUMED:
            self.failed += 1

    def _remember(self, now: float) -> None:
        self._next = now + 1.0
        self._past.append((now, self.attempts, self.bound, self.failed))

    def document(self, now: float) -> dict[str, float]:
        """Per second, over the last ten."""
        if now >= self._next:
            self._remember(now)
        since = next((past for past in self._past if past[0] >= now - SECONDS), self._past[-1])
        seconds = max(now - since[0], 1.0)
        return {
            "attemptsPerSecond": round((self.attempts - since[1]) / seconds, 1),
            "boundPerSecond": round((self.bound - since[2]) / seconds, 1),
            "failedPerSecond": round((self.failed - since[3]) / seconds, 1),
        }
