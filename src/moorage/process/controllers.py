"""The controllers that belong to plugins of Moorage: they run beside the scheduler of any process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.config.types import LeaderElection
from moorage.contrib.controllers.elastic_quotas import ElasticQuotaController
from moorage.contrib.controllers.pod_groups import PodGroupController
from moorage.framework.listers import Listers
from moorage.framework.loading.registry import place_of
from moorage.framework.logger import Logger
from moorage.framework.runtime.profile import Profile
from moorage.process.campaign import Campaign
from moorage.process.event_recorder import EventBroadcaster

log = Logger(__name__)

LEASE, LEASE_NAMESPACE = "sched-plugins-controllers", "kube-system"
"""As the program has it that runs these controllers beside kube-scheduler: the two take turns."""

_OF_PLUGIN = {"Coscheduling": PodGroupController, "CapacityScheduling": ElasticQuotaController}
_LATE_EVENTS = 1.0
_NOT_DEFINED = "A custom resource is not defined: there is nothing for its controller to do until it is"


def of_controllers(election: LeaderElection) -> LeaderElection:
    """The election of the controllers: that of the scheduler with another lease."""
    return replace(election, resource_name=LEASE, resource_namespace=LEASE_NAMESPACE)


class Access(NamedTuple):
    """How controllers reach the API server, and in whose turn; without a campaign it always is theirs."""

    client: HttpClient
    campaign: Campaign | None = None


class Controllers:
    """Those that belong to the plugins of these profiles; make it before the informers.

    `on_drop` is told of events that could not be written: why, and how many.
    """

    def __init__(
        self,
        profiles: Iterable[Profile],
        listers: Listers,
        access: Access,
        *,
        on_drop: Callable[[str, int], None] = lambda why, count: None,
    ) -> None:
        names = {name for profile in profiles for name in profile.plugins}
        self.late_events = _LATE_EVENTS
        """How many seconds the last ones have to be written when it is cancelled."""
        self._client, self._campaign = access
        self._on_drop = on_drop
        self._all = [make(listers, access.client) for plugin, make in _OF_PLUGIN.items() if plugin in names]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._all)

    async def run(self, missing: Callable[[str], str | None]) -> None:
        """Works, in its turn, until it is cancelled. `missing` says why a resource is not known, if so."""
        for each in self._all:
            resource = str(Resource.of(each.kind))
            if missing(resource) is not None:
                remedy = f"moorage crd {place_of(each.kind)} | kubectl apply -f -"
                log.warning(_NOT_DEFINED, resource=resource, controller=each.source, remedy=remedy)
        if self._campaign is None:
            await self._work()
        else:
            await self._campaign.run(self._work)

    async def _work(self) -> None:
        events = EventBroadcaster(self._client, on_drop=self._on_drop)
        delivering = asyncio.create_task(events.run())
        try:
            async with asyncio.TaskGroup() as group:
                for each in self._all:
                    group.create_task(each.run(events.recorder(each.source)))
        finally:
            await events.stop(self.late_events)
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)
