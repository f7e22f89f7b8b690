"""The PodGroups of scheduling.k8s.io and their pods, for the scheduler and in-tree plugins."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from moorage.api.pod_groups import PodGroup, group_key
from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.pod_members import PodMembers


@dataclass(frozen=True)
class GroupCycle:
    """One attempt to place the pods of a group."""

    members: frozenset[str]
    """The uids of the pods that are tried. Some may have a node already that they lose again."""
    state: CycleState = field(default_factory=CycleState)
    """What plugins remember from one of the pods to the next."""


class PodGroups:
    """Ask for it with `handle.shared(PodGroups)`."""

    def __init__(self, handle: Handle) -> None:
        self._groups = handle.lister_of(PodGroup)
        self._members = PodMembers(handle, group_key)
        self._state = handle.services.state
        self.cycle: GroupCycle | None = None
        """The attempt that is under way."""

    @contextmanager
    def trying(self, pods: Collection[Pod]) -> Iterator[None]:
        """For the scheduler, not for plugins: these are tried together."""
        self.cycle = GroupCycle(frozenset(pod.uid for pod in pods))
        try:
            yield
        finally:
            self.cycle = None

    def get(self, key: str) -> PodGroup | None:
        namespace, _, name = key.partition("/")
        return self._groups.get(name, namespace=namespace)

    def members(self, key: str) -> Collection[Pod]:
        """The pods that name a group, whether it exists or not."""
        return self._members.of(key)

    def scheduled(self, key: str) -> list[Pod]:
        """Those of them that have a node, or will have when their binds are done."""
        return [pod for pod in self.members(key) if self._state.placement(pod.uid) is not None]
