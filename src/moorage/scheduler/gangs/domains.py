"""In which part of the cluster a gang is tried that is to stay together: a rack, a block, a zone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework.gangs import Gang, domains_of
from moorage.framework.runtime.profile import Profile
from moorage.state.nodes import Nodes

_ON_NODES_ONLY = ("cpu", "memory", "ephemeral-storage")
"""What nothing but the node can give; devices may serve other resources."""


class Domain(NamedTuple):
    """The nodes that have the same value of a label."""

    value: str
    names: frozenset[str]


class Domains(NamedTuple):
    """Those with the least room come first."""

    likely: list[Domain]
    """Those in which the missing members may find room."""
    possible: list[Domain]
    """Those in which they may if others made room."""
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
    needed = _least(members, missing)
    room = _room(nodes, label.codes, len(label.values), needed)
    room_if_empty = _room(nodes, label.codes, len(label.values), needed, if_empty=True)
    can_tell = any(each.plugin.name == "NodeResourcesFit" for each in profile.filter)
    taken = domains_of(profile.state, gang.topology, with_node)
    present = set(np.unique(label.codes).tolist())
    found = sorted(
        (room.item(code), value, code)
        for code, value in enumerate(label.values)
        if value is not None and code in present and (not taken or value in taken)
    )
    names = np.array(nodes.names, dtype=object)
    domains = [(Domain(value, frozenset(names[label.codes == code])), code) for _, value, code in found]
    return Domains(
        [domain for domain, code in domains if room[code] >= 1 or not can_tell],
        [domain for domain, code in domains if room_if_empty[code] >= 1 or not can_tell],
        domains[-1][0] if domains else None,
    )


def _room(
    nodes: Nodes, codes: NDArray[np.int32], size: int, needed: dict[str, int], *, if_empty: bool = False
) -> NDArray[np.float64]:
    """For each code how often the needed amounts are free there, if it did not matter on which nodes."""
    room = np.full(size, np.inf)
    for resource, amount in needed.items():
        free = nodes.allowed_pods if resource == "pods" else nodes.allocatable[resource]
        if not if_empty:
            free = free - (nodes.pod_count if resource == "pods" else nodes.requested[resource])
        sums = np.bincount(codes, weights=np.maximum(free, 0), minlength=size)
        room = np.minimum(room, sums / amount)
    return room


def _least(members: Sequence[Pod], missing: int) -> dict[str, int]:
    """What the missing members need at the very least, whichever of the members they are."""
    least = {
        name: sum(sorted(pod.requests.get(name, 0) for pod in members)[:missing]) for name in _ON_NODES_ONLY
    }
    return {name: amount for name, amount in {**least, "pods": missing}.items() if amount > 0}
