"""How much may still be tried: a time limit, somebody who stops it, and who is told how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable


class Effort:
    """What a search asks before each try. It never begins again: what is over stays so."""

    def __init__(
        self,
        seconds: float | None = None,
        *,
        tries: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`tries` limits each part of a search; `tell` is given a line whenever something was found."""
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds
        self.tries = tries
        self.tell = tell
        self.is_stopped = False

    def stop(self) -> None:
        """As if the time were over; may be called by the handler of a signal."""
        self.is_stopped = True

    @property
    def is_over(self) -> bool:
        if not self.is_stopped and self._end is not None and self._clock() >= self._end:
            self.is_stopped = True
        return self.is_stopped

    @property
    def seconds_left(self) -> float | None:
        """None without a limit."""
        if self.is_stopped:
            return 0.0
        return None if self._end is None else max(0.0, self._end - self._clock())
