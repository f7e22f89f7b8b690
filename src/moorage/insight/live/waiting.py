"""The pods that wait, each as a document, page by page."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import datetime
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from moorage.api.pods import Pod
from moorage.framework.events import Action, ClusterEvent
from moorage.framework.queued_pod import QueuedPod
from moorage.framework.runtime.profile import Profile
from moorage.insight.live.encoding import shortened
from moorage.insight.live.last_attempts import LastAttempts

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler

Document = dict[str, Any]

PLACES = ("active", "backoff", "unschedulable", "gated")
"""Where in the queue a pod may wait."""

_AT_ONCE = 500
_DOCUMENTS_AT_ONCE = 50

T = TypeVar("T")

Position = tuple[str, str]
"""When a pod was made, and its key: the order in which pods are told."""


class Waiting(NamedTuple):
    queued: QueuedPod
    where: str

    @property
    def position(self) -> Position:
        return self.queued.pod.metadata.creation_timestamp or "", self.queued.pod.key


class WaitingPods:
    """The queue of a scheduler; it is only read."""

    def __init__(self, scheduler: Scheduler, last_attempts: LastAttempts) -> None:
        self._scheduler = scheduler
        self.last_attempts = last_attempts
        self._events: dict[tuple[str, frozenset[str]], list[str]] = {}

    def counts(self) -> dict[str, int]:
        """How many pods wait where, and how many are being tried or bound."""
        queue = self._scheduler.queue
        return {**queue.counts()._asdict(), "inFlight": queue.in_flight_counts().get("PodPopped", 0)}

    def __iter__(self) -> Iterator[Waiting]:
        pending = self._scheduler.queue.pending()
        return (Waiting(queued, where) for where in PLACES for queued in getattr(pending, where))

    def find(self, pod: Pod) -> Waiting | None:
        """The record of a pod, unless it is being tried."""
        queue = self._scheduler.queue
        queued = queue.get(pod)
        return None if queued is None else Waiting(queued, queue.place_of(queued))

    async def page(
        self, where: str = "", search: str = "", after: Position | None = None, limit: int = 100
    ) -> tuple[list[Waiting], Position | None]:
        """The next pods, oldest first, and the position to go on from, if there are more."""
        searched = search.lower()
        found: list[tuple[Position, int, Waiting]] = []
        async for number, each in slowly(list(self)):
            if where and each.where != where:
                continue
            position = each.position
            if (after is None or position > after) and (not searched or _matches(each.queued, searched)):
                found.append((position, number, each))
        first = nsmallest(limit + 1, found)
        return [each for _, _, each in first[:limit]], first[limit - 1][0] if len(first) > limit else None

    async def documents(self, pods: Iterable[Waiting]) -> list[Document]:
        await self.last_attempts.catch_up()
        return [self.document(each) async for _, each in slowly(pods, _DOCUMENTS_AT_ONCE)]

    def document(self, waiting: Waiting) -> Document:
        queued, where = waiting
        pod = queued.pod
        owner = next((each for each in pod.metadata.owner_references if each.controller), None)
        expiry = queued.backoff_expiry if where == "backoff" else None
        profile = self._scheduler.profiles.get(pod.spec.scheduler_name)
        return {
            "pod": named(pod),
            "where": where,
            "profile": pod.spec.scheduler_name,
            "priority": pod.priority,
            "since": since(queued),
            "firstAttempt": queued.first_attempt_time,
            "tries": queued.attempts,
            "plugins": sorted(queued.rejecting_plugins),
            "message": message(queued),
            "waitsFor": [] if profile is None else self.events(profile, queued),
            "nominatedNode": self._scheduler.services.nominations.node_of(pod.uid),
            "backoffUntil": expiry if expiry is not None and math.isfinite(expiry) else None,
            "gatedBy": queued.gating_plugin,
            "lastAttempt": self.last_attempts.of(pod.key),
            "owner": None if owner is None else {"kind": owner.kind, "name": owner.name},
        }

    def events(self, profile: Profile, queued: QueuedPod) -> list[str]:
        """What would have the pod tried again: the events that the plugins which rejected it wait for."""
        plugins = frozenset(queued.rejecting_plugins)
        key = (profile.name, plugins)
        known = self._events.get(key)
        if known is None:
            wanted = (each.event for each in profile.registrations if each.plugin in plugins)
            known = sorted({label for event in wanted for label in _labels(event)})
            self._events[key] = known
        return known


async def slowly(items: Iterable[T], at_once: int = _AT_ONCE) -> AsyncIterator[tuple[int, T]]:
    """Numbered items; after so many the scheduler has its turn."""
    for number, item in enumerate(items):
        yield number, item
        if number % at_once == at_once - 1:
            await asyncio.sleep(0)


def named(pod: Pod) -> Document:
    return {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def since(queued: QueuedPod) -> float:
    """When the pod was made, or else came into the queue, in seconds since the epoch."""
    made = made_at(queued.pod)
    return queued.timestamp if made is None else made


def made_at(pod: Pod) -> float | None:
    """When a pod was made, in seconds since the epoch, if it says so."""
    text = pod.metadata.creation_timestamp
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except ValueError:
        return None


def message(queued: QueuedPod) -> str:
    """Why it waits, as its condition says it, or the plugin that keeps it out of the queue."""
    if queued.gated:
        return shortened(queued.gating_reason)
    condition = queued.pod.condition("PodScheduled")
    return "" if condition is None or condition.status == "True" else shortened(condition.message)


def _matches(queued: QueuedPod, searched: str) -> bool:
    return searched in queued.pod.key or any(searched in name.lower() for name in queued.rejecting_plugins)


def _labels(event: ClusterEvent) -> list[str]:
    """The names of all that an event stands for, as logs and metrics have them."""
    if event.wildcard or event.action in (Action.ALL, Action.UPDATE):
        return [event.label]
    parts = [each for each in Action if each & event.action]
    if int(event.action) & int(Action.UPDATE) == int(Action.UPDATE):
        parts = [Action.UPDATE, *(each for each in (Action.ADD, Action.DELETE) if each & event.action)]
    return [ClusterEvent(event.resource, part).label for part in parts]
