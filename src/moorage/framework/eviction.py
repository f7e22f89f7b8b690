"""Making room: the victims of a preemption are told to go, beside the scheduling of other pods."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from moorage.api.pods import Pod
from moorage.framework.conditions import condition, says_already
from moorage.framework.diagnosis import NOT_THE_LEADER
from moorage.framework.runtime.calls import settled

if TYPE_CHECKING:
    from moorage.framework.handle import Handle

log = logging.getLogger(__name__)


class Evicted(NamedTuple):
    """A pod that a plugin told to go."""

    pod: Pod
    """The victim."""
    by: Pod
    """The pod in whose favour it goes."""
    message: str
    """What its condition `DisruptionTarget` says."""
    note: str = ""
    """What the event says; empty for the usual."""


class Eviction(NamedTuple):
    """What a plugin asks for with one call, in favour of one pod."""

    handle: Handle
    victims: Sequence[Evicted]


class Evictions:
    """Evicts victims in the background and knows which preemptors wait for that; one for all plugins.

    All victims but the last go at once; the last goes when they are done, so that the preemptor is not woken
    before there is room. It waits until the watch shows that the last is going: tried before, it would not
    know of any victim and could choose others.
    """

    def __init__(self, handle: Handle) -> None:
        self._services = handle.services
        self._last_victims: dict[str, Pod | None] = {}
        self._going: set[str] = set()
        """The uids of pods that are told to go, which the watch may not have shown yet."""
        self._noted: list[Eviction] | None = None

    @contextmanager
    def noted(self) -> Iterator[list[Eviction]]:
        """In the block, what is to be evicted is noted and not done; give it to `start` when it is to be."""
        before, self._noted = self._noted, []
        try:
            yield self._noted
        finally:
            self._noted = before

    def start(self, handle: Handle, victims: Sequence[Evicted]) -> None:
        """Evicts pods in favour of one and the same preemptor, for the plugin that has the handle."""
        if self._noted is not None:
            self._noted.append(Eviction(handle, victims))
            return
        going = [victim for victim in victims if not victim.pod.deleting]
        if not going:
            return
        if self._services.client is None:
            self._services.evicted += going
            return
        preemptor = going[0].by
        handle.write(_Eviction(self, handle, preemptor).run, going)
        self._services.observer.preemption(len(victims))
        self._last_victims = {
            uid: last
            for uid, last in self._last_victims.items()
            if last is None or self._is_still_there(last)
        }
        self._last_victims[preemptor.uid] = None
        placement = self._services.state.placement
        self._going = {uid for uid in self._going if placement(uid) is not None}
        self._going.update(victim.pod.uid for victim in going)

    def is_going(self, pod: Pod) -> bool:
        """Whether a pod will leave its node, whatever becomes of those who wait for that."""
        return pod.deleting or pod.uid in self._going

    @property
    def going(self) -> Collection[str]:
        """The uids of pods that are told to go; of some of them the watch shows it already."""
        return self._going

    def stays(self, pod: Pod) -> None:
        """A pod that was told to go did not have to, or could not be told."""
        self._going.discard(pod.uid)

    def is_under_way(self, preemptor: Pod) -> bool:
        """Whether the preemptor should wait: until its last victim is gone or on its way out."""
        if preemptor.uid not in self._last_victims:
            return False
        last = self._last_victims[preemptor.uid]
        return last is None or self._is_still_there(last)

    def last_is(self, preemptor: Pod, victim: Pod | None) -> None:
        """The last victim is about to go; None if nobody has to be waited for."""
        if victim is None:
            self._last_victims.pop(preemptor.uid, None)
        else:
            self._last_victims[preemptor.uid] = victim

    def _is_still_there(self, victim: Pod) -> bool:
        newest = self._services.door.find(victim)
        return newest is not None and newest.uid == victim.uid and not newest.deleting


class _Eviction:
    """The eviction of all victims of one preemptor."""

    def __init__(self, evictions: Evictions, handle: Handle, preemptor: Pod) -> None:
        self._evictions = evictions
        self._handle = handle
        self._preemptor = preemptor
        self._deleted: set[str] = set()
        """The uids of the victims that are deleted for it."""

    async def run(self, victims: Sequence[Evicted]) -> None:
        preemptor = self._preemptor
        nodes = list(dict.fromkeys(victim.pod.spec.node_name for victim in victims))
        started = time.perf_counter()
        errors: list[BaseException] = []
        try:
            # A nomination that stays by mistake is no reason to spare the victims.
            errors += await self._clear_lesser_nominations(nodes)
            await self._evict_all(victims)
        except Exception as error:
            self._evictions.last_is(preemptor, None)
            errors.append(error)
        finally:
            for victim in victims:
                if victim.pod.uid not in self._deleted:
                    self._evictions.stays(victim.pod)
        if errors:
            texts = ", ".join(dict.fromkeys(map(str, errors)))
            log.error("preemption for pod %s on node %s failed: %s", preemptor.key, ", ".join(nodes), texts)
            self._handle.activate([preemptor])
        result = "error" if errors else "success"
        self._handle.services.observer.evicted(result, time.perf_counter() - started)

    async def _evict_all(self, victims: Sequence[Evicted]) -> None:
        *others, last = victims
        for failure in _failures(await asyncio.gather(*map(self._evict, others), return_exceptions=True)):
            raise failure
        self._evictions.last_is(self._preemptor, last.pod)
        if not await self._evict(last):
            self._evictions.last_is(self._preemptor, None)

    async def _clear_lesser_nominations(self, nodes: Iterable[str]) -> list[BaseException]:
        """Pods of lower priority nominated to the node look for another one, once the watch shows it."""
        lesser = [
            other
            for node_name in nodes
            for other in self._handle.nominator.on(node_name)
            if other.priority < self._preemptor.priority and other.status.nominated_node_name
        ]
        return _failures(await asyncio.gather(*map(self._clear_nomination, lesser), return_exceptions=True))

    async def _clear_nomination(self, pod: Pod) -> None:
        self._check_leader()
        await settled(self._handle.client.write_pod_status(pod, nominated_node=""))

    async def _evict(self, victim: Evicted) -> bool:
        """Whether the victim has to be deleted for it, and is."""
        pod = victim.pod
        note = victim.note or f"Preempted by pod {self._preemptor.uid} on node {pod.spec.node_name}"
        if self._stop_binding(pod):
            self._record(pod, f"{note} (in kube-scheduler memory).")
            return False
        deleted = await self._delete(pod, victim.message)
        if deleted:
            self._deleted.add(pod.uid)
            self._record(pod, note)
        return deleted

    def _stop_binding(self, victim: Pod) -> bool:
        """A victim that is not bound yet goes back to the queue; nothing has to be deleted."""
        plugin, waiting = self._handle.plugin_name, self._handle.waiting_pods.with_uid(victim.uid)
        if waiting is not None and waiting.preempt(plugin, "preempted"):
            return True
        return self._handle.services.pods_in_pre_bind.cancel(victim.uid, f"preempted by {plugin}")

    async def _delete(self, victim: Pod, message: str) -> bool:
        """Marks and deletes a pod; False if it was gone already."""
        mark = condition(
            victim,
            "DisruptionTarget",
            "True",
            reason="PreemptionByScheduler",
            message=message,
            now=self._handle.clock(),
        )
        client = self._handle.client
        self._check_leader()
        try:
            if not says_already(victim, mark):
                await settled(client.write_pod_status(victim, condition=mark))
            await settled(client.delete_pod(victim))
        except Exception as error:
            if getattr(error, "code", None) == 404:
                return False
            raise
        return True

    def _check_leader(self) -> None:
        if not self._handle.services.may_bind():
            raise RuntimeError(NOT_THE_LEADER)

    def _record(self, victim: Pod, note: str) -> None:
        # As with kube-scheduler, the preemptor is named in the note alone.
        self._handle.recorder.event(victim, None, "Normal", "Preempted", "Preempting", note)


def _failures(outcomes: Iterable[object]) -> list[BaseException]:
    return [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
