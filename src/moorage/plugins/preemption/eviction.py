"""Making room: the victims of a preemption are told to go, beside the scheduling of other pods."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from moorage.api.pods import Condition, Pod
from moorage.framework.diagnosis import NOT_THE_LEADER
from moorage.framework.handle import Handle
from moorage.framework.runtime.calls import settled
from moorage.plugins.preemption.candidates import Candidate

log = logging.getLogger(__name__)

PLUGIN = "DefaultPreemption"


class Eviction:
    """Evicts victims in the background and knows which preemptors wait for that.

    All victims but the last go at once; the last goes when they are done, so that the preemptor is not woken
    before there is room.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._last_victims: dict[str, Pod | None] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, preemptor: Pod, candidate: Candidate) -> None:
        victims = [victim for victim in candidate.victims if not victim.deleting]
        if not victims or self._handle.services.client is None:
            return
        self._last_victims[preemptor.uid] = None
        task = asyncio.get_running_loop().create_task(self._run(preemptor, candidate.node_name, victims))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def is_under_way(self, preemptor: Pod) -> bool:
        """Whether the preemptor should wait: until its last victim is gone or on its way out."""
        if preemptor.uid not in self._last_victims:
            return False
        last = self._last_victims[preemptor.uid]
        if last is None:
            return True
        newest = self._handle.state.pod(last.uid)
        return newest is not None and not newest.deleting

    async def _run(self, preemptor: Pod, node_name: str, victims: Sequence[Pod]) -> None:
        try:
            await self._clear_lesser_nominations(preemptor, node_name)
            *others, last = victims
            outcomes = await asyncio.gather(
                *(self._evict(preemptor, victim, node_name) for victim in others), return_exceptions=True
            )
            for outcome in outcomes:
                if isinstance(outcome, BaseException):
                    raise outcome
            self._last_victims[preemptor.uid] = last
            await self._evict(preemptor, last, node_name)
        except Exception as error:
            log.error("preemption for pod %s on node %s failed: %s", preemptor.key, node_name, error)
            self._last_victims.pop(preemptor.uid, None)
            self._handle.activate([preemptor])
        finally:
            self._last_victims.pop(preemptor.uid, None)

    async def _clear_lesser_nominations(self, preemptor: Pod, node_name: str) -> None:
        """Pods of lower priority nominated to the node look for another one."""
        for other in list(self._handle.nominator.on(node_name)):
            if other.priority < preemptor.priority:
                await self._handle.services.suspension.between_cycles()
                self._handle.nominator.remove(other.uid)
                await settled(self._handle.client.write_pod_status(other, nominated_node=""))

    async def _evict(self, preemptor: Pod, victim: Pod, node_name: str) -> None:
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        if self._stop_binding(victim):
            self._record(victim, f"{note} (in kube-scheduler memory).")
            return
        if await self._delete(preemptor, victim):
            self._record(victim, note)

    def _stop_binding(self, victim: Pod) -> bool:
        """A victim that is not bound yet goes back to the queue; nothing has to be deleted."""
        waiting = self._handle.waiting_pods.get(victim.uid)
        if waiting is not None and waiting.preempt(PLUGIN, "preempted"):
            return True
        return self._handle.services.pods_in_pre_bind.cancel(victim.uid, f"preempted by {PLUGIN}")

    async def _delete(self, preemptor: Pod, victim: Pod) -> bool:
        """Marks and deletes a pod; False if it was gone already."""
        condition = Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{preemptor.spec.scheduler_name}: preempting to accommodate a higher priority pod",
            observed_generation=victim.metadata.generation,
        )
        client = self._handle.client
        if not self._handle.services.may_bind():
            raise RuntimeError(NOT_THE_LEADER)
        try:
            await settled(client.write_pod_status(victim, condition=condition))
            await settled(client.delete_pod(victim))
        except Exception as error:
            if getattr(error, "code", None) == 404:
                return False
            raise
        return True

    def _record(self, victim: Pod, note: str) -> None:
        # As with kube-scheduler, the preemptor is named in the note alone.
        self._handle.recorder.event(victim, None, "Normal", "Preempted", "Preempting", note)
