"""The order in which watches tell what happened: that in which it happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

GATHER_SECONDS = 0.01  # a write over TLS costs more than many events
_CROWD_SECONDS = 0.1
_CROWD = 20  # rounds in so many seconds

Tell: TypeAlias = Callable[[Sequence[bytes]], object]
"""Hands over what a watch has to say, at once."""
_Untold: TypeAlias = tuple[int, Tell, bytes]


class Crowd:
    """Tells bursts of changes from quiet times.

    In a burst a moment is waited for more changes. In quiet times everything is told as soon as it happens.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = 0.0
        self._rounds = 0

    def is_there(self) -> bool:
        """Asked once for every round."""
        now = self._clock()
        if now - self._began > _CROWD_SECONDS:
            self._began, self._rounds = now, 0
        self._rounds += 1
        return self._rounds > _CROWD


class Herald:
    """Has the watches of all connections tell of changes in the order of their revisions.

    Nobody hears of a change before all others whom an earlier one concerns have been told of that. So a
    client that watches nodes and pods knows a node's new label before the pod that was created later.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._crowd = Crowd(clock)
        self._untold: list[_Untold] = []
        self._round: asyncio.Handle | None = None

    def announce(self, revision: int, tell: Tell, line: bytes) -> None:
        """Has a line told with the next round. Revisions never go back."""
        self._untold.append((revision, tell, line))
        if self._round is None:
            loop = asyncio.get_running_loop()
            if self._crowd.is_there():
                self._round = loop.call_later(GATHER_SECONDS, self.tell_all)
            else:
                self._round = loop.call_soon(self.tell_all)

    def tell_all(self) -> None:
        """Tells now what is untold: before anybody is told of later things in another way."""
        if self._round is not None:
            self._round.cancel()
            self._round = None
        untold, self._untold = self._untold, []
        for tell, lines in in_order(untold):
            tell(lines)


def in_order(untold: Sequence[_Untold]) -> Iterator[tuple[Tell, list[bytes]]]:
    """Who tells what, one after the other: in the order of revisions, with as few turns as that allows.

    Of those that tell of one change, the one whose turn it was goes first, and so says two things at once.
    """
    speaker: Tell | None = None
    lines: list[bytes] = []
    for _, change in groupby(untold, key=itemgetter(0)):
        told = list(change)
        told.sort(key=lambda each: each[1] is not speaker)
        for _, tell, line in told:
            if tell is not speaker:
                if speaker is not None:
                    yield speaker, lines
                speaker, lines = tell, []
            lines.append(line)
    if speaker is not None:
        yield speaker, lines
