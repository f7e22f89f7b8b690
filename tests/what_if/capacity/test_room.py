"""How many more of a pod fit: by hand, and against all ways to place them."""

from __future__ import annotations

from typing import Any

from hypothesis import given as cases
from hypothesis import settings
from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.testing import make_node, make_pod
from moorage.what_if.capacity.copies import copy_of
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.room import Room, room_for
from moorage.what_if.capacity.world import Given, World
from moorage.what_if.scenario import Scenario
from tests.what_if.capacity.clusters import ZONE, given, nodes, pod, running, shapes

SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "x"}},
}


def room(cluster: Given, wanted: Pod, most: int = 1000) -> Room:
    with World(cluster) as world:
        return room_for(world, wanted, most=most, effort=Effort())


def near(key: str, kind: str = "podAffinity") -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "x"}}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_nodes_are_filled_until_they_are_full() -> None:
    cluster = given(make_node("a", cpu=2), make_node("b", cpu=3), make_pod("r", cpu=1, node="a"))
    found = room(cluster, make_pod(cpu=1))
    assert (found.fits, found.where, found.at_most, found.is_exact) == (4, {"a": 1, "b": 3}, 4, True)


def test_a_better_packing_is_told() -> None:
    """All have to be near the first, which the scheduler puts on the emptier node of the smaller zone."""
    cluster = given(
        make_node("large", cpu=4, labels={ZONE: "a"}),
        make_node("other", cpu=4, labels={ZONE: "a"}),
        make_node("small", cpu=2, labels={ZONE: "b"}),
        make_pod("r", cpu=2, node="large"),
        make_pod("s", cpu=2, node="other"),
    )
    found = room(cluster, make_pod(cpu=1, labels={"app": "x"}, affinity=near(ZONE)))
    assert (found.fits, found.at_most, found.is_exact) == (2, 4, True)


def test_one_per_node_is_known_to_be_the_most() -> None:
    cluster = given(*(make_node(f"n{number}") for number in range(300)))
    wanted = make_pod(
        cpu="1m", labels={"app": "x"}, affinity=near("kubernetes.io/hostname", "podAntiAffinity")
    )
    found = room(cluster, wanted)
    assert (found.fits, found.at_most, found.is_exact) == (300, 300, True)


def test_a_spread_is_known_to_be_the_most() -> None:
    zones = [make_node(f"{zone}{number}", labels={ZONE: zone}) for zone in "ab" for number in range(100)]
    cluster = given(*zones, make_node("c", cpu=2, labels={ZONE: "c"}))
    wanted = make_pod(cpu=1, labels={"app": "x"}, topologySpreadConstraints=[SPREAD])
    found = room(cluster, wanted)
    assert (found.fits, found.at_most, found.is_exact) == (8, 8, True)


def test_a_limit() -> None:
    found = room(given(make_node(cpu=100)), make_pod(cpu=1), most=3)
    assert (found.fits, found.is_limited, found.at_most) == (3, True, 100)


def test_a_pod_that_fits_nowhere() -> None:
    found = room(given(make_node(cpu=1)), make_pod(cpu=2))
    assert (found.fits, found.at_most, found.is_exact) == (0, 0, True)


def test_nobody_is_preempted_and_who_waits_does_not_count() -> None:
    cluster = given(make_node(cpu=2), make_pod("r", cpu=1, node="node"), make_pod("waits", cpu=1))
    assert room(cluster, make_pod(cpu=1, priority=100)).fits == 1


def test_who_others_are_evicted_for_counts() -> None:
    nominated = make_pod("important", cpu=1, status={"nominatedNodeName": "node"})
    assert room(given(make_node(cpu=2), nominated), make_pod(cpu=1)).fits == 1


def tried(cluster: Given, wanted: Pod) -> int:
    """The most that can be placed: after each placement, every node that passes all filters is tried."""
    known: dict[tuple[str, ...], int] = {}

    def most(where: tuple[str, ...]) -> int:
        if where not in known:
            placed = [pod_on(copy_of(wanted, place), node) for place, node in enumerate(where)]
            scenario = Scenario([*cluster.objects, *placed], cluster.registry, cluster.config)
            fitting = scenario.evaluate(copy_of(wanted, len(where))).document()["feasible"]
            known[where] = max((1 + most(tuple(sorted((*where, node)))) for node in fitting), default=0)
        return known[where]

    return most(())


def pod_on(item: Pod, node: str) -> Pod:
    from moorage.api.pods import on_node

    return on_node(item, node)


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod]:
    if draw(st.booleans()):
        return draw(decided_by_the_first())
    there = draw(nodes())
    return there, draw(running(there)), pod("wanted", draw(shapes()))


@st.composite
def decided_by_the_first(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Pod]:
    """All have to be in one zone: the larger one is half full, so that the first may go to the other."""
    sizes = [draw(st.integers(2, 4)) for _ in "aab"]
    there = [
        make_node(f"n{place}", cpu=size, labels={ZONE: zone})
        for place, (zone, size) in enumerate(zip("aab", sizes, strict=True))
    ]
    on_them = [make_pod(f"r{place}", cpu=size / 2, node=f"n{place}") for place, size in enumerate(sizes[:2])]
    return there, on_them, make_pod("wanted", cpu="500m", labels={"app": "x"}, affinity=near(ZONE))


@settings(max_examples=40, deadline=None)
@cases(questions())
def test_the_most_is_what_all_ways_to_place_them_give(question: tuple[list[Node], list[Pod], Pod]) -> None:
    there, on_them, wanted = question
    cluster = given(*there, *on_them)
    found = room(cluster, wanted)
    assert found.is_exact
    assert found.at_most == tried(cluster, wanted)
    assert found.fits <= found.at_most
