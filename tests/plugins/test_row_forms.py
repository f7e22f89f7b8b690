"""What in-tree plugins say about one row is what they say about many."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.config.args import UtilizationShapePoint
from moorage.framework.extension_points import FilterPlugin, ScorePlugin
from moorage.plugins.node_affinity import NodeAffinity
from moorage.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.plugins.resource_scoring import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    CountedResource,
    RequestedToCapacityRatio,
)
from moorage.plugins.taint_toleration import TaintToleration
from moorage.testing import make_node, make_pod
from tests.framework.scripted import World

PLUGINS = (
    NodeUnschedulable,
    TaintToleration,
    NodeAffinity,
    NodeResourcesFit,
    NodeResourcesBalancedAllocation,
)
NAMES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu")
TERMS = [
    {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
    {"matchExpressions": [{"key": "disk", "operator": "Gt", "values": ["3"]}]},
    {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}]},
    {"matchExpressions": [{"key": "disk", "operator": "Never"}]},
    {},
]
TOLERATIONS = [{"key": "a", "operator": "Exists"}, {"key": "b", "effect": "NoSchedule", "value": "c"}]

amounts = st.sampled_from(["0", "1", "3", "7", "100", "123456789"])
resources = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, amounts))
nodes: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    allocatable=resources,
    cpu=amounts,
    memory=amounts,
    pods=st.integers(0, 2),
    labels=st.sampled_from([{}, {"disk": "ssd"}, {"disk": "5"}, {"disk": "x"}]),
    taints=st.sampled_from([(), ("a=b:NoSchedule",), ("b=c:PreferNoSchedule", "a=b:NoSchedule")]),
    unschedulable=st.booleans(),
)
pods: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    requests=resources,
    tolerations=st.lists(st.sampled_from(TOLERATIONS), max_size=2),
    nodeSelector=st.sampled_from([None, {}, {"disk": "ssd"}]),
    affinity=st.builds(
        lambda required, preferred: {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": required},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": weight, "preference": TERMS[term]} for weight, term in preferred
                ],
            }
        },
        st.lists(st.sampled_from(TERMS), min_size=1, max_size=2),
        st.lists(st.tuples(st.integers(1, 100), st.integers(0, 2)), max_size=3),
    ),
)


@settings(max_examples=150)
@given(cluster=st.lists(nodes, min_size=1, max_size=4), placed=st.lists(resources, max_size=4), incoming=pods)
def test_rows(cluster: list[dict[str, Any]], placed: list[dict[str, str]], incoming: dict[str, Any]) -> None:
    world = World(*PLUGINS, nodes=[make_node(f"n{number}", **node) for number, node in enumerate(cluster)])
    for number, requests in enumerate(placed):
        world.state.add_pod(make_pod(f"p{number}", node=f"n{number % len(cluster)}", requests=requests))
    pod = make_pod("incoming", **incoming)
    for plugin in world.profile.plugins.values():
        if isinstance(plugin, FilterPlugin):
            kept = plugin.kept_verdicts(pod)
            assert kept is not None
            many = kept.rejected(world.nodes)
            found = [False] * len(cluster) if many is None else many.tolist()
            assert found == [kept.rejects(row) for row in range(len(cluster))]
        if isinstance(plugin, ScorePlugin):
            scores = plugin.row_scores(pod)
            assert scores is not None
            assert scores.of_rows(world.nodes).tolist() == [scores.of_row(row) for row in range(len(cluster))]


SHAPE = [UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=70, score=0)]


@settings(max_examples=100)
@given(
    cluster=st.lists(nodes, min_size=1, max_size=4),
    placed=st.lists(resources, max_size=4),
    wanted=st.lists(st.builds(CountedResource, st.sampled_from(NAMES), st.integers(1, 5), st.integers(0, 9))),
)
def test_strategies(
    cluster: list[dict[str, Any]], placed: list[dict[str, str]], wanted: list[CountedResource]
) -> None:
    world = World(nodes=[make_node(f"n{number}", **node) for number, node in enumerate(cluster)])
    for number, requests in enumerate(placed):
        world.state.add_pod(make_pod(f"p{number}", node=f"n{number % len(cluster)}", requests=requests))
    for strategy in (LEAST_ALLOCATED, MOST_ALLOCATED, RequestedToCapacityRatio(SHAPE)):
        one_by_one = [strategy.of_row(world.state.table, row, wanted) for row in range(len(cluster))]
        assert strategy(world.nodes, wanted).tolist() == one_by_one
