"""The scheduler of an embedded cluster, in the same process."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import TypeAlias

from moorage.cli.setup import Setup
from moorage.cluster.serving.scheduler_client import SchedulerClient
from moorage.framework.logger import Logger
from moorage.framework.registry import PluginLoadError
from moorage.process.event_recorder import EventBroadcaster
from moorage.process.informers import Informers
from moorage.scheduler.scheduler import Scheduler

log = Logger(__name__)

USER_AGENT = "moorage/scheduler"
_LATE_EVENTS = 1.0


OnFailure: TypeAlias = Callable[[PluginLoadError], None]


class LocalScheduler:
    """Schedules from `start` to `stop`; `replace` goes on with other plugins and tries all pods again.

    `on_failure` is told when a plugin gives up waiting for a resource that it cannot do without.
    """

    def __init__(self, new_client: Callable[[str], SchedulerClient]) -> None:
        self._new_client = new_client
        self._running: _Running | None = None

    async def start(self, setup: Setup, on_failure: OnFailure) -> None:
        """Returns once it schedules, or waits for what plugins demand: only then can that be made.

        Raises what is wrong with the configuration or a plugin.
        """
        running = _Running(self._new_client(USER_AGENT), setup, on_failure)
        await running.start()
        self._running = running

    async def replace(self, setup: Setup, on_failure: OnFailure) -> None:
        """If the new one cannot be made, the old one has not noticed."""
        new = _Running(self._new_client(USER_AGENT), setup, on_failure)
        await self.stop()
        await new.start()
        self._running = new

    async def stop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.stop()


class _Running:
    """One scheduler with its informers and its events."""

    def __init__(self, client: SchedulerClient, setup: Setup, on_failure: OnFailure) -> None:
        self._on_failure = on_failure
        self._client = client
        self._events = EventBroadcaster(self._client)
        self._scheduler = Scheduler(
            setup.config, setup.registry, recorder_of=self._events.recorder, legacy_annotation="warn"
        )
        self._scheduler.connect(self._client)
        self._informers = Informers(
            self._client.http,
            self._scheduler.handlers,
            self._scheduler.services.listers,
            self._scheduler.profiles,
        )
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        await self._client.http.__aenter__()
        self._tasks.append(asyncio.create_task(self._events.run()))
        self._informers.start()
        if not self._informers.has_requirements:
            await self._informers.wait_synced()
        self._tasks.append(asyncio.create_task(self._run()))

    async def stop(self) -> None:
        self._scheduler.stop()
        await self._informers.stop()
        events, scheduling = self._tasks
        if not self._scheduler.is_running:
            scheduling.cancel()
        await asyncio.gather(scheduling, return_exceptions=True)
        await self._events.stop(_LATE_EVENTS)
        events.cancel()
        await asyncio.gather(events, return_exceptions=True)
        self._scheduler.close()
        await self._client.http.close()

    async def _run(self) -> None:
        try:
            await self._informers.wait_synced()
            gc.collect()
            gc.freeze()
            await self._scheduler.run()
        except PluginLoadError as error:
            self._on_failure(error)
        except Exception as error:
            log.error(error, "The scheduler failed")
