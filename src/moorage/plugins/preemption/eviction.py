"""Making room: the victims of a preemption are told to go, beside the scheduling of other pods."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence

from moorage.api.pods import Pod
from moorage.framework.conditions import condition, says_already
from moorage.framework.diagnosis import NOT_THE_LEADER
from moorage.framework.handle import Handle
from moorage.framework.runtime.calls import settled
from moorage.plugins.preemption.candidates import Candidate

log = logging.getLogger(__name__)

PLUGIN = "DefaultPreemption"


class Eviction:
    """Evicts victims in the background and knows which preemptors wait for that.

    All victims but the last go at once; the last goes when they are done, so that the preemptor is not woken
    before there is room. It waits until the watch shows that the last is going: tried before, it would not
    know of any victim and could choose others.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._last_victims: dict[str, Pod | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, preemptor: Pod, candidate: Candidate) -> None:
        victims = [victim for victim in candidate.victims if not victim.deleting]
        if not victims or self._handle.services.client is None:
            return
        self._handle.services.observer.preemption(len(candidate.victims))
        self._last_victims = {
            uid: last
            for uid, last in self._last_victims.items()
            if last is None or self._is_still_there(last)
        }
        self._last_victims[preemptor.uid] = None
        task = asyncio.get_running_loop().create_task(self._run(preemptor, candidate.node_name, victims))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def is_under_way(self, preemptor: Pod) -> bool:
        """Whether the preemptor should wait: until its last victim is gone or on its way out."""
        if preemptor.uid not in self._last_victims:
            return False
        last = self._last_victims[preemptor.uid]
        return last is None or self._is_still_there(last)

    def _is_still_there(self, victim: Pod) -> bool:
        newest = self._handle.services.door.find(victim)
        return newest is not None and newest.uid == victim.uid and not newest.deleting

    async def _run(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        started = time.perf_counter()
        errors: list[BaseException] = []
        try:
            # A nomination that stays by mistake is no reason to spare the victims.
            errors += await self._clear_lesser_nominations(preemptor, node_name)
            await self._evict_all(preemptor, node_name, victims)
        except Exception as error:
            self._last_victims.pop(preemptor.uid, None)
            errors.append(error)
        if errors:
            texts = ", ".join(dict.fromkeys(map(str, errors)))
            log.error("preemption for pod %s on node %s failed: %s", preemptor.key, node_name, texts)
            self._handle.activate([preemptor])
        result = "error" if errors else "success"
        self._handle.services.observer.evicted(result, time.perf_counter() - started)

    async def _evict_all(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        *others, last = victims
        evictions = (self._evict(preemptor, victim, node_name) for victim in others)
        for failure in _failures(await asyncio.gather(*evictions, return_exceptions=True)):
            raise failure
        self._last_victims[preemptor.uid] = last
        if not await self._evict(preemptor, last, node_name):
            self._last_victims.pop(preemptor.uid, None)

    async def _clear_lesser_nominations(self, preemptor: Pod, node_name: str) -> list[BaseException]:
        """Pods of lower priority nominated to the node look for another one, once the watch shows it."""
        lesser = [
            other
            for other in self._handle.nominator.on(node_name)
            if other.priority < preemptor.priority and other.status.nominated_node_name
        ]
        return _failures(await asyncio.gather(*map(self._clear_nomination, lesser), return_exceptions=True))

    async def _clear_nomination(self, pod: Pod) -> None:
        self._check_leader()
        await settled(self._handle.client.write_pod_status(pod, nominated_node=""))

    async def _evict(self, preemptor: Pod, victim: Pod, node_name: str) -> bool:
        """Whether the victim has to be deleted for it, and is."""
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        if self._stop_binding(victim):
            self._record(victim, f"{note} (in kube-scheduler memory).")
            return False
        deleted = await self._delete(preemptor, victim)
        if deleted:
            self._record(victim, note)
        return deleted

    def _stop_binding(self, victim: Pod) -> bool:
        """A victim that is not bound yet goes back to the queue; nothing has to be deleted."""
        waiting = self._handle.waiting_pods.with_uid(victim.uid)
        if waiting is not None and waiting.preempt(PLUGIN, "preempted"):
            return True
        return self._handle.services.pods_in_pre_bind.cancel(victim.uid, f"preempted by {PLUGIN}")

    async def _delete(self, preemptor: Pod, victim: Pod) -> bool:
        """Marks and deletes a pod; False if it was gone already."""
        mark = condition(
            victim,
            "DisruptionTarget",
            "True",
            reason="PreemptionByScheduler",
            message=f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
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
