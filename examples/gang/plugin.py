"""Starts the pods of a gang together or not at all."""

from collections import defaultdict
from typing import Annotated, NamedTuple

import msgspec

from moorage import (
    Action,
    ClusterEvent,
    CycleState,
    Handle,
    Hint,
    PermitPlugin,
    Pod,
    ReservePlugin,
    Status,
    Wait,
)

GANG = "gang"
"""The label that names a pod's gang."""
SIZE = "gang-size"
"""The label that says how many pods of the gang have to start together."""


class GangArgs(msgspec.Struct, rename="camel"):
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """How long pods hold their nodes for those that are missing."""


class Key(NamedTuple):
    """What gangs are told apart by."""

    namespace: str
    name: str


class Gang(PermitPlugin, ReservePlugin):
    """Lets the pods of a gang wait, each with a node, until there are enough of them.

    If that takes too long, all of them give their nodes back. They are tried again when a new pod of the gang
    finds a node, or when there is more room in the cluster.
    """

    args_type = GangArgs
    args: GangArgs

    def __init__(self, args: GangArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._members: dict[Key, dict[str, Pod]] = defaultdict(dict)
        """All pods of each gang, by their UID."""
        self._placed: dict[Key, set[str]] = defaultdict(set)
        """Those of them that have a node or hold one."""
        self._gave_back: set[str] = set()
        """Those that had to give one back."""
        handle.lister_of(Pod).on_change(added=self._came, updated=self._changed, deleted=self._went)

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        if gang := gang_of(pod):
            self._placed[gang].add(pod.uid)
        return None

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | Wait | None:
        gang, size = gang_of(pod), pod.labels.get(SIZE, "")
        if gang is None:
            return None
        if not size.isdecimal():
            return Status.unresolvable(
                f"label {SIZE}: {size!r} is not a number; say how many pods belong to it"
            )
        waiting = [each for each in self.handle.waiting_pods if gang_of(each.pod) == gang]
        placed = self._placed[gang]
        if len(placed) >= int(size):
            for each in waiting:
                each.allow(self.name)
            return None
        if pod.uid not in self._gave_back:
            # Only new pods have the others tried again, or a gang too large for the cluster never rests.
            self.handle.activate([other for uid, other in self._members[gang].items() if uid not in placed])
        note = f"{len(placed)} of {size} pods of the gang {gang.name} have a node"
        self.handle.recorder.event(pod, None, "Normal", "WaitingForGang", "Scheduling", note)
        return Wait(self.args.timeout_seconds)

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        """One cannot start, so none does: the others need not hold their nodes any longer."""
        gang = gang_of(pod)
        if gang is None:
            return
        if pod.uid in self._members[gang]:  # or else it was deleted
            self._gave_back.add(pod.uid)
        self._placed[gang].discard(pod.uid)
        self._forget_if_empty(gang)
        for each in self.handle.waiting_pods:
            if gang_of(each.pod) == gang:
                each.reject(self.name, f"{pod.name} of the gang {gang.name} cannot start")

    def events(self) -> list[ClusterEvent]:
        """What makes room for those of the gang that are missing."""
        return [
            ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
            ClusterEvent("Pod", Action.DELETE, makes_room),
        ]

    def _came(self, pod: Pod) -> None:
        if gang := gang_of(pod):
            self._members[gang][pod.uid] = pod
            if pod.spec.node_name:
                self._placed[gang].add(pod.uid)

    def _changed(self, old: Pod, new: Pod) -> None:
        if gang_of(old) != gang_of(new):
            self._went(old)
        self._came(new)

    def _went(self, pod: Pod) -> None:
        gang = gang_of(pod)
        if gang is None:
            return
        self._members[gang].pop(pod.uid, None)
        self._placed[gang].discard(pod.uid)
        self._gave_back.discard(pod.uid)
        self._forget_if_empty(gang)

    def _forget_if_empty(self, gang: Key) -> None:
        if not self._members[gang]:
            del self._members[gang]
            self._placed.pop(gang, None)


def gang_of(pod: Pod) -> Key | None:
    name = pod.labels.get(GANG)
    return Key(pod.namespace, name) if name else None


def makes_room(pod: Pod, old: Pod, new: None) -> Hint:
    """That pods of the same gang have given their nodes back does not help."""
    return Hint.SKIP if gang_of(old) == gang_of(pod) else Hint.QUEUE
