"""The best of the nodes where preemption would help."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from moorage.api.pods import Pod
from moorage.framework.status import Code
from moorage.plugins.preemption.candidates import Candidate, best_candidates, start_time
from moorage.testing import make_node, make_pod
from tests.plugins.preemption.preemption_cases import at, decide, preemptor, scenario


def victim(name: str = "v", priority: int | None = 0, minute: int | None = 0) -> Pod:
    return make_pod(name, priority=priority, status=at(minute))


def best(**named: Iterable[Pod] | tuple[int, Iterable[Pod]]) -> str:
    found = []
    for name, what in named.items():
        violations, victims = what if isinstance(what, tuple) and isinstance(what[0], int) else (0, what)
        found.append(Candidate(name, tuple(victims), violations))
    return "".join(candidate.node_name for candidate in best_candidates(found))


def test_fewest_violations_before_all() -> None:
    assert best(a=(1, [victim()]), b=(0, [victim(priority=9), victim(priority=9)])) == "b"


def test_lowest_priority_of_the_most_important_victim() -> None:
    assert best(a=[victim(priority=5)], b=[victim(priority=4)] * 3) == "b"


def test_smallest_sum_of_priorities() -> None:
    assert best(a=[victim(priority=5), victim(priority=3)], b=[victim(priority=5), victim(priority=2)]) == "b"
    assert best(a=[victim(priority=5), victim(priority=-1)], b=[victim(priority=5)]) == "b", (
        "the offset counts"
    )


def test_fewest_victims() -> None:
    lowest = -(2**31)
    assert best(a=[victim(priority=0), victim(priority=lowest)], b=[victim(priority=0)]) == "b"


def test_latest_start_among_the_most_important_victims() -> None:
    assert best(a=[victim(minute=1)], b=[victim(minute=2)]) == "b"
    early_but_lesser = [victim(priority=5, minute=9), victim(priority=0, minute=0)]
    assert best(a=[victim(priority=5, minute=8), victim(priority=0, minute=9)], b=early_but_lesser) == "b"
    assert best(a=[victim(minute=59)], b=[victim(minute=None)]) == "b", "not started counts as now"
    assert best(a=[victim(minute=3), victim(minute=7)], b=[victim(minute=4), victim(minute=4)]) == "b"


def test_the_rest_are_all_the_same() -> None:
    assert best(a=[victim()], b=[victim()], c=[victim(priority=1)]) == "ab"
    assert best(a=[victim(priority=None)], b=[victim()]) == "ab"
    assert best(a=[victim()]) == "a"
    assert best() == ""


@pytest.mark.parametrize("text", [None, "yesterday", ""])
def test_a_start_that_cannot_be_read_counts_as_now(text: str | None) -> None:
    pod = make_pod("p")
    pod.status.start_time = text
    assert start_time(pod, 5.0) == 5.0


def test_start_times() -> None:
    pod = victim(minute=7)
    assert start_time(pod, 0) == datetime(2026, 1, 1, 0, 7, tzinfo=UTC).timestamp()


def test_the_best_node_is_nominated() -> None:
    world = scenario(
        make_node("a"),
        make_node("b"),
        make_pod("high", node="a", cpu="3", priority=5),
        make_pod("low", node="b", cpu="3", priority=1),
    )
    decision = decide(world, preemptor())
    assert decision.post_filtered is not None
    assert decision.post_filtered.status.code is Code.SUCCESS
    assert decision.post_filtered.nominated_node == "b"
