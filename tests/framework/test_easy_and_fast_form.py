"""A plugin written node by node and the same plugin written over columns decide alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.scheduler.cycle import Decision, NodeChooser
from moorage.state.columns import Int64s
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod
from tests.framework.scripted import World

FULL = Status.unschedulable("node is full")
NOISY = Status.unresolvable("node is noisy")
SHAKY = Status.pending("node is shaky")


class State:
    """What PreFilter stores: how much cpu the pod wants, and how much nominated pods take per node."""

    def __init__(self, wanted: int, taken: dict[str, int]) -> None:
        self.wanted = wanted
        self.taken = taken

    def clone(self) -> State:
        return State(self.wanted, dict(self.taken))


class Stores(PreFilterPlugin):
    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        if pod.labels.get("skip") == "true":
            return Status.skip()
        cycle.write(self.name, State(pod.requests["cpu"], {}))
        return None

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        taken = cycle.read(self.name).taken
        taken[node.name] = taken.get(node.name, 0) + 1

    def normalized(self, scores: Int64s) -> Int64s:
        return scores * 100 // max(1, int(scores.max()))


class EasyRoom(Stores, FilterPlugin, PreScorePlugin, ScorePlugin):
    name = "Room"

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        state = cycle.read(self.name)
        if state.taken.get(node.name, 0) > 1:
            return SHAKY
        free = node.allocatable["cpu"] - node.requested["cpu"]
        return FULL if state.wanted > free else None

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> None: ...

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return (node.allocatable["cpu"] - node.requested["cpu"]) // 100

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return self.normalized(scores)


class FastRoom(Stores, FilterPlugin, PreScorePlugin, ScorePlugin):
    name = "Room"

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        state = cycle.read(self.name)
        free = nodes.allocatable["cpu"] - nodes.requested["cpu"]
        codes = np.where(state.wanted > free, 1, 0)
        codes[[state.taken.get(name, 0) > 1 for name in nodes.names]] = 2
        return Verdicts(codes, (None, FULL, SHAKY))

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> None: ...

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        scores: Int64s = (nodes.allocatable["cpu"] - nodes.requested["cpu"]) // 100
        return scores

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return self.normalized(scores)


class EasyQuiet(FilterPlugin, ScorePlugin):
    name = "Quiet"

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return NOISY if node.labels.get("noisy") == "true" else None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return max(0, 100 - 40 * len(node.pods))


class FastQuiet(FilterPlugin, ScorePlugin):
    name = "Quiet"

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        label = nodes.label("noisy")
        return Verdicts.where(np.array([value == "true" for value in label.values])[label.codes], NOISY)

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        return np.maximum(0, 100 - 40 * nodes.pod_count)


@dataclass
class Cluster:
    cpus: list[int]
    noisy: list[bool]
    running: list[tuple[int, int]]
    nominated: list[tuple[int, int]]
    wanted: int
    skip: bool
    start: int
    percentage: int


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    size = draw(st.integers(1, 8) | st.integers(100, 130))
    places = st.integers(0, size - 1)
    return Cluster(
        cpus=draw(st.lists(st.integers(0, 4), min_size=size, max_size=size)),
        noisy=draw(st.lists(st.booleans(), min_size=size, max_size=size)),
        running=draw(st.lists(st.tuples(places, st.integers(0, 2)), max_size=12)),
        nominated=draw(st.lists(st.tuples(places, st.integers(0, 2)), max_size=4)),
        wanted=draw(st.integers(0, 3)),
        skip=draw(st.booleans()),
        start=draw(st.integers(0, size - 1)),
        percentage=draw(st.sampled_from([0, 50, 100])),
    )


def decide(cluster: Cluster, *plugins: type[Plugin]) -> Decision:
    world = World(
        *plugins,
        nodes=[
            make_node(f"n{i}", cpu=cpu, labels={"noisy": "true"} if noisy else {})
            for i, (cpu, noisy) in enumerate(zip(cluster.cpus, cluster.noisy, strict=True))
        ],
        weights={"Room": 2, "Quiet": 3},
    )
    for number, (place, cpu) in enumerate(cluster.running):
        world.state.add_pod(make_pod(f"running-{number}", cpu=cpu, node=f"n{place}"))
    for number, (place, cpu) in enumerate(cluster.nominated):
        world.services.nominations.add(make_pod(f"nominated-{number}", cpu=cpu), f"n{place}")
    scheduling = NodeChooser(cluster.percentage)
    scheduling.start = cluster.start
    labels = {"skip": "true"} if cluster.skip else {}
    return scheduling.decide(world.profile, make_pod(cpu=cluster.wanted, labels=labels))


def outcome(decision: Decision) -> dict[str, Any]:
    scores = decision.scores
    return {
        "statuses": dict(decision.statuses.explicit()),
        "feasible": decision.feasible.names if decision.feasible else [],
        "looked at": decision.looked_at,
        "scores": {name: found.tolist() for name, found in scores.by_plugin.items()} if scores else None,
        "totals": scores.totals.tolist() if scores else None,
        "node": decision.node_name,
        "message": decision.failure.message if decision.failure else "",
    }


@settings(deadline=None)
@given(clusters())
def test_both_forms_decide_alike(cluster: Cluster) -> None:
    easy = outcome(decide(cluster, EasyRoom, EasyQuiet))
    assert outcome(decide(cluster, FastRoom, FastQuiet)) == easy
    assert outcome(decide(cluster, EasyRoom, FastQuiet)) == easy
    assert outcome(decide(cluster, FastRoom, EasyQuiet)) == easy
