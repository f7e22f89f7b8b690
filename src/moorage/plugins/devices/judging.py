"""Which nodes have the devices that the claims of a pod ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from moorage.api.decoding import from_document
from moorage.api.devices import AllocationResult, ResourceClaim
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.devices.allocation.allocator import Allocator
from moorage.plugins.devices.allocation.failures import AllocationFailed, InvalidPools, TimedOut
from moorage.plugins.devices.allocation.results import Plan
from moorage.plugins.devices.devices import Devices
from moorage.plugins.devices.extended_resources import asked_of_devices, may_be_of_devices
from moorage.plugins.devices.known_answers import OF_ITS_OWN, Answer
from moorage.plugins.devices.pod_devices import NodePlan, PodDevices
from moorage.plugins.devices.readiness import is_ready, is_timed_out
from moorage.plugins.node_matching import selector_mask
from moorage.state.columns import Bools, Int32s, Int64s
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

CANNOT_ALLOCATE = Status.unresolvable("cannot allocate all claims")
NOT_AVAILABLE = Status.unresolvable("resourceclaim not available on the node")
STALE = Status.unresolvable("cannot schedule extended resource claim")
CANNOT_FIT = Status.unresolvable("cannot fit resource")

_MOST_SUB_REQUESTS = 8


class Variant:
    """The claims to allocate as nodes call for them that serve the same resources by devices."""

    def __init__(self, judgement: Judgement, resources: frozenset[str]) -> None:
        devices, pod_devices = judgement.devices, judgement.pod_devices
        claims = [pod_devices.claims[place] for place in pod_devices.to_allocate()]
        self.special: ResourceClaim | None = None
        self.mappings: list[dict[str, str]] = []
        if pod_devices.special is not None:
            asked = asked_of_devices(judgement.pod, resources, devices.extended)
            source = pod_devices.claims[pod_devices.special].raw
            spec = {"devices": {"requests": asked.requests}} if asked.requests else {"devices": {}}
            self.special = claims[-1] = from_document(ResourceClaim, {**source, "spec": spec})
            self.mappings = asked.mappings
        self._known = devices.answers_for(claims)
        self.allocator = Allocator(
            devices.in_use,
            devices.slices,
            devices.class_of,
            devices.selectors,
            claims,
            seconds=judgement.seconds,
            in_common=self._known.in_common,
        )
        self._own: dict[int, Answer] = {}
        """By row, of nodes that share their answer with no other."""
        self._all_share = True
        """Whether there was no such node among those that were asked about; only such are scored."""

    def verdicts(self, nodes: Nodes) -> Verdicts:
        known = self._known
        numbers = known.numbers(nodes, self.allocator, self._ask)
        if np.count_nonzero(numbers) < len(numbers):
            self._all_share = False
            return Verdicts.each([answer.status for answer in self._each(nodes, numbers)])
        codes = known.codes(numbers)
        return Verdicts(codes, tuple(known.statuses)) if np.count_nonzero(codes) else Verdicts.passed()

    def scores(self, nodes: Nodes) -> Int64s:
        if self._all_share and not self._known.any_scores:
            return np.zeros(len(nodes), dtype=np.int64)
        numbers = self._known.numbers(nodes, self.allocator, self._ask)
        if np.count_nonzero(numbers) < len(numbers):
            return np.array([answer.score for answer in self._each(nodes, numbers)], dtype=np.int64)
        return self._known.scores(numbers)

    def _each(self, nodes: Nodes, numbers: Int32s) -> Iterator[Answer]:
        """One by one, since some share their answer with no other."""
        for info, number in zip(nodes, numbers.tolist(), strict=True):
            if number == OF_ITS_OWN:
                self._own[info.row] = self._own.get(info.row) or self._ask(info.node)
                yield self._own[info.row]
            else:
                yield self._known.answer(number)

    def _ask(self, node: Node) -> Answer:
        try:
            plans = self.allocator.allocate(node)
        except InvalidPools as error:
            return Answer(Status.unresolvable(str(error)))
        except TimedOut:
            return Answer(Status.error(f"node {node.name}: timed out trying to allocate devices"))
        except AllocationFailed as error:
            return Answer(Status.error(str(error)))
        if plans is None:
            return Answer(CANNOT_ALLOCATE)
        return Answer(None, sum(map(_score, plans)))


def _score(plan: Plan) -> int:
    return sum(_MOST_SUB_REQUESTS - place for place in plan.chosen.values())


class Judgement:
    """What the claims of a pod mean for nodes, as they are in this cycle."""

    def __init__(
        self, devices: Devices, pod: Pod, pod_devices: PodDevices, seconds: float, waits: float
    ) -> None:
        self.devices = devices
        self.pod = pod
        self.pod_devices = pod_devices
        self.seconds = seconds
        self._variants: dict[frozenset[str], Variant] = {}
        self._was_asked = False
        self._allocates = bool(pod_devices.to_allocate())
        self._existing = sum(
            _existing_score(claim, pod_devices.allocation_of(place))
            for place, claim in enumerate(pod_devices.claims)
        )
        self.unavailable = self._find_unavailable(waits)
        """By the place of a claim: the rows on which it cannot be used, of those with any."""
        self._asked = self._asked_resources()

    def verdicts(self, nodes: Nodes) -> Verdicts:
        self._was_asked = True
        special = self.pod_devices.special
        if special is not None and self.pod_devices.claims[special].spec.devices.requests:
            return Verdicts(np.ones(len(nodes), dtype=np.int8), (None, STALE))
        verdicts = self._found(nodes) if self._allocates else Verdicts.passed()
        return self._without_unavailable(nodes, verdicts) if self.unavailable else verdicts

    def _without_unavailable(self, nodes: Nodes, verdicts: Verdicts) -> Verdicts:
        codes = verdicts.codes
        codes = np.zeros(len(nodes), dtype=np.int32) if codes is None else codes.astype(np.int32)
        kept_off = np.zeros(len(nodes), dtype=np.bool_)
        for mask in self.unavailable.values():
            kept_off |= mask[nodes.rows]
        codes[kept_off & (codes == 0)] = len(verdicts.statuses)
        return Verdicts(codes, (*verdicts.statuses, NOT_AVAILABLE))

    def _found(self, nodes: Nodes) -> Verdicts:
        """What the search says."""
        if not self._asked:
            return self._variant(frozenset()).verdicts(nodes)
        said: list[Status | None] = [None] * len(nodes)
        for resources, places in self._together(nodes, said).items():
            found = self._variant(resources).verdicts(nodes.subset(np.array(places, dtype=np.intp)))
            for number, place in enumerate(places):
                said[place] = found.at(number)
        return Verdicts.each(said)

    def _together(
        self, nodes: Nodes, said: list[Status | None] | None = None
    ) -> dict[frozenset[str], list[int]]:
        """The places of nodes on which devices have to serve the same; what is to be said of the others."""
        together: dict[frozenset[str], list[int]] = {}
        for place, info in enumerate(nodes):
            resources = self._by_devices(info)
            if isinstance(resources, Status):
                if said is not None:
                    said[place] = resources
            elif resources or self.pod_devices.has_user_claims:
                together.setdefault(resources, []).append(place)
        return together

    def _variant(self, resources: frozenset[str]) -> Variant:
        variant = self._variants.get(resources)
        if variant is None:
            variant = self._variants[resources] = Variant(self, resources)
        return variant

    def plan(self, info: NodeInfo) -> NodePlan | None:
        """What the pod would get on a node that passed; None if nothing is to be allocated there."""
        resources = self._by_devices(info)
        if not self._was_asked or not self._allocates or isinstance(resources, Status):
            return None
        if not resources and not self.pod_devices.has_user_claims:
            return None
        variant = self._variant(resources)
        plans = variant.allocator.allocate(info.node)
        return None if plans is None else NodePlan(plans, variant.special, variant.mappings)

    def scores(self, nodes: Nodes) -> Int64s:
        """What was planned counts; what there was before counts where something was planned."""
        found = np.zeros(len(nodes), dtype=np.int64)
        if not self._was_asked or not self._allocates:
            return found
        if not self._asked:
            return self._variant(frozenset()).scores(nodes) + self._existing
        for resources, listed in self._together(nodes).items():
            places = np.array(listed, dtype=np.intp)
            found[places] = self._variant(resources).scores(nodes.subset(places)) + self._existing
        return found

    # Extended resources

    def _asked_resources(self) -> dict[str, bool]:
        """The extended resources the pod asks for, and whether devices may serve them."""
        if self.pod_devices.special is None:
            return {}
        served = self.devices.extended.class_of
        return {
            name: served(name) is not None
            for name, amount in self.pod.requests.items()
            if amount and may_be_of_devices(name)
        }

    def _by_devices(self, info: NodeInfo) -> frozenset[str] | Status:
        """Which resources devices have to serve on a node; a Status if neither they nor the node does."""
        if not self._asked:
            return frozenset()
        found: list[str] = []
        has = info.allocatable
        for name, may_be_served in self._asked.items():
            if may_be_served and not has[name]:
                found.append(name)
            elif name not in info.node.status.allocatable:
                return CANNOT_FIT
        return frozenset(found)

    # Claims that are allocated

    def _find_unavailable(self, waits: float) -> dict[int, Bools]:
        found: dict[int, Bools] = {}
        table = self.devices.table
        for place, claim in enumerate(self.pod_devices.claims):
            allocation = self.pod_devices.allocation_of(place)
            if allocation is None:
                continue
            ready = is_ready(claim)
            is_late = not ready.is_ready and is_timed_out(claim, waits, self.devices.clock())
            if ready.failure or is_late:
                found[place] = np.ones(len(table), dtype=np.bool_)
            elif allocation.node_selector is not None:
                mask = ~selector_mask(table, allocation.node_selector)
                if mask.any():
                    found[place] = mask
        return found


def _existing_score(claim: ResourceClaim, allocation: AllocationResult | None) -> int:
    if allocation is None:
        return 0
    chosen = {result.request for result in allocation.devices.results if "/" in result.request}
    return sum(
        _MOST_SUB_REQUESTS - place
        for request in claim.spec.devices.requests
        for place, sub_request in enumerate(request.first_available)
        if f"{request.name}/{sub_request.name}" in chosen
    )


def unavailable_claims(judgement: Judgement, rows: Iterable[int]) -> list[ResourceClaim]:
    """The claims that kept the pod from some of these rows."""
    wanted = np.fromiter(rows, dtype=np.intp)
    return [
        judgement.pod_devices.claims[place]
        for place, mask in judgement.unavailable.items()
        if mask[wanted].any()
    ]
