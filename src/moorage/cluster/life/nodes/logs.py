"""What the containers that really run have written."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import islice
from typing import TypedDict, Unpack

from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.times import Clock, micro_timestamp, seconds_of

LARGEST = 10 * 2**20  # bytes that are kept of one log
LONGEST_LINE = 16 * 2**10  # bytes after which a line is split

_Line = tuple[float, bytes]


class Log:
    """The last lines of one run of a container."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.lines: deque[_Line] = deque()
        self._size = 0
        self._rest = b""
        self._dropped = 0
        self._changed = asyncio.Event()
        self.closed = False

    def write(self, data: bytes) -> None:
        now = self._clock()
        *whole, rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._add(now, line + b"\n")
        while len(rest) > LONGEST_LINE:
            self._add(now, rest[:LONGEST_LINE])
            rest = rest[LONGEST_LINE:]
        self._rest = rest
        self._tell()

    def close(self) -> None:
        """The container has ended: nothing more will come."""
        if self._rest:
            self._add(self._clock(), self._rest)
            self._rest = b""
        self.closed = True
        self._tell()

    @property
    def position(self) -> int:
        """How many lines there have been."""
        return self._dropped + len(self.lines)

    async def follow(self, seen: int) -> AsyncIterator[list[_Line]]:
        """The lines from a position on, until the container ends."""
        while True:
            changed = self._changed
            if self.position > seen:
                new = list(islice(self.lines, max(seen - self._dropped, 0), None))
                seen = self.position
                yield new
            elif self.closed:
                return
            else:
                await changed.wait()

    def _add(self, now: float, line: bytes) -> None:
        self.lines.append((now, line))
        self._size += len(line)
        while self._size > LARGEST:
            self._size -= len(self.lines.popleft()[1])
            self._dropped += 1

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Wanted(TypedDict, total=False):
    """Which lines are wanted, and how."""

    tail_lines: int | None
    limit_bytes: int | None
    since_seconds: int | None
    since_time: str | None
    timestamps: bool
    previous: bool
    """Whether those of the run before the latest one."""


class Logs:
    """The logs of all containers, by namespace, pod and container."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pods: dict[tuple[str, str], tuple[str, dict[str, list[Log]]]] = {}

    def open(self, namespace: str, pod: str, uid: str, container: str) -> Log:
        """A new log for a container that starts; the one before is kept as its previous one."""
        known = self._pods.get((namespace, pod))
        if known is None or known[0] != uid:
            known = self._pods[namespace, pod] = (uid, {})
        runs = known[1].setdefault(container, [])
        runs.append(Log(self._clock))
        del runs[:-2]
        return runs[-1]

    def drop(self, namespace: str, pod: str, uid: str) -> None:
        """Forgets a pod, unless there is another one of its name by now."""
        known = self._pods.get((namespace, pod))
        if known is not None and known[0] == uid:
            del self._pods[namespace, pod]

    def read(self, namespace: str, pod: str, container: str, **wanted: Unpack[Wanted]) -> bytes:
        """What a container has written; nothing for one that is not really run."""
        log = self._find(namespace, pod, container, wanted.get("previous", False))
        return b"" if log is None else _shown(log, self._since(wanted), wanted)

    async def follow(
        self, namespace: str, pod: str, container: str, **wanted: Unpack[Wanted]
    ) -> AsyncGenerator[bytes, None]:
        """As `read`, and then what is written until the container ends."""
        log = self._find(namespace, pod, container, wanted.get("previous", False))
        if log is None:
            return
        left = wanted.get("limit_bytes")
        later = log.follow(log.position)
        since = self._since(wanted)
        text = _shown(log, since, wanted)
        if text:
            yield text
        if left is not None:
            left -= len(text)
        async for lines in later:
            text = _text([line for line in lines if line[0] >= since], wanted)
            if left is not None:
                text = text[: max(left, 0)]
                left -= len(text)
            if text:
                yield text
            if left is not None and left <= 0:
                return

    def _find(self, namespace: str, pod: str, container: str, previous: bool) -> Log | None:
        _, containers = self._pods.get((namespace, pod), ("", {}))
        runs = containers.get(container, [])
        if not previous:
            return runs[-1] if runs else None
        if len(runs) < 2:
            raise bad_request(f'previous terminated container "{container}" in pod "{pod}" not found')
        return runs[-2]

    def _since(self, wanted: Wanted) -> float:
        seconds = wanted.get("since_seconds")
        if seconds is not None:
            return self._clock() - seconds
        return seconds_of(wanted.get("since_time") or "")


def _shown(log: Log, since: float, wanted: Wanted) -> bytes:
    """The lines that are there."""
    lines = [line for line in log.lines if line[0] >= since]
    if (tail := wanted.get("tail_lines")) is not None:
        lines = lines[-tail:] if tail > 0 else []
    return _text(lines, wanted)[: wanted.get("limit_bytes")]


def _text(lines: list[_Line], wanted: Wanted) -> bytes:
    if not wanted.get("timestamps"):
        return b"".join(line for _, line in lines)
    return b"".join(micro_timestamp(time).replace("Z", "000Z ").encode() + line for time, line in lines)
