"""Which nodes to add: by hand, and against all numbers of nodes and all ways to place the pods."""

from __future__ import annotations

from itertools import product

from hypothesis import given as cases
from hypothesis import settings
from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.pods import Pod, on_node
from moorage.testing import make_node, make_pod
from moorage.what_if.capacity.adding import Adding, Addition
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.node_types import NodeType, like_existing, with_daemons
from moorage.what_if.capacity.world import Given, World
from moorage.what_if.scenario import Scenario
from moorage.what_if.simulation import Simulation
from tests import fake_time
from tests.what_if.capacity.clusters import ZONE, given, nodes, pod, running, shapes

SMALL = NodeType("small", make_node("small", cpu=2, labels={ZONE: "a"}), 1.0)
LARGE = NodeType("large", make_node("large", cpu=5, labels={ZONE: "b"}), 2.0)


def added(cluster: Given, pods: list[Pod], *types: NodeType, seconds: float | None = None) -> Addition:
    with World(cluster) as world:
        known = [with_daemons(world, each) for each in types]
        return Adding(world, known, Effort(seconds)).search(pods)


def waiting(number: int, cpu: int | str = 1) -> list[Pod]:
    return [make_pod(f"p{each}", cpu=cpu) for each in range(number)]


def test_nothing_is_added_where_there_is_room() -> None:
    found = added(given(make_node("a", cpu=4)), waiting(4), SMALL)
    assert (found.nodes, found.cost, found.is_least) == ({}, 0, True)
    assert found.placed == {f"default/p{each}": "a" for each in range(4)}


def test_the_cheapest_mixture() -> None:
    found = added(given(make_node("a", cpu=1)), waiting(8), SMALL, LARGE)
    assert (found.nodes, found.cost, found.at_least, found.is_least) == ({"small": 1, "large": 1}, 3, 3, True)
    assert len(found.placed) == 8


def test_a_cluster_without_nodes() -> None:
    found = added(given(), waiting(3), SMALL)
    assert found.nodes == {"small": 2}
    assert set(found.placed.values()) == {"small-new-1", "small-new-2"}


def test_a_pod_that_fits_nowhere_does_not_hold_up_the_others() -> None:
    found = added(given(), [*waiting(1), make_pod("huge", cpu=100)], SMALL, LARGE)
    assert (found.nodes, list(found.hopeless)) == ({"small": 1}, ["default/huge"])
    assert "Insufficient cpu" in found.hopeless["default/huge"]


def test_new_nodes_run_the_pods_of_daemon_sets() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    field = {"key": "metadata.name", "operator": "In", "values": ["a"]}
    pinned = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    daemon = make_pod(
        "d-1",
        cpu=1,
        node="a",
        metadata={"ownerReferences": [owner]},
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": pinned}},
    )
    cluster = given(make_node("a", cpu=1), daemon)
    assert added(cluster, waiting(2), SMALL).nodes == {"small": 2}
    (like,) = like_existing(given(make_node("x", cpu=2), make_node("y", cpu=2)).objects)
    assert like.name == "x"


def test_when_the_time_is_over_a_bound_is_told() -> None:
    found = added(given(), waiting(30), SMALL, LARGE, seconds=0)
    assert not found.is_least
    assert len(found.placed) == 30
    assert 12 <= found.at_least <= found.cost


def tried(cluster: Given, pods: list[Pod], types: list[NodeType]) -> tuple[float, float]:
    """The least cost with which there is a way to place all pods, and with which the scheduler does."""
    by_cost: dict[float, list[tuple[int, ...]]] = {}
    for counts in product(range(len(pods) + 1), repeat=len(types)):
        cost = sum(count * each.price for count, each in zip(counts, types, strict=True))
        by_cost.setdefault(cost, []).append(counts)
    least_possible = least = float("inf")
    for cost in sorted(by_cost):
        for counts in by_cost[cost]:
            new = [
                item for n, each in zip(counts, types, strict=True) for k in range(n) for item in each.made(k)
            ]
            everything = cluster._replace(objects=[*cluster.objects, *new])
            if least_possible == float("inf") and can_be_placed(everything, pods):
                least_possible = cost
            if least == float("inf") and scheduled(everything, pods):
                least = cost
        if least < float("inf"):
            break
    return least_possible, least


def can_be_placed(cluster: Given, pods: list[Pod]) -> bool:
    known: set[frozenset[tuple[str, str]]] = set()

    def try_all(where: frozenset[tuple[str, str]]) -> bool:
        placed = dict(where)
        if len(placed) == len(pods):
            return True
        if where in known:
            return False
        known.add(where)
        there = [on_node(each, placed[each.key]) for each in pods if each.key in placed]
        scenario = Scenario([*cluster.objects, *there], cluster.registry, cluster.config)
        return any(
            try_all(where | {(each.key, node)})
            for each in pods
            if each.key not in placed
            for node in scenario.evaluate(each).document()["feasible"]
        )

    return try_all(frozenset())


def scheduled(cluster: Given, pods: list[Pod]) -> bool:
    simulation = Simulation(cluster.config, cluster.registry)
    for item in cluster.objects:
        simulation.add(item)
    return not fake_time.run(simulation.run(pods)).pending


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Node], list[Pod], list[Pod], list[NodeType]]:
    there = draw(nodes(most=2))
    pods = [pod(f"p{number}", draw(shapes())) for number in range(draw(st.integers(1, 3)))]
    types = [
        NodeType(
            name,
            make_node(name, cpu=draw(st.integers(1, 3)), labels={ZONE: draw(st.sampled_from("abc"))}),
            float(draw(st.integers(1, 3))),
        )
        for name in ("s", "t")[: draw(st.integers(1, 2))]
    ]
    return there, draw(running(there, most=2)), pods, types


@settings(max_examples=25, deadline=None)
@cases(questions())
def test_the_cost_is_what_all_numbers_of_nodes_give(
    question: tuple[list[Node], list[Pod], list[Pod], list[NodeType]],
) -> None:
    there, on_them, pods, types = question
    cluster = given(*there, *on_them)
    found = added(cluster, pods, *types)
    left = [each for each in pods if each.key not in found.hopeless]
    assert found.is_least and found.is_reached
    assert (found.at_least, found.cost) == tried(cluster, left, types)
    assert set(found.placed) == {each.key for each in left}
