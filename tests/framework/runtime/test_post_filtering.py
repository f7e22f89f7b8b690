from __future__ import annotations

from typing import Any

import pytest

from moorage.framework.cycle_state import CycleState
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.post_filtering import post_filter
from moorage.framework.status import Code, Nomination, Status
from tests.framework.scripted import POD, PostFilters, World, plugin

NO = Status.unschedulable("no")


def unschedulable(*reasons: str) -> Status:
    return Status.unschedulable(*reasons)


@pytest.mark.parametrize(
    ("answers", "status", "nominated", "asked"),
    [
        # Success stops, with its nomination
        ([Nomination("n1"), NO], Status.success().by("A"), "n1", 1),
        ([NO, Nomination("n1")], Status.success().by("B"), "n1", 2),
        ([Nomination("")], Status.success().by("A"), "", 1),
        ([Status.success(), NO], Status.success().by("A"), None, 1),
        # Unresolvable stops, with its nomination and message
        ([Status.unresolvable("never"), NO], Status.unresolvable("never").by("A"), None, 1),
        ([Nomination("", Status.unresolvable("never"))], Status.unresolvable("never").by("A"), "", 1),
        # Unschedulable and Pending go on; reasons add up, and the last nomination is remembered
        ([NO], unschedulable("no"), None, 1),
        ([NO, Status.pending("later")], unschedulable("no", "later"), None, 2),
        ([Nomination("n1", NO), NO], unschedulable("no", "no"), "n1", 2),
        ([Nomination("n1", NO), Nomination("n2", NO)], unschedulable("no", "no"), "n2", 2),
        ([Nomination("n1", NO), Nomination("", NO)], unschedulable("no", "no"), "", 2),
        ([Status.unschedulable()], unschedulable(), None, 1),
        # Everything else stops; the nomination stays as it is
        ([Status.error("broken"), NO], Status.error("broken").by("A"), None, 1),
        ([Nomination("n1", NO), Status.error("broken")], Status.error("broken").by("B"), None, 2),
        ([Nomination("n1", Status.error("broken"))], Status.error("broken").by("A"), None, 1),
        ([Status.skip("skipped")], Status.error("skipped").by("A"), None, 1),
        ([Status(Code.WAIT, "wait")], Status.error("wait").by("A"), None, 1),
        ([ValueError("broken")], Status.error("ValueError: broken").by("A"), None, 1),
        (
            [None],
            Status.error("post_filter returned NoneType, use a Nomination or a Status").by("A"),
            None,
            1,
        ),
        (["n1"], Status.error("post_filter returned str, use a Nomination or a Status").by("A"), None, 1),
    ],
)
def test_post_filter(answers: list[Any], status: Status, nominated: str | None, asked: int) -> None:
    plugins = [plugin(PostFilters, name, answer) for name, answer in zip("AB", answers, strict=False)]
    world = World(*plugins)
    statuses = NodeStatuses(world.state.table)
    assert post_filter(world.profile, CycleState(), POD, statuses) == (status, nominated)
    assert sum(len(each.calls) for each in plugins) == asked


def test_the_statuses_of_the_nodes_can_be_read() -> None:
    def answer(cycle: CycleState, pod: Any, statuses: NodeStatuses) -> Nomination:
        assert statuses.get("n0").code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
        return Nomination(" ".join(statuses.nodes_with(Code.UNSCHEDULABLE)))

    world = World(plugin(PostFilters, "A", answer))
    statuses = NodeStatuses(world.state.table)
    statuses.set_row(1, NO)
    assert post_filter(world.profile, CycleState(), POD, statuses).nominated_node == "n1"
