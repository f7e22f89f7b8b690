from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.scheduler.search import Found, how_many_to_find, rows_of, search
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod
from tests.framework.scripted import POD, Filters, World, plugin


@pytest.mark.parametrize(
    ("nodes", "percentage", "enough"),
    [
        (0, 0, 0),
        (1, 0, 1),
        (99, 0, 99),
        (99, 5, 99),
        (100, 0, 100),
        (250, 0, 120),
        (1000, 0, 420),
        (5000, 0, 500),
        (6000, 0, 300),
        (100_000, 0, 5000),
        (1000, 30, 300),
        (1000, 1, 100),
        (1000, 100, 1000),
        (150, 70, 105),
        (101, 99, 100),
    ],
)
def test_how_many_nodes_are_enough(nodes: int, percentage: int, enough: int) -> None:
    assert how_many_to_find(nodes, percentage) == enough


@pytest.mark.parametrize(("nodes", "enough"), [(0, 0), (1, 1), (50, 1), (5000, 1)])
def test_one_node_is_enough_if_nothing_scores(nodes: int, enough: int) -> None:
    assert how_many_to_find(nodes, 0, scores=False) == enough
    assert how_many_to_find(nodes, 100, scores=False) == enough


NO = Status.unschedulable("no")


def searched(world: World, *, names: set[str] | None = None, start: int = 0, limit: int = 100) -> Found:
    statuses = NodeStatuses(world.state.table)
    return search(
        world.profile,
        world.profile.plans.general,
        CycleState(),
        POD,
        statuses,
        names=names,
        start=start,
        limit=limit,
    )


def rejecting(*names: str) -> Any:
    return lambda cycle, pod, node: NO if node.name in names else None


@pytest.mark.parametrize(
    ("start", "limit", "rejected", "found", "looked_at"),
    [
        (0, 9, (), "n0 n1 n2 n3 n4", 5),
        (0, 2, (), "n0 n1", 2),
        (3, 2, (), "n3 n4", 2),
        (3, 4, (), "n3 n4 n0 n1", 4),
        (4, 9, (), "n4 n0 n1 n2 n3", 5),
        (0, 2, ("n0",), "n1 n2", 3),
        (0, 2, ("n1",), "n0 n2", 3),
        (2, 2, ("n2", "n3"), "n4 n0", 4),
        (2, 4, ("n2", "n3"), "n4 n0 n1", 5),
        (1, 1, ("n1", "n2", "n3", "n4"), "n0", 5),
        (1, 1, ("n0", "n1", "n2", "n3", "n4"), "", 5),
        (0, 0, (), "", 0),
    ],
)
def test_the_search_goes_round_from_its_start_until_enough_are_found(
    start: int, limit: int, rejected: tuple[str, ...], found: str, looked_at: int
) -> None:
    result = searched(World(plugin(Filters, "A", rejecting(*rejected)), nodes=5), start=start, limit=limit)
    assert (result.nodes.names, result.looked_at, result.error) == (found.split(), looked_at, None)


def test_without_filters_the_first_nodes_from_the_start_are_taken() -> None:
    result = searched(World(nodes=5), start=3, limit=3)
    assert (result.nodes.names, result.looked_at) == (["n3", "n4", "n0"], 3)


@pytest.mark.parametrize(
    ("names", "start", "limit", "found", "looked_at"),
    [
        ({"n1", "n3"}, 0, 9, ["n1", "n3"], 2),
        ({"n1", "n3"}, 1, 9, ["n3", "n1"], 2),
        ({"n1", "n3"}, 4, 1, ["n1"], 1),
        ({"n3", "elsewhere"}, 0, 9, ["n3"], 1),
        ({"elsewhere"}, 3, 9, [], 0),
    ],
)
def test_a_narrowed_search_looks_at_the_named_nodes_that_exist(
    names: set[str], start: int, limit: int, found: list[str], looked_at: int
) -> None:
    asked = plugin(Filters, "A")
    world = World(asked, nodes=5)
    result = searched(world, names=names, start=start, limit=limit)
    assert (result.nodes.names, result.looked_at) == (found, looked_at)
    assert set(asked.calls) <= names
    assert rows_of(world.profile, names).tolist() == sorted(
        int(name[1:]) for name in names if name[1] in "13"
    )


@pytest.mark.parametrize("start", [0, 500, 899, 950, 990, 999])
def test_a_search_that_finds_enough_early_asks_about_few_nodes(start: int) -> None:
    asked = plugin(Filters, "A")
    result = searched(World(asked, nodes=1000), start=start, limit=100)
    assert result.looked_at == 100
    assert len(asked.calls) <= 100 + 100 // 4 + 16


def test_an_error_ends_the_search() -> None:
    def answer(cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.error("broken") if node.name == "n2" else None

    result = searched(World(plugin(Filters, "A", answer), nodes=5))
    assert result.error == Status.error('running "A" filter plugin: broken').by("A")
    assert len(result.nodes) == 0


class Room(FilterPlugin):
    """Rejects by name and lets two pods on a node."""

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        label = nodes.label("closed")
        closed = np.array([value is not None for value in label.values])[label.codes]
        codes = np.where(closed, 1, np.where(nodes.pod_count >= 2, 2, 0))
        return Verdicts(codes, (None, Status.unresolvable("closed"), Status.unschedulable("full")))


@dataclass
class Case:
    closed: list[bool]
    pods: list[int]
    nominated: list[tuple[int, int]]
    narrowed: set[int] | None
    start: int
    limit: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    size = draw(st.integers(1, 60))
    places = st.integers(0, size - 1)
    return Case(
        closed=draw(st.lists(st.booleans(), min_size=size, max_size=size)),
        pods=draw(st.lists(places, max_size=2 * size)),
        nominated=draw(st.lists(st.tuples(places, st.integers(4, 6)), max_size=5)),
        narrowed=draw(st.none() | st.sets(places)),
        start=draw(st.integers(0, size - 1)),
        limit=draw(st.integers(1, size + 1)),
    )


def slow_search(case: Case, me: Pod) -> tuple[list[str], int, dict[str, str]]:
    """Node by node: who is found, how many are looked at, and why the others were rejected."""
    size = len(case.closed)
    order = list(range(size)) if case.narrowed is None else sorted(case.narrowed)
    found: list[str] = []
    rejected: dict[str, str] = {}
    looked_at = 0
    while looked_at < len(order) and len(found) < case.limit:
        node = order[(case.start + looked_at) % len(order)]
        looked_at += 1
        rivals = sum(1 for place, priority in case.nominated if place == node and priority >= me.priority)
        reason = ""
        if case.closed[node]:
            reason = "closed"
        elif case.pods.count(node) + rivals >= 2:
            reason = "full"
        if reason:
            rejected[f"n{node}"] = reason
        else:
            found.append(f"n{node}")
    return found, looked_at, rejected


@settings(deadline=None)
@given(cases())
def test_the_search_finds_what_a_slow_one_finds_node_by_node(case: Case) -> None:
    world = World(
        Room,
        nodes=[
            make_node(f"n{i}", labels={"closed": ""} if closed else {})
            for i, closed in enumerate(case.closed)
        ],
    )
    for number, place in enumerate(case.pods):
        world.state.add_pod(make_pod(f"running-{number}", node=f"n{place}"))
    for number, (place, priority) in enumerate(case.nominated):
        world.services.nominations.add(make_pod(f"rival-{number}", priority=priority), f"n{place}")
    me = make_pod("me", priority=5)
    statuses = NodeStatuses(world.state.table)
    names = None if case.narrowed is None else {f"n{place}" for place in case.narrowed}
    result = search(
        world.profile,
        world.profile.plans.general,
        CycleState(),
        me,
        statuses,
        names=names,
        start=case.start,
        limit=case.limit,
    )
    found, looked_at, rejected = slow_search(case, me)
    assert (result.nodes.names, result.looked_at, result.error) == (found, looked_at, None)
    assert {name: statuses.get(name).message for name in rejected} == rejected
