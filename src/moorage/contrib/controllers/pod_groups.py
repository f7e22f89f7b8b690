"""Keeps the status of PodGroups up to date."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable

from moorage.api.pods import Pod
from moorage.client.http import HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.contrib.controllers.labelled import Labelled
from moorage.contrib.controllers.pod_group_status import PENDING, settled, wanted
from moorage.contrib.controllers.status_writer import StatusWriter
from moorage.contrib.controllers.work_queue import WorkQueue
from moorage.contrib.coscheduling.pod_groups import key_of
from moorage.contrib.objects import GROUP_LABEL, PodGroup
from moorage.framework.handle import NoRecorder, Recorder
from moorage.framework.listers import Listers

ENDED = "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown"
"""Selects the pods that a scheduler does not watch."""
PATIENCE = 60.0
"""So many seconds a group may have too few pods before that is told."""


class PodGroupController:
    """Counts the members of each PodGroup, and writes its phase.

    Members that have not ended are known from the scheduler's own watch; only for the others, of which a
    scheduler knows nothing, it has a watch of its own.
    """

    source = "PodGroupController"
    kind = PodGroup

    def __init__(self, listers: Listers, client: HttpClient, clock: Callable[[], float] = time.time) -> None:
        """To be made before the listers are filled."""
        self._groups = listers.get(PodGroup.group, PodGroup.version, PodGroup.resource, PodGroup)
        self._clock = clock
        self._writer = StatusWriter(client, PodGroup)
        self._queue = WorkQueue("a PodGroup", self._look)
        self._recorder: Recorder = NoRecorder()
        self._warned: set[str] = set()
        self._incomplete_since: dict[str, float] = {}
        """By the key of a group that has too few pods, in seconds of the loop; infinite once that is told."""
        self._members = _Members(self._queue.add)
        self._ended_members = _Members(self._queue.add)
        members, ended = self._members, self._ended_members
        self._groups.on_change(
            added=lambda group: self._queue.add(group.key),
            updated=lambda old, new: self._queue.add(new.key),
            deleted=lambda group: self._queue.add(group.key),
        )
        pods = listers.get(Pod.group, Pod.version, Pod.resource, Pod)
        pods.on_change(added=members.put, updated=lambda old, new: members.put(new), deleted=members.remove)
        self._ended = Informer(
            Labelled(client, GROUP_LABEL),
            Resource.of(Pod),
            added=ended.put,
            updated=lambda old, new: ended.put(new),
            deleted=ended.remove,
            field_selector=ENDED,
        )

    async def run(self, recorder: Recorder) -> None:
        """Works until it is cancelled; it can be run again then."""
        self._recorder = recorder
        watching = asyncio.create_task(self._ended.run())
        try:
            await self._ended.wait_synced()
            await self._queue.run(group.key for group in self._groups)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _look(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        listed = self._groups.get(name, namespace=namespace)
        if listed is None or listed.deleting:
            self._writer.forget(key)
            self._warned.discard(key)
            self._incomplete_since.pop(key, None)
            return
        group = self._writer.newest(listed)
        # One that has just ended may still be among the others.
        pods = {**self._members.of(key), **self._ended_members.of(key)}
        status, warned = settled(group, pods.values(), self._clock())
        if warned is None:
            self._warned.discard(key)
        elif key not in self._warned:
            self._warned.add(key)
            self._recorder.event(group, None, "Warning", warned.reason, "Scheduling", warned.note)
        self._look_for_missing(group, status.phase, len(pods))
        if status != group.status:
            await self._writer.write(group, group.status, status)

    def _look_for_missing(self, group: PodGroup, phase: str, pods: int) -> None:
        """Warns of a group that has had too few pods for a while: one that is misspelt has none for ever."""
        if phase != PENDING:
            self._incomplete_since.pop(group.key, None)
            return
        now = asyncio.get_running_loop().time()
        left = self._incomplete_since.setdefault(group.key, now) + PATIENCE - now
        if math.isinf(left):
            return
        if left > 0:
            self._queue.add_after(group.key, left)
            return
        self._incomplete_since[group.key] = math.inf
        have = {0: "no pod has", 1: "1 pod has"}.get(pods, f"{pods} pods have")
        note = f"{have} the label {GROUP_LABEL}={group.name}; the group waits until {wanted(group)} have it"
        self._recorder.event(group, None, "Warning", "MembersMissing", "Scheduling", note)


class _Members:
    """Pods that name a group, by the key of the group; `changed` is told the keys."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._pods: dict[str, Pod] = {}
        self._by_group: dict[str, dict[str, Pod]] = {}
        self._changed = changed

    def of(self, group: str) -> dict[str, Pod]:
        """By uid."""
        return self._by_group.get(group, {})

    def put(self, pod: Pod) -> None:
        group, before = key_of(pod), self._pods.get(pod.uid)
        if before is not None and key_of(before) != group:
            self.remove(before)
            before = None
        if group:
            self._pods[pod.uid] = self._by_group.setdefault(group, {})[pod.uid] = pod
            if before is None or before.status.phase != pod.status.phase:
                self._changed(group)

    def remove(self, pod: Pod) -> None:
        # What comes last of a pod may have other labels than what was known of it.
        known = self._pods.pop(pod.uid, None)
        if known is None:
            return
        group = key_of(known)
        members = self._by_group[group]
        del members[pod.uid]
        if not members:
            del self._by_group[group]
        self._changed(group)
