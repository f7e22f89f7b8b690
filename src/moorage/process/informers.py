"""What the scheduler watches: nodes, pods, and whatever the profiles' plugins read or wait for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.errors import NotFound
from moorage.client.http import SILENCE_SECONDS, HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.framework.door import Door
from moorage.framework.listers import Lister
from moorage.framework.loading.registry import PluginLoadError, place_of
from moorage.framework.logger import Logger
from moorage.framework.runtime.profile import Profile
from moorage.process.watched import ALWAYS, add_waited_for, resource_of

log = Logger(__name__)

_POLL = 0.1
_FIRST_POLL = 0.002  # an API server in the same process has answered by then
TELL_SECONDS = 60.0
_DEMANDED = "Nothing is scheduled before a custom resource is defined that a plugin cannot do without"
_NOT_DEFINED = "A custom resource is not defined: plugins see no objects of it until it is"
UNFINISHED_PODS = "status.phase!=Succeeded,status.phase!=Failed"


class Informers:
    """One informer per resource; all of them must have synced before the first pod is scheduled."""

    def __init__(self, client: HttpClient, door: Door, profiles: Iterable[Profile]) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._started = 0.0
        always = {kind: self._informer(client, Resource.of(kind), door) for kind in ALWAYS}
        add_waited_for(door.listers, profiles)
        self._of_listers = [
            (lister, always.get(lister.type) or self._informer(client, resource_of(lister), door, lister))
            for lister in door.listers
        ]
        others = (informer for lister, informer in self._of_listers if lister.type not in always)
        self.all = [*always.values(), *others]

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
            f"{informer.resource} ({informer.last_error})" if informer.last_error else str(informer.resource)
            for informer in self.all
            if not informer.synced and (informer in required or not isinstance(informer.last_error, NotFound))
        ]

    @property
    def required(self) -> list[str]:
        """The resources that some plugin cannot do without."""
        return list(dict.fromkeys(str(pair[1].resource) for pair in self._of_listers if pair[0].requirements))

    def missing(self, resource: str) -> str | None:
        """Why one of them is not known yet; None if it is."""
        found = (pair[1] for pair in self._of_listers if str(pair[1].resource) == resource)
        late = next((informer for informer in found if not informer.synced), None)
        if late is None:
            return None
        return "it is not served" if isinstance(late.last_error, NotFound) else "it is not listed yet"

    def silences(self) -> dict[str, float]:
        """For how many seconds nothing was heard of each resource that has been listed."""
        return {str(informer.resource): informer.silence for informer in self.all if informer.synced}

    def silent(self) -> list[str]:
        """The resources of which nothing has been heard for longer than any watch lasts."""
        return [
            f"{informer.resource.plural} ({informer.last_error})"
            if informer.last_error
            else informer.resource.plural
            for informer in self.all
            if informer.synced and informer.silence > SILENCE_SECONDS
        ]

    async def wait_required(self) -> None:
        """Waits for the resources that plugins cannot do without.

        Raises PluginLoadError when a plugin has waited for one as long as it wants to.
        """
        told_at = -math.inf
        while unmet := [pair for pair in self._of_listers if pair[0].requirements and not pair[1].synced]:
            now = asyncio.get_running_loop().time()
            waited = now - self._started
            missing = [pair for pair in unmet if isinstance(pair[1].last_error, NotFound)]
            if missing and now - told_at >= TELL_SECONDS:
                told_at = now
                for lister, informer in missing:
                    plugins = ", ".join(dict.fromkeys(each.plugin for each in lister.requirements))
                    log.warning(
                        _DEMANDED, resource=str(informer.resource), plugin=plugins, remedy=_remedy(lister)
                    )
            for lister, informer in unmet:
                for plugin, seconds in lister.requirements:
                    if waited >= seconds:
                        raise _failed(plugin, informer)
            await asyncio.sleep(_POLL)

    async def wait_synced(self) -> None:
        """Waits for everything that the first pod needs; raises as `wait_required` does."""
        await self.wait_required()
        await self.wait_until_listed()
        for lister, informer in self._of_listers:
            lister.has_synced = informer.synced
            if not informer.synced and not lister.type.__module__.startswith("moorage."):
                log.warning(_NOT_DEFINED, resource=str(informer.resource), remedy=_remedy(lister))

    async def wait_until_listed(self) -> None:
        """Waits for the same, as long as it takes."""
        pause = _FIRST_POLL
        while self.not_synced():
            await asyncio.sleep(pause)
            pause = min(2 * pause, _POLL)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _informer(
        self, client: HttpClient, resource: Resource[Any], door: Door, lister: Lister[Any] | None = None
    ) -> Informer[Any]:
        return Informer(
            client,
            resource,
            added=lambda item: door.put(item, lister),
            updated=lambda old, new: door.put(new, lister),
            deleted=lambda item: door.remove(item, lister),
            field_selector=UNFINISHED_PODS if resource.type is Pod else "",
            recovered=self._retry_all,
        )

    def _retry_all(self) -> None:
        """When one is back the others soon are: pods must not be decided on by the nodes of long ago."""
        for informer in self.all:
            informer.retry_now()


def _remedy(lister: Lister[Any]) -> str:
    """What makes the API server serve the objects."""
    if lister.type is Object:
        return "kubectl apply its CustomResourceDefinition"
    return f"moorage crd {place_of(lister.type)} | kubectl apply -f -"


def _failed(plugin: str, informer: Informer[Any]) -> PluginLoadError:
    why = "WaitForCacheSync failed"
    log.error(why, "Cannot sync caches", resource=informer.resource, cause=informer.last_error)
    return PluginLoadError(f'initializing plugin "{plugin}": {why}')


async def _mark_synced(lister: Lister[Any], informer: Informer[Any]) -> None:
    await informer.wait_synced()
    lister.has_synced = True
