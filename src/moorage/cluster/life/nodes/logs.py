"""What the containers that really run have written, and how `kubectl logs` asks for it."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from itertools import islice
from typing import TypedDict, Unpack, cast

from moorage.cluster.access.requests import Answer, Query, Stream
from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.parts import records
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import Clock, micro_timestamp, seconds_of
from moorage.cluster.life.nodes.pod_status import first_state

_TEXT = "text/plain"
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
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
        limit = wanted.get("limit_bytes")
        left = sys.maxsize if limit is None else limit
        later = log.follow(log.position)
        since = self._since(wanted)
        text = _shown(log, since, wanted)
        if text:
            yield text
        left -= len(text)
        async for lines in later:
            text = _text([line for line in lines if line[0] >= since], wanted)[:left]
            left -= len(text)
            if text:
                yield text
            if not left:
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


# What kubectl asks for


def log_answer(logs: Logs, pod: Document, query: Query) -> Answer | Stream:
    """What the container has written, or that and what it goes on to write."""
    metadata = pod["metadata"]
    container = _container(pod, query.text("container"))
    wanted = _wanted(query)
    if not pod["spec"].get("nodeName"):
        return Answer(200, b"", _TEXT)
    where = (metadata["namespace"], metadata["name"], container)
    wanted["previous"] = _is_run_before(pod, container, previous=query.flag("previous"))
    if query.flag("follow"):
        return Stream(logs.follow(*where, **wanted), _TEXT)
    return Answer(200, logs.read(*where, **wanted), _TEXT)


def _wanted(query: Query) -> Wanted:
    numbers = {
        "tail_lines": query.number("tailLines"),
        "limit_bytes": query.number("limitBytes"),
        "since_seconds": query.number("sinceSeconds"),
    }
    for name, number in numbers.items():
        if number is not None and number < 0:
            raise bad_request(f"{name}: must be greater than or equal to 0")
    wanted = {"since_time": query.text("sinceTime"), "timestamps": query.flag("timestamps")}
    return cast(Wanted, numbers | wanted)


def _is_run_before(pod: Document, container: str, *, previous: bool) -> bool:
    """Whether the run before the latest one is meant. Refuses, as a kubelet does, what has not run."""
    who = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    statuses = [
        status
        for part in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
        for status in records(pod, "status", part)
        if status.get("name") == container
    ]
    status = statuses[0] if statuses else {"state": first_state(pod)}
    waiting = (status.get("state") or {}).get("waiting")
    has_ended = "terminated" in (status.get("lastState") or {})
    if previous and not has_ended:
        raise bad_request(f"previous terminated {who} not found")
    if waiting and not has_ended:
        raise bad_request(f"{who} is waiting to start: {waiting.get('reason', '')}")
    # Between two runs, the latest one is the previous one already.
    return previous and not waiting


def _container(pod: Document, asked: str) -> str:
    spec, metadata = pod["spec"], pod["metadata"]
    containers = [each["name"] for each in spec.get("containers", [])]
    init_and_ephemeral = (*(spec.get("initContainers") or ()), *(spec.get("ephemeralContainers") or ()))
    others = [each["name"] for each in init_and_ephemeral]
    if asked and asked not in (*containers, *others):
        raise bad_request(f"container {asked} is not valid for pod {metadata['name']}")
    if asked:
        return asked
    if len(containers) == 1:
        return str(containers[0])
    default = (metadata.get("annotations") or {}).get(_DEFAULT_CONTAINER)
    if default in containers:
        return str(default)
    problem = f"a container name must be specified for pod {metadata['name']}, choose one of: "
    problem += f"[{' '.join(containers)}]"
    if others:
        problem += f" or one of the init containers: [{' '.join(others)}]"
    raise bad_request(problem)
