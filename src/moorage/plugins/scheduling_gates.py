"""SchedulingGates: pods that are not ready to be scheduled."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.framework.events import POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import PreEnqueuePlugin
from moorage.framework.status import Status


class SchedulingGates(PreEnqueuePlugin):
    """Keeps a pod out of the queue while it has scheduling gates."""

    treats_like_pods_alike = True

    def pre_enqueue(self, pod: Pod) -> Status | None:
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return Status.unresolvable(f"waiting for scheduling gates: [{names}]")

    def events(self) -> list[ClusterEvent]:
        return [ClusterEvent(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _gates_are_gone)]


def _gates_are_gone(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP
