"""What the scheduler watches: nodes, pods, and whatever the profiles' plugins read or wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.errors import NotFound
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.framework import events
from moorage.framework.listers import Lister, Listers
from moorage.framework.logger import Logger
from moorage.framework.profile import Profile
from moorage.framework.registry import PluginLoadError
from moorage.process.watched import add_waited_for, event_of, resource_of
from moorage.scheduler.event_handlers import EventHandlers

log = Logger(__name__)

_POLL = 0.1
UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"


class Informers:
    """One informer per resource; all of them must have synced before the first pod is scheduled."""

    def __init__(
        self,
        client: HttpClient,
        handlers: EventHandlers,
        listers: Listers,
        profiles: Mapping[str, Profile],
    ) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._started = 0.0
        self.all: list[Informer[Any]] = [
            Informer(
                client,
                Resource.of(Node),
                added=handlers.node_added,
                updated=handlers.node_updated,
                deleted=handlers.node_deleted,
            ),
            Informer(
                client,
                Resource.of(Pod),
                added=handlers.pod_added,
                updated=handlers.pod_updated,
                deleted=handlers.pod_deleted,
                field_selector=UNFINISHED_PODS,
            ),
        ]
        add_waited_for(listers, profiles.values())
        nodes, pods = self.all
        shared: dict[type[Object], Informer[Any]] = {Node: nodes, Pod: pods}
        self._of_listers = [
            (lister, shared.get(lister.type) or self._of_lister(client, handlers, lister))
            for lister in listers
        ]
        self.all += [informer for lister, informer in self._of_listers if lister.type not in shared]

    def _of_lister(self, client: HttpClient, handlers: EventHandlers, lister: Lister[Any]) -> Informer[Any]:
        resource, event = resource_of(lister), event_of(lister)

        def added(item: Object) -> None:
            lister.put(item)
            handlers.changed(event, events.Action.ADD, None, item)

        def updated(old: Object, new: Object) -> None:
            lister.put(new)
            handlers.changed(event, events.Action.UPDATE, old, new)

        def deleted(item: Object) -> None:
            lister.remove(item)
            handlers.changed(event, events.Action.DELETE, item, None)

        return Informer(client, resource, added=added, updated=updated, deleted=deleted)

    def start(self) -> None:
        self._started = asyncio.get_running_loop().time()
        self._tasks = [asyncio.create_task(informer.run()) for informer in self.all]
        self._tasks += [asyncio.create_task(_mark_synced(*pair)) for pair in self._of_listers]

    @property
    def has_requirements(self) -> bool:
        """Whether some plugin cannot do without a resource, be it served or not."""
        return any(lister.requirements for lister, _ in self._of_listers)

    def not_synced(self) -> list[str]:
        """The resources whose first list has not arrived, each with the last error if there is one.

        What the API server does not serve is not waited for, unless a plugin cannot do without it; it is
        watched as soon as it is served.
        """
        required = [informer for lister, informer in self._of_listers if lister.requirements]
        return [
            f"{informer.resource.plural} ({informer.last_error})"
            if informer.last_error
            else informer.resource.plural
            for informer in self.all
            if not informer.synced and (informer in required or not isinstance(informer.last_error, NotFound))
        ]

    async def wait_required(self) -> None:
        """Waits for the resources that plugins cannot do without.

        Raises PluginLoadError when a plugin has waited for one as long as it wants to.
        """
        told = False
        while unmet := [pair for pair in self._of_listers if pair[0].requirements and not pair[1].synced]:
            waited = asyncio.get_running_loop().time() - self._started
            for lister, informer in unmet:
                for plugin, seconds in lister.requirements:
                    if waited >= seconds:
                        raise _failed(plugin, informer)
                if not told and isinstance(informer.last_error, NotFound):
                    log.info(0, "Waiting for a resource that is not served yet", resource=informer.resource)
                    told = True
            await asyncio.sleep(_POLL)

    async def wait_synced(self) -> None:
        """Waits for everything that the first pod needs; raises as `wait_required` does."""
        await self.wait_required()
        while self.not_synced():
            await asyncio.sleep(_POLL)
        for lister, informer in self._of_listers:
            lister.has_synced = informer.synced

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _failed(plugin: str, informer: Informer[Any]) -> PluginLoadError:
    why = "WaitForCacheSync failed"
    log.error(why, "Cannot sync caches", resource=informer.resource, cause=informer.last_error)
    return PluginLoadError(f'initializing plugin "{plugin}": {why}')


async def _mark_synced(lister: Lister[Any], informer: Informer[Any]) -> None:
    await informer.wait_synced()
    lister.has_synced = True
