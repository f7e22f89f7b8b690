from __future__ import annotations

import numpy as np

from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Code, Status
from tests.framework.scripted import World

NO = Status.unschedulable("no").by("A")
NEVER = Status.unresolvable("never").by("B")
LATER = Status.pending("later").by("C")


def statuses_of(world: World, absent: Status | None = None, **by_node: Status) -> NodeStatuses:
    statuses = NodeStatuses(world.state.table, absent)
    for name, status in by_node.items():
        statuses.set_row(world.node(name).row, status)
    return statuses


def test_a_node_without_a_status_has_the_implicit_one() -> None:
    world = World()
    silent = statuses_of(world, n1=NO)
    assert [silent.get(name) for name in ("n0", "n1", "elsewhere")] == [
        Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
        NO,
        Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
    ]
    assert statuses_of(world, NEVER).get("n0") == NEVER


def test_the_number_of_nodes_with_a_status_of_their_own() -> None:
    world = World()
    assert len(statuses_of(world)) == 0
    assert len(statuses_of(world, n0=NO, n2=NO)) == 2
    assert dict(statuses_of(world, n0=NO, n2=NEVER).explicit()) == {"n0": NO, "n2": NEVER}


def test_many_nodes_share_a_status() -> None:
    statuses = statuses_of(World())
    statuses.set_rows(np.array([0, 2]), statuses.add_status(NO))
    assert [name for name, _ in statuses.explicit()] == ["n0", "n2"]


def test_the_later_status_of_a_node_counts() -> None:
    statuses = statuses_of(World(), n0=NO)
    statuses.set_row(0, NEVER)
    assert statuses.get("n0") == NEVER
    assert statuses.reasons() == {"never": 1}
    assert statuses.plugins() == ({"B"}, set())


def test_nodes_are_found_by_code_the_implicit_one_included() -> None:
    statuses = statuses_of(World(), n1=NO)
    assert statuses.nodes_with(Code.UNSCHEDULABLE) == ["n1"]
    assert statuses.nodes_with(Code.UNSCHEDULABLE_AND_UNRESOLVABLE) == ["n0", "n2"]
    assert statuses.nodes_with(Code.PENDING) == []
    everywhere = statuses_of(World(), Status.unschedulable("no"))
    assert everywhere.nodes_with(Code.UNSCHEDULABLE) == ["n0", "n1", "n2"]


def test_reasons_count_every_reason_of_every_node() -> None:
    both = Status.unschedulable("no", "never")
    statuses = statuses_of(World(nodes=4), Status.unresolvable("outside"), n0=both, n1=NO)
    assert statuses.reasons() == {"no": 2, "never": 1, "outside": 2}
    assert statuses_of(World(), n0=NO).reasons() == {"no": 1}


def test_the_plugins_that_rejected_and_those_that_are_pending() -> None:
    assert statuses_of(World(), n0=NO, n1=LATER, n2=Status.unschedulable("x")).plugins() == (
        {"A", "C"},
        {"C"},
    )


def test_the_first_error() -> None:
    broken = Status.error("broken")
    assert statuses_of(World(), n0=NO, n1=LATER).first_error() is None
    assert statuses_of(World(), n0=NO, n1=broken).first_error() == broken
    statuses = statuses_of(World(), n1=broken)
    statuses.set_row(1, NO)
    assert statuses.first_error() is None
