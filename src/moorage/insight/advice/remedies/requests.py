"""Requests that a node has no room for: how far they would have to go down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from moorage.api.pods import Pod
from moorage.api.quantities import QuantityError
from moorage.api.requests import Resources, row_request
from moorage.api.resources import BASIC, PODS, is_extended
from moorage.insight.advice.amounts import nanos, unit, written
from moorage.insight.advice.drafts import Draft, items, part
from moorage.insight.advice.remedy import Remedy, Sight, joined
from moorage.insight.advice.steps import Document
from moorage.plugins.node_resources_fit import demands_in
from moorage.state.columns import Int64s
from moorage.state.node_info import NodeInfo

PLUGIN = "NodeResourcesFit"
_TOO_MANY_PODS = "Too many pods"
_GIVEN_UP = 95.0


def free_on(sight: Sight, node: NodeInfo) -> dict[str, int]:
    """What a node has left of everything, with the pods nominated to it that are as important."""
    table = sight.state.table
    free: dict[str, int] = dict(node.allocatable)
    free[PODS] = int(table.allowed_pods[node.row]) - int(table.pod_count[node.row])
    for name, amount in node.requested.items():
        free[name] = free.get(name, 0) - amount
    for rival in sight.services.nominations.on(node.name):
        if rival.priority >= sight.pod.priority and rival.uid != sight.pod.uid and not node.has(rival):
            free[PODS] -= 1
            for name, amount in taken_by(rival).items():
                free[name] = free.get(name, 0) - amount
    return free


def taken_by(pod: Pod) -> Resources:
    """What a pod takes on its node; one whose requests cannot be read counts as asking for nothing."""
    try:
        return row_request(pod)
    except QuantityError:
        return Resources()


def missing_on(sight: Sight, node: NodeInfo) -> dict[str, int]:
    """How much more of each resource a node would need, `pods` included."""
    free = free_on(sight, node)
    missing = {
        name: amount - free.get(name, 0) for name, amount in demands(sight) if amount > free.get(name, 0)
    }
    if free[PODS] < 1:
        missing[PODS] = 1 - free[PODS]
    return missing


def demands(sight: Sight) -> list[tuple[str, int]]:
    """What the pod asks for that is looked at."""
    decision = sight.obstacles.evaluation.decision
    found = None if decision is None else demands_in(decision.cycle)
    if found is None:
        return [(name, amount) for name, amount in sight.pod.requests.items() if amount > 0]
    return [(demand.name, demand.amount) for demand in found]


def severity(sight: Sight) -> Int64s:
    """By row: by how many thousandths requests would have to go down, the sum over all resources."""
    table = sight.state.table
    size = len(table)
    total = np.zeros(size, dtype=np.float64)
    for name, amount in demands(sight):
        has, used = table.allocatable.find(name), table.requested.find(name)
        free = np.zeros(size) if has is None else has.data[:size].astype(np.float64)
        if used is not None:
            free = free - used.data[:size]
        total += np.clip((amount - free) / amount, 0, 2)
    thousandths: Int64s = (total * 1000).astype(np.int64)
    return thousandths


def remedies(sight: Sight, node: NodeInfo, *, to_nothing: bool = False) -> Iterator[Remedy]:
    """Lower requests, as high as the node has room for; a request of nothing only if that is asked for."""
    missing = missing_on(sight, node)
    if PODS in missing or not missing:
        return
    wanted = dict(demands(sight))
    allowed = {name: wanted[name] - short for name, short in missing.items()}
    if any(amount <= 0 for amount in allowed.values()) and not to_nothing:
        return
    lowering = _Lowering.of(sight.pod.raw, {name: max(0, amount) for name, amount in allowed.items()})
    if lowering is None:
        return
    lost = sum(short / wanted[name] for name, short in missing.items())
    cost = 10 + 50 * lost + 5 * (len(missing) - 1)

    def edit(draft: Draft) -> None:
        lowering.carry_out(draft.edit(sight.pod))

    names = ",".join(sorted(missing))
    text = joined(lowering.clauses())
    if min(allowed.values()) <= 0:
        cost += _GIVEN_UP
    yield Remedy(f"requests of {names}", text, cost, edit, fixes=frozenset({PLUGIN}))


def lowered_to(sight: Sight, allowed: dict[str, int]) -> Remedy | None:
    """Requests as low as these, whatever the node."""
    wanted = dict(demands(sight))
    lowering = _Lowering.of(sight.pod.raw, allowed)
    if lowering is None or not lowering.amounts:
        return None

    def edit(draft: Draft) -> None:
        lowering.carry_out(draft.edit(sight.pod))

    cost = 10 + 50 * sum(1 - amount / wanted[name] for name, amount in allowed.items())
    return Remedy(f"requests of {','.join(sorted(allowed))}", joined(lowering.clauses()), cost, edit)


def without_extended(sight: Sight) -> Iterator[Remedy]:
    """Each extended resource given up; for plugins that have their own idea of who may have them."""
    for name in (name for name, _ in demands(sight) if is_extended(name)):
        lowering = _Lowering.of(sight.pod.raw, {name: 0})
        if lowering is not None:

            def edit(draft: Draft, lowering: _Lowering = lowering) -> None:
                lowering.carry_out(draft.edit(sight.pod))

            yield Remedy(f"requests of {name}", joined(lowering.clauses()), _GIVEN_UP, edit)


class _Place(NamedTuple):
    """A request in the document of a pod: of a container, or of the pod itself (`number` is -1)."""

    group: str
    number: int
    name: str

    def of(self, document: Document) -> Document:
        spec = part(document, "spec")
        holder = spec if self.number < 0 else spec[self.group][self.number]
        return part(holder, "resources")


class _Lowering:
    """New requests, by place and resource, in nanos."""

    def __init__(self) -> None:
        self.amounts: dict[tuple[_Place, str], int] = {}
        self.wanted: dict[str, int] = {}
        self.containers = 0

    @classmethod
    def of(cls, document: Document, allowed: dict[str, int]) -> _Lowering | None:
        """What has to change for the pod to ask for `allowed` or less; None if overhead alone is more."""
        lowering = cls()
        spec = document.get("spec") or {}
        lowering.containers = len(items(spec, "containers")) + len(items(spec, "initContainers"))
        for name, amount in allowed.items():
            overhead = nanos((spec.get("overhead") or {}).get(name))
            left = amount * unit(name) - overhead
            if left < 0:
                return None
            lowering.wanted[name] = left
            lowering._lower(spec, name, left)
        return lowering

    def _lower(self, spec: Document, name: str, left: int) -> None:
        """Lowers one resource of a pod to at most so many nanos, beside its overhead."""
        own = ((spec.get("resources") or {}).get("requests") or {}).get(name)
        if own is not None and nanos(own) > left:
            self.amounts[_Place("", -1, ""), name] = left
        together = [
            place
            for group, places in (("containers", None), ("initContainers", True))
            for place in _places(spec, group, sidecars=places)
        ]
        asked = {place: _asked(spec, place, name) for place in together}
        for place, amount in _lowered(asked, left, unit(name)).items():
            self.amounts[place, name] = amount
            asked[place] = amount
        before = 0
        for place in _places(spec, "initContainers"):
            if _is_sidecar(spec, place):
                before += asked[place]
            elif _asked(spec, place, name) > left - before:
                self.amounts[place, name] = max(0, left - before)

    def carry_out(self, document: Document) -> None:
        for (place, name), amount in self.amounts.items():
            resources = place.of(document)
            limits = resources.get("limits") or {}
            if amount < unit(name):
                part(resources, "requests").pop(name, None)
                limits.pop(name, None)
                continue
            part(resources, "requests")[name] = written(name, amount)
            # Of what is no cpu or memory, request and limit have to be the same.
            if name not in BASIC and name in limits:
                limits[name] = written(name, amount)

    def clauses(self) -> Iterator[str]:
        for name, left in self.wanted.items():
            places = [place for place, resource in self.amounts if resource == name]
            if all(self.amounts[place, name] < unit(name) for place in places):
                yield f"it did not ask for {name}"
            elif len(places) == 1 and places[0].number >= 0 and self.containers > 1:
                amount = self.amounts[places[0], name]
                yield f"the {name} request of container {places[0].name} were {written(name, amount)} or less"
            elif len(places) <= 1 or any(place.number < 0 for place in places):
                yield f"its {name} request were {written(name, left)} or less"
            else:
                yield f"its {name} requests were {written(name, left)} or less in all"


def _places(spec: Document, group: str, *, sidecars: bool | None = None) -> list[_Place]:
    found = [
        _Place(group, index, str(container.get("name", index)))
        for index, container in enumerate(items(spec, group))
    ]
    return [place for place in found if sidecars is None or _is_sidecar(spec, place) == sidecars]


def _is_sidecar(spec: Document, place: _Place) -> bool:
    return place.group == "initContainers" and (
        spec[place.group][place.number].get("restartPolicy") == "Always"
    )


def _asked(spec: Document, place: _Place, name: str) -> int:
    resources = spec[place.group][place.number].get("resources") or {}
    return nanos((resources.get("requests") or {}).get(name))


def _lowered(asked: dict[_Place, int], left: int, step: int) -> dict[_Place, int]:
    """New amounts for those that run together: the largest gives way, or all do in proportion."""
    total = sum(asked.values())
    if total <= left:
        return {}
    largest = max(asked, key=lambda place: asked[place])
    if asked[largest] > total - left:
        return {largest: asked[largest] - (total - left)}
    scaled = {place: amount * left // total // step * step for place, amount in asked.items() if amount}
    scaled[largest] += (left - sum(scaled.values())) // step * step
    return scaled
