"""GangScheduling: the pods of a PodGroup that is a gang get their nodes together, enough of them or none."""

from __future__ import annotations

from moorage.api.pod_groups import PodGroup, group_key
from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import POD, POD_GROUP, Action, ClusterEvent, Hint
from moorage.framework.extension_points import PermitPlugin, PreEnqueuePlugin
from moorage.framework.handle import Handle
from moorage.framework.permissions import Permission
from moorage.framework.pod_groups import PodGroups
from moorage.framework.status import Status, Wait

LONGEST_WAIT = 300.0


class GangScheduling(PreEnqueuePlugin, PermitPlugin):
    """Keeps the pods of a gang back until enough of them exist, and until enough of them have a node."""

    permissions = (Permission("patch", "scheduling.k8s.io", "podgroups", "status"),)

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = handle.shared(PodGroups)

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(POD, Action.ADD, _after_pod),
            ClusterEvent(POD_GROUP, Action.ADD, _after_group),
        ]

    def pre_enqueue(self, pod: Pod) -> Status | None:
        key = group_key(pod)
        if not key:
            return None
        group = self._groups.get(key)
        if group is None:
            name = key.partition("/")[2]
            return Status.unresolvable(
                f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
            )
        if len(self._groups.members(key)) < group.minimum:
            return Status.unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
        return None

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | Wait | None:
        key = group_key(pod)
        if not key:
            return None
        group = self._groups.get(key)
        if group is None:
            name = key.partition("/")[2]
            return Status.error(
                f'failed to get podGroup {key}: podgroup.scheduling.k8s.io "{name}" not found'
            )
        if not group.minimum:
            return None
        scheduled = self._groups.scheduled(key)
        if len(scheduled) < group.minimum:
            # The others need not be activated: whoever waits in the queue is tried in the same cycle.
            return Wait(LONGEST_WAIT, "waiting for minCount pods from a gang to be scheduled")
        for member in scheduled:
            waiting = self.handle.waiting_pods.with_uid(member.uid)
            if waiting is not None:
                waiting.allow(self.name)
        return None


def _after_pod(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    key = group_key(pod)
    return Hint.QUEUE if key and key == group_key(new) else Hint.SKIP


def _after_group(pod: Pod, old: PodGroup | None, new: PodGroup) -> Hint:
    return Hint.QUEUE if group_key(pod) == new.key else Hint.SKIP
