"""Work on many pods, done a piece at a time."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator

PIECE_SECONDS = 0.01
SMALLEST_PIECE = 64
"""So many steps are taken at once, however long they take."""
MOST_WAITING = 64


class Piecemeal:
    """Does what it is given in order: a piece at once, the rest in pieces between everything else.

    A plugin's hint may be slow, and thousands of pods may have to be asked about or moved: nobody should have
    to wait until all of that is done. Where no event loop runs, there is nobody, and all is done at once.
    Too much that waits is done at once as well: who brings it should not be ahead for long.
    """

    def __init__(self) -> None:
        self._work: deque[Iterator[None]] = deque()
        self._continued_in: asyncio.AbstractEventLoop | None = None
        self.is_whole = False
        """Whether all is done at once, for runs in which the same has to come out each time."""

    def do(self, work: Iterator[None]) -> None:
        """Runs an iterator to its end, sooner or later; every step of it is a good place to stop."""
        self._work.append(work)
        if self.is_whole or len(self._work) > MOST_WAITING:
            self.finish()
        elif self._continued_in is None or self._continued_in.is_closed():
            self._continue()

    def finish(self) -> None:
        """Does all that is left now."""
        while self._work:
            for _ in self._work[0]:
                pass
            self._work.popleft()

    def __len__(self) -> int:
        return len(self._work)

    def _continue(self) -> None:
        self._continued_in = None
        end, steps = time.perf_counter() + PIECE_SECONDS, 0
        while self._work:
            for _ in self._work[0]:
                steps += 1
                if steps >= SMALLEST_PIECE and time.perf_counter() > end and self._continue_later():
                    return
            self._work.popleft()

    def _continue_later(self) -> bool:
        try:
            self._continued_in = asyncio.get_running_loop()
        except RuntimeError:
            return False
        self._continued_in.call_soon(self._continue)
        return True
