"""How many more pods like one can fit at most, by what is sure without trying: a bound, never too small."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.devices import DeviceClass
from moorage.api.pods import Pod, PodAffinityTerm, TopologySpreadConstraint
from moorage.api.selectors import Requirement, Selector, parse_selector
from moorage.framework.runtime.calls import ask
from moorage.framework.runtime.filtering import about
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status
from moorage.scheduler.search import rows_of
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.what_if.capacity.world import World

_FIT, _PORTS = "NodeResourcesFit", "NodePorts"
_OF_NODES = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodeDeclaredFeatures")
"""Filters whose answers about a node do not change, whatever is placed."""
_ALWAYS_COUNTED = ("cpu", "memory", "ephemeral-storage")


def at_most(world: World, pod: Pod) -> int:
    """No more pods like this one fit than so many."""
    rooms = _rooms(world, pod)
    bound = sum(rooms.values())
    # Those that concern single nodes come first: they make the domains of the others smaller.
    for limits in sorted(_limits(world, pod, rooms), key=lambda limits: -len(limits.most)):
        bound = min(bound, limits.apply(rooms))
    return bound


def suitable(world: World, pod: Pod, further: Collection[str] = ()) -> set[str] | None:
    """The nodes that suit a pod as far as labels and taints tell; None if it could not be asked."""
    decision = world.evaluation(pod).decision
    pre = None if decision is None else decision.pre_filtered
    if decision is None or pre is None or pre.status is not None:
        return None
    profile, table = world.profile_of(pod), world.state.table
    nodes = Nodes.all(table) if pre.names is None else Nodes(table, rows_of(profile, pre.names))
    fits = np.ones(len(nodes), dtype=np.bool_)
    for plugin, _ in profile.filter:
        if plugin.name not in (*_OF_NODES, *further) or plugin.name in decision.cycle.skip_filter:
            continue
        arguments = (decision.cycle, pod, nodes)
        verdicts = ask(about(nodes), profile, plugin, False, plugin.filter_nodes, *arguments)
        if isinstance(verdicts, Status):
            return None
        if verdicts.codes is not None:
            fits &= verdicts.codes == 0
    return {name for name, is_fitting in zip(nodes.names, fits.tolist(), strict=True) if is_fitting}


def _rooms(world: World, pod: Pod) -> dict[str, int]:
    """By node, how many fit there as far as the node alone decides; those without any are left out."""
    nodes = Nodes.all(world.state.table)
    fits = suitable(world, pod, (_PORTS,))
    rooms: NDArray[np.int64] = np.full(len(nodes), 2**31)
    if world.has_filter(pod, _FIT):
        rooms = _by_resources(world.profile_of(pod), pod, nodes)
    if pod.host_ports and world.has_filter(pod, _PORTS):
        rooms = np.minimum(rooms, 1)
    return {
        name: room
        for name, room in zip(nodes.names, rooms.tolist(), strict=True)
        if room > 0 and (fits is None or name in fits)
    }


def _by_resources(profile: Profile, pod: Pod, nodes: Nodes) -> NDArray[np.int64]:
    rooms = nodes.allocatable["pods"] - nodes.pod_count
    for name, wanted in pod.requests.items():
        if wanted > 0 and (name in _ALWAYS_COUNTED or _counts_others(profile)):
            rooms = np.minimum(rooms, (nodes.allocatable[name] - nodes.requested[name]) // wanted)
    return rooms


def _counts_others(profile: Profile) -> bool:
    """Whether extended resources are surely counted: neither ignored nor served by devices."""
    args = profile.plugins[_FIT].args
    ignored = getattr(args, "ignored_resources", None) or getattr(args, "ignored_resource_groups", None)
    return not ignored and not len(profile.state.objects.of(DeviceClass))


class _Limits(NamedTuple):
    """By domain of a topology, how many more may be there; where the label is missing, none or any number."""

    key: str
    most: Mapping[str, int]
    outside: bool
    nodes: Mapping[str, NodeInfo]

    def apply(self, rooms: dict[str, int]) -> int:
        """How many fit in all; the rooms of nodes that are domains of their own become smaller."""
        sums: dict[str, int] = {}
        members: dict[str, list[str]] = {}
        free = 0
        for name, room in rooms.items():
            domain = self.nodes[name].labels.get(self.key)
            if domain is None:
                free += room if self.outside else 0
            else:
                sums[domain] = sums.get(domain, 0) + room
                members.setdefault(domain, []).append(name)
        for domain, names in members.items():
            sums[domain] = min(sums[domain], self.most.get(domain, 0))
            if len(names) == 1:
                rooms[names[0]] = sums[domain]
        return free + sum(sums.values())


def _limits(world: World, pod: Pod, rooms: Mapping[str, int]) -> Iterator[_Limits]:
    nodes = {info.name: info for info in world.nodes}
    for term in keeps_away_from_itself(world, pod):
        domains = {nodes[name].labels.get(term.topology_key) for name in rooms}
        most = {domain: 1 for domain in domains if domain is not None}
        yield _Limits(term.topology_key, most, True, nodes)
    if world.has_filter(pod, "PodTopologySpread"):
        for constraint in pod.spec.topology_spread_constraints:
            selector = _selector(constraint, pod)
            if constraint.when_unsatisfiable == "DoNotSchedule" and selector.matches(pod.labels):
                yield _Limits(
                    constraint.topology_key, _spread(constraint, selector, pod, rooms, nodes), False, nodes
                )


def keeps_away_from_itself(world: World, pod: Pod) -> list[PodAffinityTerm]:
    """The terms by which no pod like this one may be beside another."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return []
    if not world.has_filter(pod, "InterPodAffinity"):
        return []
    return [term for term in affinity.pod_anti_affinity.required if _is_about_itself(term, pod)]


def _is_about_itself(term: PodAffinityTerm, pod: Pod) -> bool:
    is_here = pod.namespace in term.namespaces if term.namespaces else term.namespace_selector is None
    return is_here and parse_selector(term.label_selector).matches(pod.labels)


def _selector(constraint: TopologySpreadConstraint, pod: Pod) -> Selector:

    selector = parse_selector(constraint.label_selector)
    keys = [key for key in constraint.match_label_keys if key in pod.labels]
    return selector.plus(Requirement(key, "In", (pod.labels[key],)) for key in keys)


def _spread(
    constraint: TopologySpreadConstraint,
    selector: Selector,
    pod: Pod,
    rooms: Mapping[str, int],
    nodes: Mapping[str, NodeInfo],
) -> dict[str, int]:
    """No domain may get further ahead than the skew of the one that can have the fewest.

    Nodes with room surely count. Of the others this is not known here: their pods are taken to count where
    that makes the bound larger, and not to count where it would make it smaller.
    """
    keys = [each.topology_key for each in pod.spec.topology_spread_constraints]
    surely: dict[str, int] = {}
    perhaps: dict[str, int] = {}
    room_in: dict[str, int] = {}
    for name, info in nodes.items():
        domain = info.labels.get(constraint.topology_key)
        if domain is None:
            continue
        there = sum(
            each.namespace == pod.namespace and not each.deleting and selector.matches(each.labels)
            for each in info.pods
        )
        perhaps[domain] = perhaps.get(domain, 0) + there
        if name in rooms and all(key in info.labels for key in keys):
            surely[domain] = surely.get(domain, 0) + there
            room_in[domain] = room_in.get(domain, 0) + rooms[name]
    fewest = min((perhaps[domain] + room_in[domain] for domain in surely), default=0)
    return {domain: max(0, fewest + constraint.max_skew - counted) for domain, counted in surely.items()}
