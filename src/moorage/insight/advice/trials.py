"""Trying a change out: its steps are carried out on the state, a real cycle runs, and all is taken back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Any, NamedTuple

from moorage.api.decoding import from_document
from moorage.api.kinds import KINDS
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.handle import Services
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code
from moorage.insight.advice.drafts import address_of
from moorage.insight.advice.steps import Address, Create, Delete, Step, patched
from moorage.state.node_info import NodeInfo
from moorage.what_if.gangs import GangTries
from moorage.what_if.scenario import Evaluation

FITS = "fits"
PREEMPTS = "preempts"


class Outcome(NamedTuple):
    """What a change leads to: the pod fits these nodes, or preemption nominates one of them.

    Of a gang, the nodes are those that its members get together.
    """

    then: str
    nodes: list[str]
    victims: list[str]
    is_of_gang: bool = False


class World:
    """A cluster state, a profile and a pod that does not fit there."""

    def __init__(
        self,
        services: Services,
        profile: Profile,
        pod: Pod,
        *,
        seconds: float | None = None,
        most: int = 10**6,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.services = services
        self.profile = profile
        self.pod = pod
        self.tries = None if profile.gangs is None else GangTries(profile)
        self._mates = _members_beside(profile, pod)
        self.trials = 0
        """How many changes were tried."""
        self._most = most
        self._clock = clock
        self._until = None if seconds is None else clock() + seconds

    @property
    def is_over(self) -> bool:
        """Whether time or patience has run out."""
        return self.trials >= self._most or (self._until is not None and self._clock() >= self._until)

    def find(self, address: Address) -> Object | None:
        """The object that a step is about, as the scheduler knows it."""
        if address == address_of(self.pod):
            return self.pod
        if address.kind == Node.kind:
            info = self.services.state.node(address.name)
            return None if info is None else info.node
        if address.kind == Pod.kind:
            return self.services.door.named(address.key)
        kind = KINDS.get(address.kind)
        if kind is None:
            return None
        return self.services.state.objects.of(kind).get(address.name, address.namespace)

    @contextmanager
    def changed(self, steps: list[Step]) -> Iterator[Pod]:
        """The state with the steps carried out, with the pod as it then is; at the end all is taken back."""
        pod = self.pod
        with ExitStack() as undoing:
            for step in steps:
                if isinstance(step, Create):
                    made = from_document(KINDS[step.address.kind], step.object)
                    undoing.callback(self._remove, made)
                    self._put(made)
                    continue
                item = self.find(step.address)
                if item is None:
                    raise LookupError(f"there is no {step.address}")
                if isinstance(step, Delete):
                    undoing.enter_context(self._without(item))
                    continue
                after = from_document(type(item), patched(item.raw, step.operations))
                if item is self.pod:
                    assert isinstance(after, Pod)
                    pod = after
                    if self.services.door.find(self.pod) is None:
                        continue
                undoing.callback(self._put, item)
                self._put(after)
            yield pod

    def completed(self, steps: list[Step]) -> list[Step]:
        """The steps with what they bring about in other objects."""
        return steps

    def for_whom(self, steps: list[Step]) -> str:
        """The end of a clause that says for whom the steps are, if that is not the pod alone."""
        return ""

    def may_leave(self, pod: Pod) -> bool:
        """Whether it could help if this one left: for a member of a gang, no other member should."""
        return pod.uid not in self._mates

    def outcome(self, steps: list[Step], *, preempts: bool = False) -> Outcome | None:
        """What the steps lead to; None if the pod still does not fit. `preempts` asks PostFilter, too."""
        self.trials += 1
        with self.changed(self.completed(steps)) as pod:
            return self.judged(pod, preempts=preempts)

    def judged(self, pod: Pod, *, preempts: bool = False) -> Outcome | None:
        """What becomes of the pod in the state as it is."""
        evicted = self.services.evicted
        self.services.evicted = []
        try:
            return self._judged(pod, preempts)
        finally:
            self.services.evicted = evicted

    def _judged(self, pod: Pod, preempts: bool) -> Outcome | None:
        gang = None if self.tries is None else self.tries.gang_of(pod)
        if self.tries is not None and gang is not None:
            # With the change it has to wait for others: it fits if they do, and it is among them.
            node = self.tries.tried(gang, in_haste=True).node_of(pod)
            return None if node is None else Outcome(FITS, [node], [])
        evaluation = Evaluation.of(self.profile, pod, preempts=preempts)
        decision = evaluation.decision
        if decision is None:
            return None
        if decision.failure is None:
            assert decision.feasible is not None
            return Outcome(FITS, sorted(decision.feasible.names), [])
        if decision.post_filtered is None or decision.post_filtered.status.code is not Code.SUCCESS:
            return None
        found: dict[str, Any] = evaluation.post_filter()
        if not found["nominatedNodes"]:
            return None
        nodes = sorted(found["nominatedNodes"])
        candidates = found["candidates"] or {}
        victims = candidates.get(nodes[0], {}).get("victims") or found["victims"] or []
        return Outcome(PREEMPTS, nodes, list(victims))

    # The state

    def _put(self, item: Object) -> None:
        self.services.door.put(item)

    def _remove(self, item: Object) -> None:
        self.services.door.remove(item)

    @contextmanager
    def _without(self, item: Object) -> Iterator[None]:
        """Without an object; a pod comes back to its place among the pods of its node."""
        if not isinstance(item, Pod):
            self._remove(item)
            try:
                yield
            finally:
                self._put(item)
            return
        services, state = self.services, self.services.state
        info = state.node(item.spec.node_name) if item.spec.node_name else None
        nominated = services.nominations.node_of(item.uid)
        behind = [] if info is None else _behind(info, item)
        ports = set() if info is None else set(info.used_ports)
        services.nominations.remove(item.uid)
        self._remove(item)
        if info is not None:
            # A port is free only when the last that holds it is gone.
            for pod in info.pods:
                state.ports.take(info, pod.host_ports)
        try:
            yield
        finally:
            self._put(item)
            for pod in behind:
                is_assumed = state.is_assumed(pod.uid)
                state.remove_pod(pod.uid)
                if is_assumed:
                    state.assume(pod, pod.spec.node_name)
                else:
                    state.add_pod(pod)
            if nominated:
                services.nominations.add(item, nominated)
            if info is not None:
                state.ports.free(info, info.used_ports - ports)
                state.ports.take(info, ports)


def _members_beside(profile: Profile, pod: Pod) -> frozenset[str]:
    """The uids of all members of the gang of a pod."""
    gangs = profile.gangs
    gang = None if gangs is None else gangs.gang_of(pod)
    return frozenset(() if gangs is None or gang is None else (each.uid for each in gangs.members_of(gang)))


def _behind(info: NodeInfo, pod: Pod) -> list[Pod]:
    """The pods of a node that came after one of them."""
    pods = list(info.pods)
    place = next((place for place, each in enumerate(pods) if each.uid == pod.uid), len(pods))
    return pods[place + 1 :]
