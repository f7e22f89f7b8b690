"""Gangs and preemption: a gang loses only members that it can do without, or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from moorage.api.pods import Pod
from moorage.framework.gangs import Gang, GangPlugin
from moorage.state.cluster import ClusterState


class GangVictims:
    """What belonging together means for those who may have to go."""

    def __init__(self, gangs: GangPlugin, state: ClusterState) -> None:
        self._gangs = gangs
        self._state = state

    def possible(
        self, pods: Iterable[Pod], preemptor: Pod, may_all_go: Callable[[Sequence[Pod]], bool]
    ) -> list[Pod]:
        """Those of the pods that may go, with their gangs if need be; nobody goes for one of its own gang."""
        own = self._gangs.gang_of(preemptor)
        found: list[Pod] = []
        to_spare: dict[str, float] = {}
        for pod in pods:
            gang = self._gangs.gang_of(pod)
            if gang is not None:
                if own is not None and own.key == gang.key:
                    continue
                if gang.key not in to_spare:
                    running = self._running(gang)
                    is_whole = may_all_go(running)
                    to_spare[gang.key] = float("inf") if is_whole else len(running) - gang.minimum
                to_spare[gang.key] -= 1
                if to_spare[gang.key] < 0:
                    continue
            found.append(pod)
        return found

    def torn_apart(self, victims: Sequence[Pod]) -> list[Pod]:
        """The members of their gangs that would be too few without them, and have to go, too."""
        gone = {pod.uid for pod in victims}
        gangs = {gang.key: gang for pod in victims if (gang := self._gangs.gang_of(pod)) is not None}
        found: list[Pod] = []
        for gang in gangs.values():
            left = [pod for pod in self._running(gang) if pod.uid not in gone]
            if len(left) < gang.minimum:
                found += left
        return found

    def _running(self, gang: Gang) -> list[Pod]:
        """Its members that have a node, as the state has them."""
        members = (self._state.pod(pod.uid) for pod in self._gangs.members_of(gang))
        return [pod for pod in members if pod is not None]
