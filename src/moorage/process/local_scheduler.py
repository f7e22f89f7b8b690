"""The scheduler of an embedded cluster, in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from moorage.client import Client
from moorage.client.http import HttpClient
from moorage.config import KubeSchedulerConfiguration
from moorage.config.feature_gates import FeatureGates
from moorage.framework.loading.registry import PluginLoadError, Registry
from moorage.framework.logger import Logger
from moorage.framework.runtime.hung_calls import DEFAULT_SECONDS
from moorage.insight.log.decision_log import DecisionLog
from moorage.process.assembly import USER_AGENT, Assembly
from moorage.process.event_recorder import EventsClient
from moorage.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from moorage.insight.live.questions import Questions

log = Logger(__name__)

OnFailure: TypeAlias = Callable[[PluginLoadError], None]


class LocalClient(Client, EventsClient, Protocol):
    """Writes pods and events; `http` is for all else."""

    @property
    def http(self) -> HttpClient: ...


class _Running(NamedTuple):
    assembly: Assembly
    scheduling: asyncio.Task[None]


class LocalScheduler:
    """Schedules from `start` to `stop`; `replace` goes on with other plugins and tries all pods again.

    `on_failure` is told when a plugin gives up waiting for a resource that it cannot do without. `for_good`
    says that the process ends with its scheduler. `decisions` is where they are written down.
    """

    def __init__(
        self,
        new_client: Callable[[str], LocalClient],
        *,
        plugin_timeout: float = DEFAULT_SECONDS,
        for_good: bool = True,
        decisions: DecisionLog | None = None,
        gates: FeatureGates | None = None,
    ) -> None:
        self._gates = gates
        self.decisions = decisions
        self._new_client = new_client
        self._plugin_timeout = plugin_timeout
        self._for_good = for_good
        self._running: _Running | None = None

    async def start(
        self, registry: Registry, config: KubeSchedulerConfiguration, on_failure: OnFailure
    ) -> None:
        """Returns once it schedules, or waits for what plugins demand: only then can that be made.

        Raises what is wrong with the configuration or a plugin.
        """
        await self._start(self._assemble(registry, config), on_failure)

    async def replace(
        self, registry: Registry, config: KubeSchedulerConfiguration, on_failure: OnFailure
    ) -> None:
        """If the new one cannot be made, the old one has not noticed."""
        new = self._assemble(registry, config)
        await self.stop()
        await self._start(new, on_failure)

    @property
    def scheduler(self) -> Scheduler | None:
        """The one that runs."""
        return None if self._running is None else self._running.assembly.scheduler

    @property
    def questions(self) -> Questions | None:
        """What can be asked of the one that runs."""
        return None if self._running is None else self._running.assembly.questions

    @property
    def waits_for(self) -> list[str]:
        """The resources without which nothing is scheduled yet, each with the last error if there is one."""
        return [] if self._running is None else self._running.assembly.informers.not_synced()

    async def stop(self, *, at_once: bool = False) -> None:
        """Finishes binds and delivers the last events, unless it is to stop at once."""
        running, self._running = self._running, None
        if running is not None:
            if at_once:
                running.assembly.abandon()
            await running.assembly.end(running.scheduling)
            await running.assembly.close()

    def hurry(self) -> None:
        """No plugin may hold up the end of the process; to be called in any thread."""
        running = self._running
        if running is not None:
            running.assembly.hurry()

    def _assemble(self, registry: Registry, config: KubeSchedulerConfiguration) -> Assembly:
        client = self._new_client(USER_AGENT)
        return Assembly(
            config,
            registry,
            client,
            http=client.http,
            events=client,
            plugin_timeout=self._plugin_timeout,
            decisions=self.decisions,
            gates=self._gates,
        )

    async def _start(self, assembly: Assembly, on_failure: OnFailure) -> None:
        await assembly.open()
        assembly.start(for_good=self._for_good)
        if not assembly.informers.has_requirements:
            await assembly.informers.wait_synced()
        self._running = _Running(assembly, asyncio.create_task(self._schedule(assembly, on_failure)))

    async def _schedule(self, assembly: Assembly, on_failure: OnFailure) -> None:
        try:
            await assembly.schedule(for_good=self._for_good)
        except PluginLoadError as error:
            on_failure(error)
        except Exception as error:
            log.error(error, "The scheduler failed")
