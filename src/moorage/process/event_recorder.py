"""Writes Kubernetes events in the background: repeated ones as a series, late ones rather than slow binds."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol

from moorage.api.meta import Object
from moorage.client.resources import Resource
from moorage.process.event_series import CORE_EVENTS, EVENTS, EventNames, Reference, Series, SeriesKey
from moorage.process.lease import Document, status_of

log = logging.getLogger(__name__)

MOST_WAITING = 30_000
"""Events that wait to be written. Each takes about 1 KB, and 3 KB at most, whatever it is about."""

MOST_SERIES = 8192
REQUESTS_AT_ONCE, REQUESTS_WHILE_BUSY = 16, 1
MOST_SECONDS_LATE = 10.0
"""So long do events wait while pods are being bound, which need the API server more."""
MOST_TRIES = 12
SECONDS_BETWEEN_TRIES = 10.0
JITTER = 0.25
FINISH_SECONDS = 6 * 60.0
REFRESH_EVERY_CHECKS = 5  # 30 minutes

TOO_MANY, UNREACHABLE, REJECTED, SHUTDOWN = "too_many", "unreachable", "rejected", "shutdown"
WHY_DROPPED = (TOO_MANY, UNREACHABLE, REJECTED, SHUTDOWN)
"""Too many waited, the API server could not be reached, it refused, or the process ended first."""

_LONGEST_INSTANCE = 128


class EventsClient(Protocol):
    """What is asked of a client; an error that the API server sent has its status as `code`."""

    async def request_json(self, method: str, path: str) -> Any: ...

    async def post(self, resource: Resource[Any], document: Document) -> None: ...

    async def patch(
        self, resource: Resource[Any], name: str, patch: Document, *, kind: Literal["merge"], namespace: str
    ) -> Any: ...


class EventRecorder:
    """Records events in the name of one profile."""

    def __init__(self, broadcaster: EventBroadcaster, controller: str, instance: str) -> None:
        self._controller = controller
        self._instance = instance
        self._record = broadcaster.record

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None:
        # References, and not the objects: a pod may be large, and gone long before its event is written.
        about = Reference.to(regarding), None if related is None else Reference.to(related)
        self._record(SeriesKey(type, action, reason, self._controller, self._instance, *about), note)


class EventBroadcaster:
    """Takes the events of all profiles and delivers them while `run` runs.

    Use it in the loop that `run` runs in. Nobody waits for an event. Those that cannot be written yet wait;
    `on_drop` is told of those that are given up: why, one of WHY_DROPPED, and how many. `is_busy` tells
    whether the API server has more urgent work; one at a time is written all the same.
    """

    def __init__(
        self,
        client: EventsClient,
        *,
        on_drop: Callable[[str, int], None] = lambda why, count: None,
        is_busy: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
        hostname: str = "",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._on_drop = on_drop
        self._is_busy = is_busy
        self._clock = clock
        self._hostname = hostname or socket.gethostname()
        self._sleep = sleep
        self._rand = rand
        self._recorders: dict[str, EventRecorder] = {}
        self._names = EventNames()
        self._series: OrderedDict[SeriesKey, Series] = OrderedDict()
        self._queue: deque[tuple[float, Series]] = deque()
        """Those to be sent, and since when."""
        self._sending: set[asyncio.Task[None]] = set()
        self._later: dict[Series, asyncio.TimerHandle] = {}
        self._waiting = 0
        """Those in the queue, those being sent, and those that are tried again later."""
        self._told: set[str] = set()
        """Why events are dropped these days, as far as the log has it."""
        self._nothing_waits = asyncio.Event()
        self._nothing_waits.set()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._resource: Resource[Any] = EVENTS
        self._is_open = False

    def recorder(self, controller: str) -> EventRecorder:
        """The recorder of a profile."""
        if controller not in self._recorders:
            instance = f"{controller}-{self._hostname}"[:_LONGEST_INSTANCE]
            self._recorders[controller] = EventRecorder(self, controller, instance)
        return self._recorders[controller]

    async def run(self) -> None:
        """Delivers events until `stop` is called."""
        self._task = asyncio.current_task()
        keeping = asyncio.create_task(self._keep_series())
        try:
            self._resource = await self._offered()
            self._is_open = True
            self._send_some()
            await self._closing.wait()
            await self._nothing_waits.wait()
        finally:
            self._is_open = False
            for timer in self._later.values():
                timer.cancel()
            tasks = [keeping, *self._sending]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def stop(self, timeout: float) -> None:
        """Delivers what waits, for `timeout` seconds at most, and ends `run`."""
        self._closing.set()
        if self._task is None:
            await asyncio.sleep(0)  # a task made for `run` a moment ago begins now
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=timeout)
            if not self._task.done():
                self._task.cancel()
                await asyncio.wait({self._task})
        if lost := self._waiting:
            self._waiting = 0
            self._on_drop(SHUTDOWN, lost)
            log.warning("%d events were not delivered in time", lost)

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

    # From events to series

    def record(self, key: SeriesKey, note: str) -> None:
        """Counts an event, and has it written unless it only adds to a series."""
        now = self._clock()
        series = self._series.get(key)
        if series is not None:
            series.happened_again(now)
            self._series.move_to_end(key)
        elif self._waiting >= MOST_WAITING:
            self._drop(TOO_MANY, f"{MOST_WAITING} wait to be written")
            return
        else:
            series = Series(key, self._names.new(key.regarding.name, now), note, now)
            if key.may_come_again:
                self._keep(series)
        self._write_if_due(series)

    def _keep(self, series: Series) -> None:
        self._series[series.key] = series
        if len(self._series) > MOST_SERIES:
            self._end(next(iter(self._series.values())))

    async def _keep_series(self) -> None:
        checks = 0
        while True:
            await self._sleep(FINISH_SECONDS)
            checks += 1
            if checks % REFRESH_EVERY_CHECKS == 0:
                for series in self._series.values():
                    self._write_if_changed(series)
            limit = self._clock() - FINISH_SECONDS
            for series in [each for each in self._series.values() if each.last < limit]:
                self._end(series)

    def _end(self, series: Series) -> None:
        del self._series[series.key]
        self._write_if_changed(series)

    def _write_if_changed(self, series: Series) -> None:
        if series.count > 1 and series.count != series.written:
            series.due = True
            self._write_if_due(series)

    # Writing

    def _write_if_due(self, series: Series) -> None:
        if series.due and not series.waiting:
            series.waiting = True
            self._waiting += 1
            self._nothing_waits.clear()
            self._enqueue(series)

    def _enqueue(self, series: Series) -> None:
        self._queue.append((self._clock(), series))
        self._send_some()

    def _send_some(self) -> None:
        while self._is_open and self._queue and len(self._sending) < self._most_at_once():
            task = asyncio.create_task(self._deliver(self._queue.popleft()[1]))
            self._sending.add(task)
            task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._send_some()

    def _most_at_once(self) -> int:
        oldest, _ = self._queue[0]
        may_wait = (
            self._is_busy() and not self._closing.is_set() and self._clock() - oldest < MOST_SECONDS_LATE
        )
        return REQUESTS_WHILE_BUSY if may_wait else REQUESTS_AT_ONCE

    async def _deliver(self, series: Series) -> None:
        series.due = False
        try:
            await self._send(series)
        except Exception as error:
            if self._is_tried_again(series, error):
                return
        else:
            self._note_success()
        series.tries = 0
        if series.due:  # it happened again meanwhile
            self._enqueue(series)
            return
        series.waiting = False
        self._waiting -= 1
        if not self._waiting:
            self._nothing_waits.set()

    def _is_tried_again(self, series: Series, problem: Exception) -> bool:
        series.tries += 1
        if _is_rejection(problem):
            log.error("The server rejected event %s/%s: %s", series.namespace, series.name, problem)
            self._on_drop(REJECTED, 1)
            return False
        if series.tries >= MOST_TRIES:
            self._drop(UNREACHABLE, f"{MOST_TRIES} tries failed, the last with {problem!r}")
            return False
        delay = SECONDS_BETWEEN_TRIES * (1 + JITTER * self._rand())
        self._later[series] = asyncio.get_running_loop().call_later(delay, self._try_again, series)
        return True

    def _try_again(self, series: Series) -> None:
        del self._later[series]
        self._enqueue(series)

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
            await self._client.post(resource, series.document(resource))
            series.written = count
        except Exception as error:
            # After a broken connection the event may be there already.
            if status_of(error) != 409:
                raise
            series.written = 1
            series.due = count > 1 and not series.created
        series.created = True

    # What cannot be written

    def _drop(self, why: str, text: str) -> None:
        self._on_drop(why, 1)
        if why not in self._told:
            self._told.add(why)
            log.warning("Events are dropped, and moorage_events_dropped_total counts them: %s", text)

    def _note_success(self) -> None:
        if self._told and self._waiting < MOST_WAITING // 2:
            self._told.clear()


def _is_rejection(error: Exception) -> bool:
    """Whether the API server has decided, so that another try would end the same way."""
    status = status_of(error)
    return status is not None and 400 <= status < 500 and status != 429
