"""Leader election: of several schedulers with the same lease, one acts and the others wait."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from moorage.config.types import LeaderElection
from moorage.framework.logger import Logger
from moorage.process.lease import LeaseLock, Outcome, RequestsJson, micro_time

log = Logger(__name__)

JITTER = 1.2
HEALTHY_AFTER_EXPIRY = 20.0
LONGEST_WRITE = 5.0

Connect: TypeAlias = Callable[[], AbstractAsyncContextManager[RequestsJson]]


class ElectionEnded(Exception):
    """The election was over before this process could lead."""


def new_identity() -> str:
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaderElector:
    """Takes the lease and keeps it, on a thread with a loop and a client of its own.

    Whatever blocks the scheduler's loop does not delay a renewal. Because such a block may also outlast the
    lease, ask `may_act` right before every write that only the leader may do, and give the write no longer
    than `write_seconds`. `on_lost` is called once, in the elector's thread, when leadership ends without
    `stop`.
    """

    def __init__(
        self,
        connect: Connect,
        settings: LeaderElection,
        *,
        on_lost: Callable[[], None] | None = None,
        identity: str = "",
        component: str = "default-scheduler",
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self.identity = identity or new_identity()
        self._connect = connect
        self._namespace, self._name = settings.resource_namespace, settings.resource_name
        self._lease_duration = settings.lease_duration.seconds
        self._renew_deadline = settings.renew_deadline.seconds
        self._retry_period = settings.retry_period.seconds
        if self._lease_duration <= self._renew_deadline:
            raise ValueError("leaseDuration must be greater than renewDeadline")
        if self._renew_deadline <= self._retry_period * JITTER:
            raise ValueError("renewDeadline must be greater than retryPeriod*JitterFactor")
        self.write_seconds = min(LONGEST_WRITE, self._lease_duration / 3)
        # What is begun within this time of a renewal is over before another process can lead.
        self._acts_for = min(self._renew_deadline, self._lease_duration - self.write_seconds)
        self._on_lost = on_lost
        self._component = component
        self._clock = clock
        self._wall_clock = wall_clock
        self._sleep = sleep
        self._rand = rand
        self._thread: threading.Thread | None = None
        self._elector_loop: asyncio.AbstractEventLoop | None = None
        self._stop_requested = asyncio.Event()
        # Written by the elector's thread, read by others; each is replaced as a whole.
        self._leading = False
        self._renewed_at = -math.inf
        self._stopping = False
        self._led = False
        self._failure: Exception | None = None
        self._decided: Future[None] = Future()
        self._ended: Future[None] = Future()

    # For the scheduler's loop

    def start(self) -> None:
        """Begins to try for the lease."""
        if self._thread is not None:
            raise RuntimeError("the elector was already started")
        elector_loop = self._elector_loop = asyncio.new_event_loop()

        def run() -> None:
            try:
                with asyncio.Runner(loop_factory=lambda: elector_loop) as runner:
                    runner.run(self._run())
            except Exception as error:
                log.error(error, "Leader election failed", lock=f"{self._namespace}/{self._name}")
                self._end(error)
            else:
                self._end(ElectionEnded("the election was stopped"))

        self._thread = threading.Thread(target=run, name="leader-election", daemon=True)
        self._thread.start()

    async def wait_until_leading(self) -> None:
        """Returns when this process leads for the first time; raises if it never will."""
        await asyncio.shield(asyncio.wrap_future(self._decided))
        if self._failure is not None:
            raise self._failure

    @property
    def is_leading(self) -> bool:
        return self._leading and not self._stopping

    def may_act(self, now: float | None = None) -> bool:
        """Whether a write that is begun now is over before another process can be leading.

        `now` is a time of the elector's (monotonic) clock.
        """
        moment = self._clock() if now is None else now
        return self.is_leading and moment - self._renewed_at < self._acts_for

    def healthy(self) -> bool:
        """False if this process thinks it leads, but could not renew the lease for far too long."""
        tolerated = self._lease_duration + HEALTHY_AFTER_EXPIRY
        return not self._leading or self._clock() - self._renewed_at <= tolerated

    async def stop(self) -> None:
        """Ends leadership and releases the lease; stop everything that acts before."""
        self._stopping = True
        if self._thread is None or self._elector_loop is None:
            return
        # A closed loop means that the election is over already.
        with contextlib.suppress(RuntimeError):
            self._elector_loop.call_soon_threadsafe(self._stop_requested.set)
        await asyncio.shield(asyncio.wrap_future(self._ended))
        self._thread.join()

    # In the elector's thread

    async def _run(self) -> None:
        campaign = asyncio.create_task(self._campaign())
        stop = asyncio.create_task(self._stop_requested.wait())
        await asyncio.wait({campaign, stop}, return_when=asyncio.FIRST_COMPLETED)
        for task in (campaign, stop):
            task.cancel()
        await asyncio.wait({campaign, stop})
        if not campaign.cancelled():
            campaign.result()

    async def _campaign(self) -> None:
        """Acquires the lease and returns when it is lost; cancelled, it releases the lease."""
        async with self._connect() as client:
            lock = LeaseLock(
                client,
                self._namespace,
                self._name,
                identity=self.identity,
                duration=self._lease_duration,
                request_timeout=self._renew_deadline / 2,
                clock=self._clock,
                wall_clock=self._wall_clock,
            )
            announcing: asyncio.Task[None] | None = None
            try:
                await self._acquire(lock)
                announcing = asyncio.create_task(self._announce(client, lock))
                await self._keep(lock)
            except asyncio.CancelledError:
                self._leading = False
                await self._release(lock)
                raise
            finally:
                self._leading = False
                if announcing is not None:
                    announcing.cancel()
                    await asyncio.wait({announcing})

    async def _acquire(self, lock: LeaseLock) -> None:
        log.info(0, "Attempting to acquire leader lease...", lock=lock.key)
        while await lock.take_or_keep() is not Outcome.HELD:
            await self._sleep(self._retry_period * (1 + JITTER * self._rand()))
        log.info(0, "Successfully acquired lease", lock=lock.key)
        self._renewed_at = lock.renewed_at
        self._leading = True
        self._led = True
        self._decided.set_result(None)

    async def _keep(self, lock: LeaseLock) -> None:
        while True:
            await self._sleep(self._retry_period)
            if not await self._renew(lock):
                log.error(None, "Failed to renew lease", lock=lock.key)
                return
            self._renewed_at = lock.renewed_at

    async def _renew(self, lock: LeaseLock) -> bool:
        deadline = min(self._clock() + self._renew_deadline, self._renewed_at + self._lease_duration)
        while (left := deadline - self._clock()) > 0:
            try:
                async with asyncio.timeout(left):
                    outcome = await lock.take_or_keep()
            except TimeoutError:
                return False
            if outcome is not Outcome.FAILED:
                return outcome is Outcome.HELD
            await self._sleep(min(self._retry_period, max(deadline - self._clock(), 0)))
        return False

    async def _announce(self, client: RequestsJson, lock: LeaseLock) -> None:
        now = self._wall_clock()
        seconds = micro_time(now)[: -len(".000000Z")] + "Z"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{self._name}.{int(now * 1e9):x}", "namespace": self._namespace},
            "involvedObject": lock.reference,
            "type": "Normal",
            "reason": "LeaderElection",
            "message": f"{self.identity} became leader",
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "firstTimestamp": seconds,
            "lastTimestamp": seconds,
            "count": 1,
        }
        try:
            await client.request_json("POST", f"/api/v1/namespaces/{self._namespace}/events", event)
        except Exception as error:
            log.warning("The event of the election could not be written", err=error)

    async def _release(self, lock: LeaseLock) -> None:
        try:
            await lock.release()
        except Exception as error:
            log.error(error, "Failed to release lease", lock=lock.key)

    def _end(self, reason: Exception) -> None:
        if not self._led:
            self._failure = reason
            self._decided.set_result(None)
        elif not self._stopping:
            log.error(None, "Leaderelection lost")
            if self._on_lost is not None:
                self._on_lost()
        self._ended.set_result(None)
