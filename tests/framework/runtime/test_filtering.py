from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.diagnosis import outside_status
from moorage.framework.extension_points import FilterPlugin, Plugin, PreFilterPlugin
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.filtering import (
    add_pod,
    filter_nodes,
    filter_one,
    filter_with_rivals,
    pre_filter,
    remove_pod,
)
from moorage.framework.status import Code, Status
from moorage.framework.verdicts import Verdicts
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod
from tests.framework.scripted import (
    POD,
    FastFilters,
    Filters,
    PreFilters,
    PreFiltersAndFilters,
    World,
    plugin,
)

NO = Status.unschedulable("no")
NEVER = Status.unresolvable("never")
LATER = Status.pending("later")
BROKEN = ValueError("broken")


# PreFilter


def pre(*answers: Any) -> tuple[Any, CycleState, list[type[PreFilters]]]:
    """Runs PreFilter plugins A, B, ... with these answers."""
    plugins = [plugin(PreFilters, name, answer) for name, answer in zip("ABCD", answers, strict=False)]
    cycle = CycleState()
    profile = World(*plugins).profile
    return pre_filter(profile, profile.plans.general, cycle, POD), cycle, plugins


def error_of(name: str, text: str) -> Status:
    return Status.error(f'running PreFilter plugin "{name}": {text}').by(name)


@pytest.mark.parametrize(
    ("answers", "status", "names", "narrowed_by", "asked"),
    [
        # Success and sets
        ([], None, None, (), 0),
        ([None, None], None, None, (), 2),
        ([Status.success(), None], None, None, (), 2),
        ([{"n0", "n1"}, None], None, {"n0", "n1"}, ("A",), 2),
        ([{"n0", "n1"}, frozenset({"n1", "n2"})], None, {"n1"}, ("A", "B"), 2),
        ([None, {"n0", "elsewhere"}], None, {"n0", "elsewhere"}, ("B",), 2),
        # The intersection is empty
        ([set(), None], Status.unresolvable("node(s) didn't satisfy plugin A"), set(), ("A",), 1),
        (
            [None, {"n0"}, {"n1"}, None],
            Status.unresolvable("node(s) didn't satisfy plugin(s) [B C] simultaneously"),
            set(),
            ("B", "C"),
            3,
        ),
        # Unschedulable: the others still run, and the last one is the result
        ([NO, None], NO.by("A"), None, (), 2),
        ([NO, Status.unschedulable("me too"), None], Status.unschedulable("me too").by("B"), None, (), 3),
        ([NO, {"n0"}], NO.by("A"), {"n0"}, ("B",), 2),
        ([NO, set()], Status.unresolvable("node(s) didn't satisfy plugin B"), set(), ("B",), 2),
        # Unresolvable: stops at once
        ([NEVER, None], NEVER.by("A"), None, (), 1),
        ([NO, NEVER, None], NEVER.by("B"), None, (), 2),
        # Everything else is an error
        ([Status.error("broken"), None], error_of("A", "broken"), None, (), 1),
        ([NO, Status.error("broken")], error_of("B", "broken"), None, (), 2),
        ([LATER, None], error_of("A", "later"), None, (), 1),
        ([Status(Code.WAIT, "wait")], error_of("A", "wait"), None, (), 1),
        ([BROKEN, None], error_of("A", "ValueError: broken"), None, (), 1),
        ([KeyError()], error_of("A", "KeyError"), None, (), 1),
        (
            ["n0"],
            error_of("A", "pre_filter returned str 'n0', use None, a set of node names or a Status"),
            None,
            (),
            1,
        ),
        (
            [["n0"]],
            error_of("A", "pre_filter returned list ['n0'], use None, a set of node names or a Status"),
            None,
            (),
            1,
        ),
        (
            [False],
            error_of("A", "pre_filter returned bool False, use None, a set of node names or a Status"),
            None,
            (),
            1,
        ),
    ],
)
def test_pre_filter(
    answers: list[Any],
    status: Status | None,
    names: set[str] | None,
    narrowed_by: tuple[str, ...],
    asked: int,
) -> None:
    result, _, plugins = pre(*answers)
    assert result == (status, names, narrowed_by)
    assert sum(len(each.calls) for each in plugins) == asked


@pytest.mark.parametrize(
    ("answers", "rejecting"),
    [
        ([NEVER], {"A"}),
        ([{"n0"}, NEVER], {"B"}),
        ([{"n0"}, NO, None], {"A", "B"}),
        ([NO, Status.unschedulable("me too")], {"B"}),
        ([{"n0"}, None, {"n1"}], {"A", "C"}),
        ([NO, {"n0"}, {"n1"}], {"B", "C"}),
    ],
)
def test_the_plugins_to_hold_responsible(answers: list[Any], rejecting: set[str]) -> None:
    assert pre(*answers)[0].rejecting_plugins == rejecting


def test_skip_switches_the_filter_and_add_pod_off() -> None:
    asked: list[str] = []

    class Skips(PreFiltersAndFilters):
        calls = asked

        def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
            asked.append("add_pod")

        def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
            asked.append("remove_pod")

    Skips.script.answer = Status.skip()
    world, cycle = World(Skips), CycleState()
    assert pre_filter(world.profile, world.profile.plans.general, cycle, make_pod("p")) == (None, None, ())
    assert cycle.skip_filter == {"Skips"}
    for each in (cycle, cycle.clone()):
        assert filter_one(world.profile, each, POD, world.node("n0")) is None
        assert add_pod(world.profile, each, POD, POD, world.node("n0")) is None
        assert remove_pod(world.profile, each, POD, POD, world.node("n0")) is None
    assert asked == ["p"]


def test_nodes_outside_the_set_are_told_who_left_them_out() -> None:
    assert outside_status(["B", "A"]) == Status.unresolvable("node(s) didn't satisfy plugin(s) [A B]")


# Filter


def filtered(world: World, pod: Pod = POD) -> tuple[list[str], dict[str, Status]]:
    """Which nodes passed, and the statuses of the others; all nodes at once and one by one agree."""
    cycle, nodes = CycleState(), world.nodes
    statuses = NodeStatuses(world.state.table)
    left = filter_nodes(world.profile, world.profile.plans.general, cycle, pod, nodes, statuses)
    passed = [name for i, name in enumerate(nodes.names) if left is None or left[i]]
    for name in nodes.names:
        alone = filter_one(world.profile, cycle, pod, world.node(name))
        assert alone == (None if name in passed else statuses.get(name))
    return passed, dict(statuses.explicit())


def at(**answers: Any) -> Any:
    """A filter's answers by node name; the others pass."""

    def answer(cycle: CycleState, pod: Pod, node: NodeInfo) -> Any:
        found = answers.get(node.name)
        if isinstance(found, Exception):
            raise found
        return found

    return answer


def fast(codes: Iterable[int], *statuses: Status | None) -> Any:
    """The answer of a filter in the fast form, for the nodes n0, n1, ... it is asked about."""

    def answer(cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        rows = [int(name[1:]) for name in nodes.names]
        return Verdicts(np.array(list(codes))[rows], (None, *statuses))

    return answer


def filter_error(text: str, name: str = "A") -> Status:
    return Status.error(f'running "{name}" filter plugin: {text}').by(name)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (None, None),
        (Status.success(), None),
        (NO, NO.by("A")),
        (NEVER, NEVER.by("A")),
        (LATER, LATER.by("A")),
        (Status.error("broken"), filter_error("broken")),
        (Status.skip("skipped"), filter_error("skipped")),
        (Status(Code.WAIT, "wait"), filter_error("wait")),
    ],
)
def test_the_answer_of_a_filter(answer: Status | None, status: Status | None) -> None:
    passed, statuses = filtered(World(plugin(Filters, "A", at(n1=answer))))
    assert statuses == ({} if status is None else {"n1": status})
    assert passed == [name for name in ("n0", "n1", "n2") if name not in statuses]


@pytest.mark.parametrize(
    ("base", "answer", "text"),
    [
        (Filters, BROKEN, "ValueError: broken"),
        (Filters, True, "filter returned bool True, use None or a Status"),
        (Filters, "no", "filter returned str 'no', use None or a Status"),
        (FastFilters, BROKEN, "ValueError: broken"),
        (FastFilters, None, "filter_nodes returned NoneType, use Verdicts"),
        (FastFilters, np.array([0, 1, 0]), "filter_nodes returned ndarray, use Verdicts"),
        (FastFilters, Verdicts(None, ()), None),
    ],
)
def test_a_filter_that_answers_wrongly_fails_every_node(
    base: type[Any], answer: Any, text: str | None
) -> None:
    passed, statuses = filtered(World(plugin(base, "A", answer)))
    if text is None:
        assert passed == ["n0", "n1", "n2"]
    else:
        assert statuses == dict.fromkeys(["n0", "n1", "n2"], filter_error(text))


@pytest.mark.parametrize(
    ("codes", "text"),
    [
        ([0, 1], "filter_nodes returned verdicts that are not one per node (3)"),
        ([[0, 1, 0]], "filter_nodes returned verdicts that are not one per node (3)"),
        ([0.0, 1.0, 0.0], "filter_nodes returned verdicts of float64, use whole numbers"),
        (["", "x", ""], "filter_nodes returned verdicts of <U1, use whole numbers"),
    ],
)
def test_verdicts_of_the_wrong_shape_or_type_fail_every_node(codes: list[Any], text: str) -> None:
    world = World(plugin(FastFilters, "A", Verdicts(np.array(codes), (None, NO))))
    statuses = NodeStatuses(world.state.table)
    filter_nodes(world.profile, world.profile.plans.general, CycleState(), POD, world.nodes, statuses)
    assert dict(statuses.explicit()) == dict.fromkeys(["n0", "n1", "n2"], filter_error(text))


@pytest.mark.parametrize(
    ("codes", "status"),
    [([0, 3, 0], NO), ([0, -1, 0], NO), ([0, 2, 0], None), ([0, 2, 0], Status.success())],
)
def test_a_verdict_that_stands_for_no_rejection_is_an_error(codes: list[int], status: Status | None) -> None:
    world = World(plugin(FastFilters, "A", fast(codes, NO, status)))
    statuses = NodeStatuses(world.state.table)
    filter_nodes(world.profile, world.profile.plans.general, CycleState(), POD, world.nodes, statuses)
    assert dict(statuses.explicit()) == {
        "n1": filter_error("filter_nodes returned a code that stands for no rejection")
    }


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int64])
def test_verdicts_may_be_of_any_whole_number_type(dtype: Any) -> None:
    def answer(cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts(np.array([name == "n1" for name in nodes.names], dtype=dtype), (None, NO))

    assert filtered(World(plugin(FastFilters, "A", answer)))[1] == {"n1": NO.by("A")}


@pytest.mark.parametrize("first", [at(n0=NO, n1=NEVER), None])
@pytest.mark.parametrize("first_is_fast", [False, True])
@pytest.mark.parametrize("second_is_fast", [False, True])
def test_the_first_rejection_in_plugin_order_counts(
    first: Any, first_is_fast: bool, second_is_fast: bool
) -> None:
    a = plugin(FastFilters, "A", fast([1, 2, 0], NO, NEVER)) if first_is_fast else plugin(Filters, "A", first)
    b: type[Plugin] = plugin(Filters, "B", at(n1=LATER, n2=LATER))
    if second_is_fast:
        b = plugin(FastFilters, "B", fast([0, 1, 1], LATER))
    passed, statuses = filtered(World(a, b))
    if first_is_fast or first is not None:
        assert (passed, statuses) == ([], {"n0": NO.by("A"), "n1": NEVER.by("A"), "n2": LATER.by("B")})
    else:
        assert (passed, statuses) == (["n0"], {"n1": LATER.by("B"), "n2": LATER.by("B")})


def test_easy_filters_are_asked_only_about_the_nodes_that_are_left() -> None:
    plugins = [
        plugin(FastFilters, "A", fast([1, 0, 0, 0], NO)),
        plugin(Filters, "B", at(n2=NO)),
        plugin(FastFilters, "C", fast([1, 0, 0, 1], NO)),
        plugin(Filters, "D", at(n1=NO)),
        plugin(Filters, "E"),
        plugin(FastFilters, "F"),
    ]
    world = World(*plugins, nodes=4)
    statuses = NodeStatuses(world.state.table)
    left = filter_nodes(world.profile, world.profile.plans.general, CycleState(), POD, world.nodes, statuses)
    assert left is not None
    assert not left.any()
    everything = ["n0", "n1", "n2", "n3"]
    assert [each.calls for each in plugins] == [
        [everything],
        ["n1", "n2", "n3"],
        [everything],
        ["n1"],
        [],
        [],
    ]
    assert {name: status.plugin for name, status in statuses.explicit()} == {
        "n0": "A",
        "n1": "D",
        "n2": "B",
        "n3": "C",
    }


def test_an_error_of_an_easy_filter_concerns_only_the_nodes_that_are_left() -> None:
    world = World(plugin(Filters, "A", at(n0=NO)), plugin(Filters, "B", BROKEN))
    assert filtered(world)[1] == {
        "n0": NO.by("A"),
        "n1": filter_error("ValueError: broken", "B"),
        "n2": filter_error("ValueError: broken", "B"),
    }


def test_without_filters_all_nodes_pass() -> None:
    assert filtered(World()) == (["n0", "n1", "n2"], {})


def test_a_node_that_cannot_be_read_is_rejected_before_any_filter() -> None:
    nodes: list[Node] = [make_node("n0"), make_node("n1", allocatable={"cpu": "many"})]
    asks = plugin(Filters, "A")
    passed, statuses = filtered(World(asks, nodes=nodes))
    assert passed == ["n0"]
    assert statuses["n1"].code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert statuses["n1"].message.startswith("node(s) had an invalid allocatable: ")
    assert "n1" not in asks.calls


def test_filters_are_asked_about_a_part_of_the_nodes() -> None:
    world = World(plugin(Filters, "A", at(n1=NO, n3=NO)), nodes=5)
    for rows in (slice(1, 4), np.array([3, 2, 1])):
        nodes = Nodes(world.state.table, rows)
        statuses = NodeStatuses(world.state.table)
        left = filter_nodes(world.profile, world.profile.plans.general, CycleState(), POD, nodes, statuses)
        assert left is not None
        assert left.tolist() == [False, True, False]
        assert {name for name, _ in statuses.explicit()} == {"n1", "n3"}


# Nominated pods


class Room(PreFilterPlugin, FilterPlugin):
    """One pod per node, counted in state of its own that add_pod and remove_pod change."""

    seen: list[tuple[int, int]]

    class Count:
        def __init__(self, added: int = 0) -> None:
            self.added = added

        def clone(self) -> Room.Count:
            return Room.Count(self.added)

    def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
        self.seen = []
        cycle.write("Room", self.Count())

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        if other.name == "broken":
            return Status.unschedulable("cannot count")
        if other.name == "raises":
            raise BROKEN
        cycle.read("Room").added += 1
        return None

    def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
        if other.name == "broken":
            return Status.error("cannot count")
        cycle.read("Room").added -= 1
        return Status.success()

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        self.seen.append((cycle.read("Room").added, len(node.pods)))
        return Status.unschedulable("node is full") if node.pods else None


def rivals_of(
    pod: Pod, *rivals: Pod, plugins: Iterable[type[Plugin]] = ()
) -> tuple[Status | None, list[tuple[int, int]]]:
    """Asks about a node to which `rivals` are nominated; what the filter said and what it saw."""
    world = World(*plugins, Room)
    cycle = CycleState()
    pre_filter(world.profile, world.profile.plans.general, cycle, pod)
    for rival in rivals:
        world.services.nominations.add(rival, "n0")
    status = filter_with_rivals(world.profile, cycle, pod, world.node("n0"))
    room = world.profile.plugins["Room"]
    assert isinstance(room, Room)
    assert cycle.read("Room").added == 0
    assert len(world.node("n0").pods) == 0
    assert world.nodes.pod_count.tolist() == [0, 0, 0]
    return status, room.seen


FULL = Status.unschedulable("node is full").by("Room")
ME = make_pod("me", priority=5)


@pytest.mark.parametrize(
    ("rivals", "status", "seen"),
    [
        ([], None, [(0, 0)]),
        ([make_pod("equal", priority=5)], FULL, [(1, 1)]),
        ([make_pod("higher", priority=9)], FULL, [(1, 1)]),
        ([make_pod("higher", priority=9), make_pod("equal", priority=5)], FULL, [(2, 2)]),
        ([make_pod("lower", priority=4)], None, [(0, 0)]),
        ([make_pod("lower", priority=4), make_pod("higher", priority=9)], FULL, [(1, 1)]),
        ([ME], None, [(0, 0)]),
        (
            [make_pod("broken", priority=9)],
            Status.error('running AddPod on PreFilter plugin "Room": cannot count').by("Room"),
            [],
        ),
        (
            [make_pod("raises", priority=9)],
            Status.error('running AddPod on PreFilter plugin "Room": ValueError: broken').by("Room"),
            [],
        ),
    ],
)
def test_a_pod_must_fit_beside_the_pods_nominated_to_the_node(
    rivals: list[Pod], status: Status | None, seen: list[tuple[int, int]]
) -> None:
    assert rivals_of(ME, *rivals) == (status, seen)


def test_a_pod_that_fits_beside_the_nominated_ones_must_fit_without_them_too() -> None:
    class Lonely(FilterPlugin):
        """Wants company."""

        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return None if node.pods else Status.unschedulable("nobody is here")

    world = World(Lonely)
    world.services.nominations.add(make_pod("rival", priority=9), "n0")
    status = filter_with_rivals(world.profile, CycleState(), ME, world.node("n0"))
    assert status == Status.unschedulable("nobody is here").by("Lonely")


def test_remove_pod_failures_are_errors() -> None:
    world, cycle = World(Room), CycleState()
    pre_filter(world.profile, world.profile.plans.general, cycle, ME)
    node = world.node("n0")
    assert remove_pod(world.profile, cycle, ME, make_pod("other"), node) is None
    assert cycle.read("Room").added == -1
    assert remove_pod(world.profile, cycle, ME, make_pod("broken"), node) == Status.error(
        'running RemovePod on PreFilter plugin "Room": cannot count'
    ).by("Room")


@pytest.mark.parametrize(
    ("answer", "text"), [(7, "add_pod returned int 7, use None or a Status"), (BROKEN, "ValueError: broken")]
)
def test_add_pod_stops_at_the_first_plugin_that_fails(answer: Any, text: str) -> None:
    asked: list[str] = []

    def adding(name: str, answer: Any) -> type[Plugin]:
        def add(self: Any, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Any:
            asked.append(name)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return plugin(PreFilters, name, add_pod=add)

    world = World(adding("A", None), adding("B", answer), adding("C", None))
    status = add_pod(world.profile, CycleState(), POD, POD, world.node("n0"))
    assert status == Status.error(f'running AddPod on PreFilter plugin "B": {text}').by("B")
    assert asked == ["A", "B"]
