"""Gangs and preemption: a gang loses only members that it can do without, or all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from moorage.api.pods import Pod
from moorage.framework.eviction import Evictions
from moorage.framework.gangs import Gang, GangPlugin
from moorage.framework.handle import Handle


class GangVictims:
    """What belonging together means for those who may have to go.

    Members that are on their way out do not count any more: they are no reason to spare others, and a gang
    cannot do without them and as many others besides.
    """

    def __init__(self, gangs: GangPlugin, handle: Handle) -> None:
        self._gangs = gangs
        self._state = handle.state
        self._is_going = handle.shared(Evictions).is_going

    def possible(
        self, pods: Iterable[Pod], preemptor: Pod, may_go: Callable[[Sequence[Pod], Sequence[Pod]], bool]
    ) -> list[Pod]:
        """Those of the pods that may go, with their gangs if need be; nobody goes for one of its own gang.

        `may_go` says whether pods may go besides others that go.
        """
        own = self._gangs.gang_of(preemptor)
        found: list[Pod] = []
        elsewhere: list[Pod] = []
        """Members of gangs that go as a whole."""
        running_of: dict[str, list[Pod]] = {}
        to_spare: dict[str, int] = {}
        whole: set[str] = set()
        for pod in pods:
            gang = self._gangs.gang_of(pod)
            if gang is not None and own is not None and own.key == gang.key:
                continue
            if self._is_going(pod) or (gang is not None and gang.key in whole):
                found.append(pod)
                continue
            if gang is None:
                if not elsewhere or may_go([pod], found + elsewhere):
                    found.append(pod)
                continue
            if gang.key not in running_of:
                running_of[gang.key] = self._running(gang)
                to_spare[gang.key] = len(running_of[gang.key]) - gang.minimum
            if to_spare[gang.key] > 0 and (not elsewhere or may_go([pod], found + elsewhere)):
                to_spare[gang.key] -= 1
                found.append(pod)
                continue
            others = found + elsewhere
            uids = {other.uid for other in others}
            left = [member for member in running_of[gang.key] if member.uid not in uids]
            if may_go(left, others):
                whole.add(gang.key)
                elsewhere += left
                found.append(pod)
        return found

    def torn_apart(self, victims: Sequence[Pod]) -> list[Pod]:
        """The members of their gangs that would be too few without them, and have to go, too."""
        gone = {pod.uid for pod in victims}
        gangs = {
            gang.key: gang
            for pod in victims
            if not self._is_going(pod) and (gang := self._gangs.gang_of(pod)) is not None
        }
        found: list[Pod] = []
        for gang in gangs.values():
            left = [pod for pod in self._running(gang) if pod.uid not in gone]
            if len(left) < gang.minimum:
                found += left
        return found

    def _running(self, gang: Gang) -> list[Pod]:
        """Its members that have a node and keep it, as the state has them."""
        members = (self._state.pod(pod.uid) for pod in self._gangs.members_of(gang))
        return [pod for pod in members if pod is not None and not self._is_going(pod)]
