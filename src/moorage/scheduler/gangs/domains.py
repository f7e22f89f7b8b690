"""In which part of the cluster a gang is tried that is to stay together: a rack, a block, a zone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework.gangs import Gang, domains_of
from moorage.framework.runtime.profile import Profile
from moorage.plugins.preemption.default_preemption import DefaultPreemption
from moorage.state.nodes import Nodes

_ON_NODES_ONLY = ("cpu", "memory", "ephemeral-storage")
"""What nothing but the node can give; devices may serve other resources."""
_ABOVE_ALL = 2**31
"""A priority that no pod has."""


class Domain(NamedTuple):
    """The nodes that have the same value of a label."""

    value: str
    names: frozenset[str]


class Domains(NamedTuple):
    likely: list[Domain]
    """Those in which the missing members may find room, the one with the least room first."""
    largest: Domain | None
    """The one with the most room, likely or not; None if no node has the label."""


def domains_for(
    profile: Profile, gang: Gang, members: Sequence[Pod], missing: int, with_node: Sequence[Pod]
) -> Domains:
    """Where to try a gang that is to stay together: large domains stay free for those who need them.

    A gang that has nodes already stays where these are.
    """
    nodes = profile.state.nodes
    label = nodes.label(gang.topology)
    room = _room(nodes, label.codes, len(label.values), _least(members, missing))
    can_tell = any(each.plugin.name == "NodeResourcesFit" for each in profile.filter)
    taken = domains_of(profile.state, gang.topology, with_node)
    present = set(np.unique(label.codes).tolist())
    found = sorted(
        (room.item(code), value, code)
        for code, value in enumerate(label.values)
        if value is not None and code in present and (not taken or value in taken)
    )
    names = np.array(nodes.names, dtype=object)
    domains = [Domain(value, frozenset(names[label.codes == code])) for _, value, code in found]
    likely = [domain for domain, (room, *_) in zip(domains, found, strict=True) if room >= 1 or not can_tell]
    return Domains(likely, domains[-1] if domains else None)


def domains_if_others_go(
    profile: Profile, gang: Gang, members: Sequence[Pod], missing: int, with_node: Sequence[Pod]
) -> list[Domain]:
    """Where the missing members may find room if others made it, the one with the most room first."""
    with profile.state.priorities.gone_below(_priority_that_stays(profile, members)):
        likely = domains_for(profile, gang, members, missing, with_node).likely
    return likely[::-1]


def _priority_that_stays(profile: Profile, members: Sequence[Pod]) -> int:
    """Pods of this priority need not go for any of the members."""
    preempting = [plugin for plugin in profile.post_filter if isinstance(plugin, DefaultPreemption)]
    of_others = any(plugin not in profile.ours for plugin in profile.post_filter)
    if of_others or any(plugin.ignores_priorities for plugin in preempting):
        return _ABOVE_ALL
    return max(pod.priority for pod in members)


def _room(nodes: Nodes, codes: NDArray[np.int32], size: int, needed: dict[str, int]) -> NDArray[np.float64]:
    """For each code how often the needed amounts are free there, if it did not matter on which nodes."""
    room = np.full(size, np.inf)
    for resource, amount in needed.items():
        if resource == "pods":
            free = nodes.allowed_pods - nodes.pod_count
        else:
            free = nodes.allocatable[resource] - nodes.requested[resource]
        sums = np.bincount(codes, weights=np.maximum(free, 0), minlength=size)
        room = np.minimum(room, sums / amount)
    return room


def _least(members: Sequence[Pod], missing: int) -> dict[str, int]:
    """What the missing members need at the very least, whichever of the members they are."""
    least = {
        name: sum(sorted(pod.requests.get(name, 0) for pod in members)[:missing]) for name in _ON_NODES_ONLY
    }
    return {name: amount for name, amount in {**least, "pods": missing}.items() if amount > 0}
