"""Small clusters, and plugins asked about them the way the runtime asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, ClusterEvent, Hint
from moorage.framework.extension_points import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from moorage.framework.handle import Handle, Services
from moorage.framework.status import Code, Status
from moorage.state.nodes import Nodes

MEBIBYTE = 1024 * 1024


def cluster(nodes: Iterable[Node] = (), pods: Iterable[Pod] = ()) -> Handle:
    """A handle on a cluster with these nodes, and these pods on them."""
    handle = Handle(Services())
    for node in nodes:
        handle.state.put_node(node)
    for pod in pods:
        handle.state.add_pod(pod)
    handle.state.table.refresh()
    return handle


def views(handle: Handle) -> list[Nodes]:
    """The same nodes as a slice, as a part of one, and as a list of rows in another order."""
    everything = handle.nodes
    backwards = np.arange(len(everything) - 1, -1, -1, dtype=np.intp)
    return [
        everything,
        Nodes(everything.table, slice(len(everything) // 2, len(everything))),
        Nodes(everything.table, backwards),
    ]


def filtered(plugin: FilterPlugin, pod: Pod, nodes: Nodes | None = None) -> dict[str, Status | None]:
    """PreFilter, if there is one, and Filter: the status of every node by name."""
    cycle = CycleState()
    if isinstance(plugin, PreFilterPlugin):
        answer = plugin.pre_filter(cycle, pod)
        if isinstance(answer, Status):
            assert answer.code is Code.SKIP
            return dict.fromkeys((plugin.handle.nodes if nodes is None else nodes).names)
    return verdicts(plugin, cycle, pod, nodes)


def verdicts(
    plugin: FilterPlugin, cycle: CycleState, pod: Pod, nodes: Nodes | None = None
) -> dict[str, Status | None]:
    asked = plugin.handle.nodes if nodes is None else nodes
    answer = plugin.filter_nodes(cycle, pod, asked)
    return {name: answer.at(i) for i, name in enumerate(asked.names)}


def passing(statuses: dict[str, Status | None]) -> set[str]:
    return {name for name, status in statuses.items() if status is None}


def scored(plugin: ScorePlugin, pod: Pod, nodes: Nodes | None = None, *, raw: bool = False) -> dict[str, int]:
    """PreScore, Score and, unless `raw`, NormalizeScore. Empty if PreScore skips."""
    asked = plugin.handle.nodes if nodes is None else nodes
    cycle = CycleState()
    if isinstance(plugin, PreScorePlugin):
        status = plugin.pre_score(cycle, pod, asked)
        if status is not None:
            assert status.code is Code.SKIP
            return {}
    scores = plugin.score_nodes(cycle, pod, asked)
    if not raw:
        scores = plugin.normalize_scores(cycle, pod, scores)
    assert scores.dtype == np.int64
    assert scores.shape == (len(asked),)
    return dict(zip(asked.names, scores.tolist(), strict=True))


def hint(plugin: Plugin, resource: str, action: Action, pod: Pod, old: Any = None, new: Any = None) -> Hint:
    """What the plugin says about an event for a pod it rejected."""
    happened = ClusterEvent(resource, action)
    (registered,) = [event for event in plugin.events() or () if event.covers(happened)]
    return Hint.QUEUE if registered.hint is None else registered.hint(pod, old, new)


def registered(plugin: Plugin) -> list[tuple[str, Action, bool]]:
    """The registered events; True for those with a hint function."""
    return [(event.resource, event.action, event.hint is not None) for event in plugin.events() or ()]
