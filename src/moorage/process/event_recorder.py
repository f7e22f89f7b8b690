"""Writes Kubernetes events in the background: repeated ones as a series, late ones rather than slow binds."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, Protocol

from moorage.api.meta import Object
from moorage.client.resources import Resource
from moorage.process.event_series import CORE_EVENTS, EVENTS, EventNames, Reference, Series, SeriesKey
from moorage.process.lease import Document, status_of

log = logging.getLogger(__name__)

LONGEST_QUEUE = 1000
MOST_SERIES = 8192
REQUESTS_AT_ONCE = 16
MOST_TRIES = 12
SECONDS_BETWEEN_TRIES = 10.0
JITTER = 0.25
FINISH_SECONDS = 6 * 60.0
REFRESH_EVERY_CHECKS = 5  # 30 minutes

_LONGEST_INSTANCE = 128


class EventsClient(Protocol):
    """What is asked of a client; an error that the API server sent has its status as `code`."""

    async def request_json(self, method: str, path: str) -> Any: ...

    async def create(self, resource: Resource[Any], document: Document) -> Any: ...

    async def patch(
        self, resource: Resource[Any], name: str, patch: Document, *, kind: Literal["merge"], namespace: str
    ) -> Any: ...


class Occurrence(NamedTuple):
    """One call of `event`, kept as it came: what takes time is done in the background."""

    time: float
    recorder: EventRecorder
    regarding: Object
    related: Object | None
    type: str
    reason: str
    action: str
    note: str


class EventRecorder:
    """Records events in the name of one profile."""

    def __init__(self, broadcaster: EventBroadcaster, controller: str, instance: str) -> None:
        self.controller = controller
        self.instance = instance
        self._record = broadcaster.record
        self._clock = broadcaster.clock

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None:
        self._record(Occurrence(self._clock(), self, regarding, related, type, reason, action, note))


class EventBroadcaster:
    """Takes the events of all profiles and delivers them while `run` runs.

    Use it in the loop that `run` runs in. Nobody waits for an event: what does not fit into the queue is
    dropped and counted in `dropped`.
    """

    def __init__(
        self,
        client: EventsClient,
        *,
        clock: Callable[[], float] = time.time,
        hostname: str = "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self.clock = clock
        self.dropped = 0
        self._client = client
        self._hostname = hostname or socket.gethostname()
        self._sleep = sleep
        self._rand = rand
        self._queue: deque[Occurrence] = deque()
        self._overflowing = False
        self._wake = asyncio.Event()
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self._recorders: dict[str, EventRecorder] = {}
        self._names = EventNames()
        self._series: OrderedDict[SeriesKey, Series] = OrderedDict()
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._writes: set[asyncio.Task[None]] = set()
        self._resource: Resource[Any] = EVENTS

    def recorder(self, controller: str) -> EventRecorder:
        """The recorder of a profile."""
        if controller not in self._recorders:
            instance = f"{controller}-{self._hostname}"[:_LONGEST_INSTANCE]
            self._recorders[controller] = EventRecorder(self, controller, instance)
        return self._recorders[controller]

    def record(self, occurrence: Occurrence) -> None:
        if len(self._queue) >= LONGEST_QUEUE:
            self._drop("the queue is full")
            return
        self._queue.append(occurrence)
        if len(self._queue) == 1:
            self._wake.set()

    async def run(self) -> None:
        """Delivers events until `stop` is called."""
        self._task = asyncio.current_task()
        upkeep = asyncio.create_task(self._keep_series())
        try:
            self._resource = await self._offered()
            while not self._closing or self._queue:
                self._wake.clear()
                await self._deliver_queued()
                if not self._closing:
                    await self._wake.wait()
            if self._writes:
                await asyncio.wait(self._writes)
        finally:
            unfinished = {upkeep, *self._writes}
            for task in unfinished:
                task.cancel()
            await asyncio.wait(unfinished)

    async def stop(self, timeout: float) -> None:
        """Delivers what is queued, for `timeout` seconds at most, and ends `run`."""
        self._closing = True
        self._wake.set()
        if self._task is None:
            await asyncio.sleep(0)  # a task made for `run` a moment ago begins now
        if self._task is None or self._task.done():
            return
        await asyncio.wait({self._task}, timeout=timeout)
        if not self._task.done():
            log.warning("%d events were not delivered in time", len(self._queue) + len(self._writes))
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _offered(self) -> Resource[Any]:
        """The kind of events that the API server takes."""
        while True:
            try:
                await self._client.request_json("GET", EVENTS.root)
                return EVENTS
            except Exception as error:
                if _is_rejection(error):
                    log.info("Events are written as core/v1: %s", error)
                    return CORE_EVENTS
                log.warning("The event API is not reachable: %r", error)
            await self._sleep(SECONDS_BETWEEN_TRIES)

    # From occurrences to series

    async def _deliver_queued(self) -> None:
        while self._queue:
            # Taking a slot before an event keeps what cannot be sent yet in the queue, where it is counted.
            await self._slots.acquire()
            series = self._next_to_write()
            if series is None:
                self._slots.release()
            else:
                self._start_write(series, has_slot=True)
        self._overflowing = False

    def _next_to_write(self) -> Series | None:
        while self._queue:
            series = self._count(self._queue.popleft())
            if series.due and not series.being_written:
                return series
        return None

    def _count(self, seen: Occurrence) -> Series:
        """The series an occurrence belongs to, counted there."""
        related = None if seen.related is None else Reference.to(seen.related)
        regarding = Reference.to(seen.regarding)
        source = seen.recorder
        key = SeriesKey(
            seen.type, seen.action, seen.reason, source.controller, source.instance, regarding, related
        )
        series = self._series.get(key)
        if series is not None:
            series.happened_again(seen.time)
            self._series.move_to_end(key)
            return series
        name = self._names.new(regarding.name, seen.time)
        series = self._series[key] = Series(key, name, seen.note, seen.time)
        if len(self._series) > MOST_SERIES:
            self._end(next(iter(self._series.values())))
        return series

    async def _keep_series(self) -> None:
        checks = 0
        while True:
            await self._sleep(FINISH_SECONDS)
            checks += 1
            if checks % REFRESH_EVERY_CHECKS == 0:
                for series in self._series.values():
                    self._write_if_changed(series)
            limit = self.clock() - FINISH_SECONDS
            for series in [each for each in self._series.values() if each.last < limit]:
                self._end(series)

    def _end(self, series: Series) -> None:
        del self._series[series.key]
        self._write_if_changed(series)

    def _write_if_changed(self, series: Series) -> None:
        if series.count > 1 and series.count != series.written and not series.due:
            series.due = True
            if not series.being_written:
                self._start_write(series, has_slot=False)

    # Writing

    def _start_write(self, series: Series, *, has_slot: bool) -> None:
        series.being_written = True
        task = asyncio.get_running_loop().create_task(self._write(series, has_slot))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def _write(self, series: Series, has_slot: bool) -> None:
        while series.due:
            series.due = False
            await self._deliver(series, has_slot)
            has_slot = False
        series.being_written = False

    async def _deliver(self, series: Series, has_slot: bool) -> None:
        problem: Exception | None = None
        for tries in range(MOST_TRIES):
            if tries:
                if len(self._writes) > LONGEST_QUEUE:
                    self._drop("too many of them wait for another try")
                    return
                await self._sleep(SECONDS_BETWEEN_TRIES * (1 + JITTER * self._rand()))
            if not has_slot:
                await self._slots.acquire()
            try:
                await self._send(series)
                return
            except Exception as error:
                if _is_rejection(error):
                    log.error("The server rejected event %s/%s: %s", series.namespace, series.name, error)
                    return
                problem = error
            finally:
                has_slot = False
                self._slots.release()
        log.error("Event %s/%s could not be written: %r", series.namespace, series.name, problem)

    async def _send(self, series: Series) -> None:
        resource, count = self._resource, series.count
        if series.created:
            patch, namespace = {"series": series.series()}, series.namespace
            try:
                await self._client.patch(resource, series.name, patch, kind="merge", namespace=namespace)
                series.written = count
                return
            except Exception as error:
                if status_of(error) != 404:
                    raise
        try:
            await self._client.create(resource, series.document(resource))
            series.written = count
        except Exception as error:
            # After a broken connection the event may be there already.
            if status_of(error) != 409:
                raise
            series.written = 1
            series.due = count > 1 and not series.created
        series.created = True

    def _drop(self, why: str) -> None:
        self.dropped += 1
        if not self._overflowing:
            self._overflowing = True
            log.warning("Events are dropped: %s", why)


def _is_rejection(error: Exception) -> bool:
    """Whether the API server has decided, so that another try would end the same way."""
    status = status_of(error)
    return status is not None and 400 <= status < 500 and status != 429
