"""A scheduler and what it needs in a cluster, put together, started and taken down in order."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import cached_property
from typing import TYPE_CHECKING

from moorage.client import Client
from moorage.client.http import HttpClient
from moorage.config import KubeSchedulerConfiguration
from moorage.config.feature_gates import FeatureGates
from moorage.framework.background import SECONDS_TO_STOP, Background
from moorage.framework.loading.registry import Registry
from moorage.framework.logger import Logger
from moorage.framework.runtime.hung_calls import DEFAULT_SECONDS, HangWatch
from moorage.insight.log.decision_log import DecisionLog
from moorage.process.allocator import give_back_large_blocks
from moorage.process.controllers import Access, Controllers
from moorage.process.event_recorder import EventBroadcaster, EventsClient
from moorage.process.informers import Informers
from moorage.process.metrics import SchedulerMetrics
from moorage.process.unserved import warn_of_unserved
from moorage.scheduler.scheduler import DEFAULT_MAX_IN_UNSCHEDULABLE, Scheduler
from moorage.version import user_agent

if TYPE_CHECKING:
    from moorage.insight.live.questions import Questions

log = Logger(__name__)

USER_AGENT = user_agent("moorage", "scheduler")
_LATE_EVENTS = 3.0
_ABANDONED_WORK = 0.1
_BETWEEN_FREEZES = 0.02


class Assembly:
    """Clients, events, metrics, scheduler, informers, background work: `open`, `start`, `schedule`, `close`.

    Raises what is wrong with the configuration or a plugin. `client` writes pods, `events` events; `http`
    is for all else, and `others` are what `client` and `events` use beside it. A call of a plugin that takes
    longer than `plugin_timeout` seconds is interrupted; 0 is no limit. `decisions` is where they are written
    down. `controllers` is what those of the plugins use, without it `http`.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        client: Client,
        *,
        http: HttpClient,
        events: EventsClient,
        others: Iterable[HttpClient] = (),
        may_bind: Callable[[], bool] = lambda: True,
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
        legacy_annotation: str = "warn",
        plugin_timeout: float = DEFAULT_SECONDS,
        decisions: DecisionLog | None = None,
        controllers: Access | None = None,
        gates: FeatureGates | None = None,
    ) -> None:
        self.http = http
        self.decisions = decisions
        self.metrics = SchedulerMetrics()
        self._events = EventBroadcaster(
            events, on_drop=self.metrics.events_dropped, is_busy=lambda: self.scheduler.is_busy
        )
        self.scheduler = Scheduler(
            config,
            registry,
            client=client,
            recorder_of=self._events.recorder,
            may_bind=may_bind,
            observer=self.metrics,
            max_in_unschedulable=max_in_unschedulable,
            legacy_annotation=legacy_annotation,
            journal=decisions,
            gates=gates,
        )
        self._registry = registry
        self._made = time.time()
        self.metrics.watch(self.scheduler.queue, self.scheduler.state, self.scheduler.profiles.values())
        self._controllers = Controllers(
            self.scheduler.profiles.values(),
            self.scheduler.door.listers,
            controllers or Access(http),
            on_drop=self.metrics.events_dropped,
        )
        own = [controllers.client] if self._controllers and controllers is not None else []
        self._clients = (*others, *own, http)
        self._controlling: asyncio.Task[None] | None = None
        self.informers = Informers(http, self.scheduler.door, self.scheduler.profiles.values())
        self.metrics.watch_silences(self.informers.silences)
        self._hang_watch = HangWatch(self.scheduler.services.running, plugin_timeout)
        self._background = Background(self.scheduler.profiles.values())
        self._stack = AsyncExitStack()
        self._late_events = _LATE_EVENTS
        self._late_work = SECONDS_TO_STOP

    @cached_property
    def questions(self) -> Questions | None:
        """What can be asked of the scheduler, if its decisions are written down."""
        if self.decisions is None:
            return None
        # What comes with it takes a while to load, and often nobody asks.
        from moorage.insight.live.questions import Questions

        return Questions(
            self.scheduler,
            self.decisions,
            self._registry,
            plugin_times=self.metrics.plugin_times,
            started=self._made,
        )

    async def open(self) -> None:
        """Connects; events are delivered from now on. Call `close` however far this came."""
        give_back_large_blocks()
        self._hang_watch.start()
        self._stack.callback(self._hang_watch.stop)
        for each in self._clients:
            await self._stack.enter_async_context(each)
        self._stack.callback(self.scheduler.close)
        delivering = asyncio.create_task(self._events.run())
        self._stack.push_async_callback(self._end_events, delivering)
        self._stack.push_async_callback(self.informers.stop)
        self._stack.push_async_callback(self._end_controllers)
        self._stack.push_async_callback(self._end_background)
        self._stack.callback(self.scheduler.stop)

    def start(self, *, for_good: bool = True) -> None:
        """Starts the informers; background work and controllers begin when the first lists are there.

        Whether this process leads does not matter to them: it is to be ready when its turn comes.
        `for_good` says that the process ends with its scheduler.
        """
        self.informers.start()
        if for_good:
            keeping = asyncio.create_task(self._keep_first_lists())
            self._stack.callback(keeping.cancel)
        beginning = asyncio.create_task(self._begin_background())
        self._stack.callback(beginning.cancel)

    async def _keep_first_lists(self) -> None:
        """What the first lists have brought stays, and is not looked through for garbage as more comes in.

        Otherwise that takes longer than the lists themselves, the more the larger the cluster.
        """
        while self.informers.not_synced():
            gc.freeze()
            await asyncio.sleep(_BETWEEN_FREEZES)

    async def _begin_background(self) -> None:
        await self.informers.wait_until_listed()
        self._background.start()
        if self._controllers:
            self._controlling = asyncio.create_task(self._control())

    async def _control(self) -> None:
        try:
            await self._controllers.run(self.informers.missing)
        except Exception as error:
            log.error(error, "The controllers failed")

    async def schedule(self, *, for_good: bool = True) -> None:
        """Schedules until it is stopped, as soon as the first lists are there.

        `for_good` says that the process ends with its scheduler. Raises PluginLoadError when a plugin gives
        up waiting for a resource that it cannot do without.
        """
        await self.informers.wait_synced()
        self._background.start()
        await asyncio.sleep(0)  # it has its first turn before the first pod
        log.info(1, "Caches are synced, starting to schedule")
        warn_of_unserved(self.scheduler)
        if for_good:
            # What came last has not been kept yet.
            gc.collect()
            gc.freeze()
        await self.scheduler.run()

    async def end(self, scheduling: asyncio.Task[None]) -> BaseException | None:
        """Stops a task that schedules or is about to, and returns what it failed with.

        Running binds are finished, unless they take too long; whatever else it waits for is given up.
        """
        self.scheduler.stop()
        if not self.scheduler.is_running:
            scheduling.cancel()
        (failure,) = await asyncio.gather(scheduling, return_exceptions=True)
        return failure

    def abandon(self) -> None:
        """Has `end` and `close` wait for nothing: nothing may be written any more, or nobody will read it."""
        self._late_events = 0.0
        self._late_work = _ABANDONED_WORK
        self._controllers.late_events = 0.0
        self.scheduler.stop(at_once=True)

    def hurry(self) -> None:
        """No plugin may hold up the end of the process; to be called in any thread."""
        self._hang_watch.hurry()

    async def close(self) -> None:
        """Stops everything and delivers the last events."""
        await self._stack.aclose()

    async def _end_background(self) -> None:
        await self._background.stop(self._late_work)

    async def _end_controllers(self) -> None:
        if self._controlling is not None:
            self._controlling.cancel()
            await asyncio.wait({self._controlling}, timeout=self._late_work)

    async def _end_events(self, delivering: asyncio.Task[None]) -> None:
        await self._events.stop(self._late_events)
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)
