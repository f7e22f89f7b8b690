"""Which remedies are worth a try: found from who rejects what, on the nodes that come nearest."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

import numpy as np

from moorage.insight.advice.obstacles import Obstacles
from moorage.insight.advice.remedies import (
    gates,
    node_affinity,
    pod_affinity,
    ports,
    requests,
    room,
    spread,
    taints,
    volumes,
)
from moorage.insight.advice.remedy import Remedy, Sight
from moorage.plugins.node_matching import node_affinity_of
from moorage.state.node_info import NodeInfo

_NODES_OF_A_PLUGIN = 16
_NODES_FOR_COMBINATIONS = 16
_LOOKED_AT = 2000
_MOST_EFFECTS = 12

_OF_NODES: dict[str, Callable[[Sight, NodeInfo], Iterator[Remedy]]] = {
    requests.PLUGIN: requests.remedies,
    taints.TAINTS: taints.remedies,
    taints.CORDON: taints.remedies,
    node_affinity.PLUGIN: node_affinity.remedies,
    node_affinity.NODE_NAME: node_affinity.remedies_for_name,
    ports.PLUGIN: ports.remedies,
    spread.PLUGIN: spread.remedies,
}
"""Remedies that depend on the node, by the plugin that rejects it."""

_OF_POD: dict[str, Callable[[Sight], Iterator[Remedy]]] = {
    pod_affinity.PLUGIN: pod_affinity.remedies_of_pod,
    **dict.fromkeys((*volumes.PLUGINS, "DynamicResources"), volumes.remedies_of_pod),
}
"""Remedies that do not."""


def of_pod(sight: Sight) -> Iterator[Remedy]:
    """Remedies against what rejects the pod as a whole, or on many nodes for the same reason."""
    obstacles = sight.obstacles
    if obstacles.gate is not None:
        yield from gates.remedies_of_pod(sight)
        yield from volumes.remedies_of_pod(sight)
        return
    rejecting = set(obstacles.by_plugin)
    if obstacles.rejection is not None:
        rejecting.add(obstacles.rejection.plugin)
        if obstacles.rejection.plugin == node_affinity.PLUGIN or not obstacles.rejection.plugin:
            yield node_affinity.only_preferred(sight)
            yield node_affinity.without_affinity(sight)
    for find in dict.fromkeys(_OF_POD[plugin] for plugin in rejecting if plugin in _OF_POD):
        yield from find(sight)


def of_nodes(sight: Sight) -> list[Remedy]:
    """Remedies each of which leaves nothing in the way on some node, every one once."""
    found: dict[tuple[str, str], Remedy] = {}
    for row in _nearest(sight):
        plugins = sight.obstacles.plugins_on(row)
        for remedy in _on_node(sight, row, plugins):
            if remedy.fixes >= plugins:
                found.setdefault((remedy.kind, remedy.text), remedy)
    return list(found.values())


def giving_up(sight: Sight) -> list[Remedy]:
    """Requests that would have to go altogether, where they may be all that is in the way."""
    obstacles = sight.obstacles
    found: list[Remedy] = []
    rejected = obstacles.by_plugin.get(requests.PLUGIN)
    if rejected is not None:
        rows = np.flatnonzero(rejected & (obstacles.how_many() == 1))
        rows = rows[np.argsort(requests.severity(sight)[rows], kind="stable")][:_NODES_OF_A_PLUGIN]
        nodes = [obstacles.info(row) for row in rows.tolist()]
        found += [remedy for node in nodes for remedy in requests.remedies(sight, node, to_nothing=True)]
    if any(plugin not in _OF_NODES for plugin in obstacles.by_plugin):
        found += requests.without_extended(sight)
    return sorted(found, key=lambda remedy: remedy.cost)


def _on_node(sight: Sight, row: int, plugins: frozenset[str]) -> Iterator[Remedy]:
    node = sight.obstacles.info(row)
    for find in dict.fromkeys(_OF_NODES[plugin] for plugin in sorted(plugins) if plugin in _OF_NODES):
        yield from find(sight, node)


def _nearest(sight: Sight) -> list[int]:
    """For each plugin, some nodes that it alone rejects, of each sort; and some that two reject."""
    obstacles = sight.obstacles
    if not obstacles.by_plugin:
        return []
    counts, severity = obstacles.how_many(), requests.severity(sight)
    chosen: list[int] = []
    for plugin, rejected in obstacles.by_plugin.items():
        for number in (1, 2):
            rows = np.flatnonzero(rejected & (counts == number))
            rows = rows[np.argsort(severity[rows], kind="stable")][:_LOOKED_AT]
            sorts: dict[Hashable, int] = {}
            for row in rows.tolist():
                sorts.setdefault(_sort(sight, plugin, obstacles.info(row)), row)
                if len(sorts) == _NODES_OF_A_PLUGIN:
                    break
            chosen += sorts.values()
    return list(dict.fromkeys(chosen))


def _sort(sight: Sight, plugin: str, node: NodeInfo) -> Hashable:
    """Nodes of a sort need the same change."""
    if plugin == taints.TAINTS:
        return node.taints
    if plugin == node_affinity.PLUGIN:
        return tuple(node.labels.get(key) for key in _asked_labels(sight))
    return node.name


def _asked_labels(sight: Sight) -> list[str]:
    keys = list(sight.pod.spec.node_selector or {})
    affinity = node_affinity_of(sight.pod)
    if affinity is not None and affinity.required is not None:
        for term in affinity.required.node_selector_terms:
            keys += [requirement.key for requirement in term.match_expressions]
    return keys


def combinations_on_nodes(
    sight: Sight, most: int, *, others_may_leave: bool, to_nothing: bool = False
) -> list[tuple[Remedy, ...]]:
    """On the nearest nodes that several plugins reject: the cheapest remedy against each, the best first."""
    obstacles = sight.obstacles
    counts = obstacles.how_many()
    rows = np.flatnonzero(counts > 0)
    order = np.lexsort((requests.severity(sight)[rows], counts[rows]))
    for_pod = _with_effects(sight, of_pod(sight))
    found: dict[tuple[str, ...], tuple[Remedy, ...]] = {}
    for row in rows[order][:_NODES_FOR_COMBINATIONS].tolist():
        plugins = obstacles.plugins_on(row)
        remedies = [remedy._replace(fixes=plugins - after.plugins_on(row)) for remedy, after in for_pod]
        remedies += _on_node(sight, row, plugins)
        if to_nothing:
            remedies += requests.remedies(sight, obstacles.info(row), to_nothing=True)
        leaving = _leaving(sight, row, plugins) if others_may_leave else None
        if leaving is not None:
            remedies.append(leaving)
        chosen = _cover(plugins, sorted(remedies, key=lambda remedy: remedy.cost), most)
        if chosen is not None and len(chosen) > 1:
            found.setdefault(tuple(remedy.text for remedy in chosen), chosen)
    return sorted(found.values(), key=lambda chosen: sum(remedy.cost for remedy in chosen))


def _with_effects(sight: Sight, remedies: Iterable[Remedy]) -> list[tuple[Remedy, Obstacles]]:
    """Remedies of the pod, each with what would stand in the way after it."""
    found: list[tuple[Remedy, Obstacles]] = []
    for remedy in remedies:
        if sight.world.is_over or len(found) == _MOST_EFFECTS:
            break
        after = sight.after(remedy)
        if after is not None and after.gate is None and after.rejection is None:
            found.append((remedy, after))
    return found


def _leaving(sight: Sight, row: int, plugins: frozenset[str]) -> Remedy | None:
    """Who would have to leave, as far as that helps at all."""
    helped = frozenset(plugin for plugin in plugins if plugin in room.COUNTED)
    found = room.leaving(sight, sight.obstacles.info(row), helped) if helped else None
    return None if found is None else room.remedy(sight, found, helped)


def _cover(plugins: frozenset[str], remedies: list[Remedy], most: int) -> tuple[Remedy, ...] | None:
    """Remedies against all of these plugins, the cheapest for each; None if there are too many or too few."""
    chosen: list[Remedy] = []
    left = set(plugins)
    while left:
        remedy = next((each for each in remedies if each.fixes & left), None)
        if remedy is None or len(chosen) == most:
            return None
        chosen.append(remedy)
        left -= remedy.fixes
    return tuple(chosen)
