"""NodeResourcesFit as a score: the three strategies."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.config.args import NodeResourcesFitArgs
from moorage.framework.cycle_state import CycleState
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.plugins.resource_scoring import on_line
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import MEBIBYTE, cluster, scored, views

GPU = "example.com/gpu"
RISING = [(0, 0), (100, 10)]
FALLING = [(0, 10), (70, 0)]

Shape = list[tuple[int, int]]
Weights = dict[str, int]


def strategy(kind: str, weights: Weights | None = None, shape: Shape | None = None) -> NodeResourcesFitArgs:
    document: dict[str, Any] = {
        "type": kind,
        "resources": [{"name": name, "weight": weight} for name, weight in (weights or {}).items()],
    }
    if shape is not None:
        points = [{"utilization": utilization, "score": score} for utilization, score in shape]
        document["requestedToCapacityRatio"] = {"shape": points}
    return msgspec.convert({"scoringStrategy": document}, NodeResourcesFitArgs)


def score_of(args: NodeResourcesFitArgs | None, pod: Pod, *others: Pod, **node: Any) -> int:
    given_node = make_node("n", **({"cpu": "4", "memory": "8Gi"} | node))
    return scored(NodeResourcesFit(args, cluster([given_node], others)), pod)["n"]


def other(**resources: Any) -> Pod:
    return make_pod("other", node="n", **resources)


USED = other(cpu="1", memory="2Gi")
WEIGHTS = {"cpu": 3, "memory": 1}


@pytest.mark.parametrize(
    ("args", "pod", "expected"),
    [
        (None, make_pod(cpu="500m", memory="1Gi"), 62),
        (strategy("LeastAllocated"), make_pod(cpu="500m", memory="1Gi"), 62),
        (strategy("LeastAllocated", WEIGHTS), make_pod(cpu="500m", memory="2Gi"), 59),
        (strategy("MostAllocated"), make_pod(cpu="500m", memory="1Gi"), 37),
        (strategy("MostAllocated", WEIGHTS), make_pod(cpu="500m", memory="2Gi"), 40),
        (strategy("RequestedToCapacityRatio", shape=RISING), make_pod(cpu="500m", memory="2Gi"), 44),
    ],
)
def test_check_values(args: NodeResourcesFitArgs | None, pod: Pod, expected: int) -> None:
    assert score_of(args, pod, USED) == expected


def test_ratio_leaves_out_a_resource_that_scores_nothing() -> None:
    pod = make_pod(cpu="1m", memory="4Gi")
    args = strategy("RequestedToCapacityRatio", shape=RISING)
    assert score_of(args, pod) == 50, "cpu is 0 percent used and must not halve the score"


def test_ratio_rounds_half_up() -> None:
    pod = make_pod(cpu="330m", memory="1")
    args = strategy("RequestedToCapacityRatio", shape=FALLING)
    assert score_of(args, pod, cpu="1", memory="8Gi") == 77, "(53 + 100) / 2 = 76.5"


def test_ratio_with_a_shape_that_is_nothing_everywhere() -> None:
    args = strategy("RequestedToCapacityRatio", shape=[(0, 0)])
    assert score_of(args, make_pod(cpu="1", memory="1Gi")) == 0


@pytest.mark.parametrize(
    ("points", "at", "expected"),
    [
        ([(0, 100), (70, 0)], 33, 53),
        ([(0, 0), (40, 80), (100, 100)], 55, 85),
        ([(0, 0), (40, 80), (100, 100)], 40, 80),
        ([(0, 0), (40, 80)], 90, 80),
        ([(20, 30), (40, 80)], 5, 30),
        ([(20, 30), (40, 80)], 20, 30),
        ([(50, 70)], 99, 70),
    ],
)
def test_on_line(points: list[tuple[int, int]], at: int, expected: int) -> None:
    assert on_line(points, at) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (strategy("LeastAllocated"), 0),
        (strategy("MostAllocated"), 100),
        (strategy("RequestedToCapacityRatio", shape=RISING), 100),
    ],
)
def test_an_overcommitted_node(args: NodeResourcesFitArgs, expected: int) -> None:
    assert score_of(args, make_pod(cpu="4", memory="8Gi"), USED) == expected


def test_a_pod_without_requests_counts_with_defaults() -> None:
    pod = make_pod(containers=[{"name": "a"}, {"name": "b"}])
    # 200m of 4000m and 400Mi of 8192Mi
    assert score_of(strategy("LeastAllocated", {"cpu": 1}), pod) == 95
    assert score_of(strategy("LeastAllocated", {"memory": 1}), pod) == 95


def test_existing_pods_count_with_defaults_for_cpu_and_memory_only() -> None:
    assert score_of(strategy("MostAllocated", {"cpu": 1}), make_pod(cpu="1"), other()) == 27
    storage = strategy("MostAllocated", {"ephemeral-storage": 1})
    pod = make_pod(requests={"ephemeral-storage": "1Gi"})
    assert score_of(storage, pod, other(), allocatable={"ephemeral-storage": "4Gi"}) == 25


def test_pod_level_requests_do_not_count() -> None:
    pod = make_pod(resources={"requests": {"cpu": "2"}})
    assert score_of(strategy("MostAllocated", {"cpu": 1}), pod) == 2, "100m of 4 cpus"


def test_a_scalar_resource_counts_only_if_asked_for() -> None:
    args = strategy("MostAllocated", {"cpu": 1, GPU: 3})
    node = {"allocatable": {GPU: 4}}
    assert score_of(args, make_pod(cpu="1"), **node) == 25
    assert score_of(args, make_pod(cpu="1", requests={GPU: 2}), other(requests={GPU: 1}), **node) == (
        (27 + 3 * 75) // 4
    )


def test_a_resource_the_node_lacks_does_not_count() -> None:
    args = strategy("LeastAllocated", {"cpu": 1, GPU: 3})
    nodes = [make_node("with", allocatable={GPU: 4}), make_node("without")]
    plugin = NodeResourcesFit(args, cluster(nodes))
    pod = make_pod(cpu="1", requests={GPU: 1})
    assert scored(plugin, pod) == {"with": 75, "without": 75}
    assert scored(plugin, make_pod(cpu="3", requests={GPU: 1})) == {"with": (25 + 3 * 75) // 4, "without": 25}


@pytest.mark.parametrize("name", ["pods", "no-slash", "nowhere.io/x"])
@pytest.mark.parametrize("kind", ["LeastAllocated", "MostAllocated"])
def test_a_resource_no_node_counts_scores_nothing(kind: str, name: str) -> None:
    args = strategy(kind, {name: 1})
    assert score_of(args, make_pod(requests={name: 1})) == 0
    assert score_of(args, make_pod()) == 0


def test_without_pre_score_the_score_computes_on_the_spot() -> None:
    plugin = NodeResourcesFit(None, cluster([make_node("n", cpu="4", memory="8Gi")], [USED]))
    pod = make_pod(cpu="500m", memory="1Gi")
    assert plugin.score_nodes(CycleState(), pod, plugin.handle.nodes).tolist() == [62]


# The same rules, written once more node by node

NAMES = ("cpu", "memory", "ephemeral-storage", GPU)
DEFAULTS = {"cpu": 100, "memory": 200 * MEBIBYTE}


def offer(size: int) -> st.SearchStrategy[int]:
    return st.just(0) | st.integers(1, size)


sizes = {"cpu": 8000, "memory": 4096 * MEBIBYTE, "ephemeral-storage": 1000, GPU: 9}
offers = st.fixed_dictionaries({name: offer(size) for name, size in sizes.items()})
requests = st.fixed_dictionaries(
    {}, optional={name: st.integers(0, size // 2) for name, size in sizes.items()}
)
worlds = st.lists(st.tuples(offers, st.lists(requests, max_size=2)), min_size=1, max_size=6)
weights = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 100), min_size=1)
shapes = (
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=5)
    .map(dict)
    .map(lambda points: sorted(points.items()))
)


def quantities(amounts: dict[str, int]) -> dict[str, Any]:
    return {name: f"{amount}m" if name == "cpu" else amount for name, amount in amounts.items()}


def shape_score(shape: Shape, percentage: int) -> int:
    points = [(utilization, score * 10) for utilization, score in shape]
    for k, (utilization, score) in enumerate(points):
        if percentage <= utilization:
            if k == 0:
                return score
            left, low = points[k - 1]
            return low + math.trunc((score - low) * (percentage - left) / (utilization - left))
    return points[-1][1]


def reference(
    kind: str,
    weights: Weights,
    shape: Shape,
    allocatable: dict[str, int],
    pods: list[dict[str, int]],
    wanted: dict[str, int],
) -> int:
    total = weight_total = 0
    for name, weight in weights.items():
        default = DEFAULTS.get(name, 0)
        asked = wanted.get(name, default)
        alloc = allocatable[name]
        if (name == GPU and asked == 0) or alloc == 0:
            continue
        req = sum(pod.get(name, default) for pod in pods) + asked
        if kind == "LeastAllocated":
            score = 0 if req > alloc else (alloc - req) * 100 // alloc
        elif kind == "MostAllocated":
            score = min(req, alloc) * 100 // alloc
        else:
            score = shape_score(shape, 100 if req > alloc else req * 100 // alloc)
            if score <= 0:
                continue
        total += score * weight
        weight_total += weight
    if weight_total == 0:
        return 0
    if kind == "RequestedToCapacityRatio":
        quotient = float(total) / float(weight_total)
        whole = math.floor(quotient)
        return whole + 1 if quotient - whole >= 0.5 else whole
    return total // weight_total


@settings(max_examples=80)
@given(
    kind=st.sampled_from(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]),
    weights=weights,
    shape=shapes,
    world=worlds,
    wanted=requests,
)
def test_fast_form_is_the_rule_node_by_node(
    kind: str,
    weights: Weights,
    shape: Shape,
    world: list[tuple[dict[str, int], list[dict[str, int]]]],
    wanted: dict[str, int],
) -> None:
    nodes = [make_node(f"n{i}", allocatable=quantities(offer)) for i, (offer, _) in enumerate(world)]
    pods = [
        make_pod(f"p{i}-{j}", node=f"n{i}", requests=quantities(asked))
        for i, (_, here) in enumerate(world)
        for j, asked in enumerate(here)
    ]
    args = strategy(kind, weights, shape if kind == "RequestedToCapacityRatio" else None)
    plugin = NodeResourcesFit(args, cluster(nodes, pods))
    for view in views(plugin.handle):
        for name, score in scored(plugin, make_pod(requests=quantities(wanted)), view).items():
            assert score == reference(kind, weights, shape, *world[int(name[1:])], wanted)
