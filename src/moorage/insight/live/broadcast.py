"""What happens, told to all who read along: attempts, their outcomes, usage of nodes, the summary.

Documents are made and encoded once for all readers, a few times a second. A reader who does not keep up loses
events and is told how many; nothing is kept for it without end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from moorage.insight.live.encoding import encode
from moorage.insight.live.nodes import Usage
from moorage.insight.live.problems import Problem

if TYPE_CHECKING:
    from moorage.insight.live.questions import Questions

Document = dict[str, Any]

TICK_SECONDS = 0.2
TICKS_PER_SUMMARY = 5
MOST_TOLD = 100
"""Attempts per event."""
MOST_READERS = 64
MOST_BYTES = 2**20
"""That wait for one reader."""
_MOST_ENDED = 2000
"""Outcomes that wait for the next event; what is beyond is not told."""


class Reader:
    """What one reader has not taken yet, ready to be sent."""

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._filled = asyncio.Event()
        self.missed = 0
        """Attempts that were not told because too much was waiting."""
        self.wants_usage = True
        """Whether the whole usage has to be told, as changes were not."""
        self.ended = False

    @property
    def is_full(self) -> bool:
        return self._size >= MOST_BYTES

    def put(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        self._filled.set()

    def end(self) -> None:
        self.ended = True
        self._filled.set()

    async def take(self, seconds: float) -> bytes | None:
        """All that waits; empty if nothing has come for so many seconds, None at the end."""
        if not self._pieces and not self.ended:
            try:
                async with asyncio.timeout(seconds):
                    await self._filled.wait()
            except TimeoutError:
                return b""
        if self.ended:
            return None
        pieces = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._filled.clear()
        return pieces


class Broadcast:
    """Tells all readers what happens, as long as there are any.

    `questions` gives what is asked of the scheduler that runs, which may be replaced by another.
    """

    def __init__(self, questions: Callable[[], Questions | None]) -> None:
        self._find_questions = questions
        self._questions: Questions | None = None
        self._readers: dict[Reader, None] = {}
        self._usage: Usage | None = None
        self._told = 0
        self._outcomes: deque[int] = deque(maxlen=_MOST_ENDED)
        self._ticks = 0
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._readers)

    def join(self, since: int | None = None) -> Reader:
        """A new reader: told first what it has missed since attempt number `since`, if it says one."""
        if len(self._readers) >= MOST_READERS:
            raise Problem(429, "TooManyRequests", f"{MOST_READERS} read along already; ask again later")
        reader = Reader()
        if not self._readers:
            self._follow(self._find_questions())
        self._readers[reader] = None
        if self._questions is not None:
            self._catch_up(reader, self._questions, since)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return reader

    def leave(self, reader: Reader) -> None:
        self._readers.pop(reader, None)
        if not self._readers:
            self._stop()

    def close(self) -> None:
        """Ends all readers."""
        for reader in list(self._readers):
            reader.end()
        self._readers.clear()
        self._stop()

    def _stop(self) -> None:
        self._follow(None)
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    def _follow(self, questions: Questions | None) -> None:
        """From now on tells of this scheduler; None to tell of none."""
        if self._questions is not None:
            self._questions.log.followers.remove(self._hear)
        self._questions = questions
        self._outcomes.clear()
        self._usage = None if questions is None else questions.usage()
        if questions is not None:
            self._told = questions.log.newest
            questions.log.followers.append(self._hear)
        for reader in self._readers:
            reader.wants_usage = True

    def _hear(self, entry: Any, what: str) -> None:
        if what == "ended" and entry.number <= self._told:
            self._outcomes.append(entry.number)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.tick()

    def tick(self) -> None:
        """Tells what has happened since the last time."""
        questions = self._find_questions()
        if questions is not self._questions:
            self._follow(questions)
        if questions is None:
            return
        number, events = self._events(questions)
        attempts, missed = self._attempts(questions)
        whole: bytes | None = None
        changes = None if self._usage is None else self._usage.changes()
        changed = b"" if changes is None else event("usage", changes)
        for reader in self._readers:
            if reader.is_full:
                reader.missed += len(attempts) + missed
                reader.wants_usage = True
                continue
            if attempts or missed or reader.missed:
                told = {"attempts": attempts, "missed": missed + reader.missed}
                reader.put(event("attempts", told, number))
                reader.missed = 0
            for each in events:
                reader.put(each)
            if reader.wants_usage and self._usage is not None:
                whole = whole or event("usage", self._usage.all())
                reader.put(whole)
                reader.wants_usage = False
            elif changed:
                reader.put(changed)

    def _events(self, questions: Questions) -> tuple[int, list[bytes]]:
        """The number of the newest attempt, and the events that are the same for all readers."""
        events: list[bytes] = []
        if self._outcomes:
            numbers = dict.fromkeys(self._outcomes)
            self._outcomes.clear()
            events.append(event("outcomes", questions.outcomes(numbers)))
        if self._ticks % TICKS_PER_SUMMARY == 0:
            events.append(event("summary", questions.summary()))
        self._ticks += 1
        return questions.log.newest, events

    def _attempts(self, questions: Questions) -> tuple[list[Document], int]:
        """The newest attempts that were not told, oldest first, and how many are left out."""
        fresh = questions.log.newest - self._told
        self._told = questions.log.newest
        if not fresh:
            return [], 0
        told = questions.last_attempts(min(fresh, MOST_TOLD))
        return told[::-1], fresh - len(told)

    def _catch_up(self, reader: Reader, questions: Questions, since: int | None) -> None:
        reader.put(event("summary", questions.summary()))
        # A number beyond ours is of another scheduler, which was here before.
        if since is None or since >= self._told:
            return
        fresh = self._told - since
        told = questions.last_attempts(min(fresh, MOST_TOLD), self._told + 1)
        reader.put(event("attempts", {"attempts": told[::-1], "missed": fresh - len(told)}, self._told))


def event(name: str, document: Any, number: int | None = None) -> bytes:
    """As a stream of server-sent events has it; JSON has no line ends in it."""
    told = b"" if number is None else b"id: %d\n" % number
    return b"event: %s\n%sdata: %s\n\n" % (name.encode(), told, encode(document))
