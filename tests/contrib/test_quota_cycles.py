"""Teams with quotas in a whole scheduler: borrowing, taking back, and what changes on the way."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.errors import Conflict
from moorage.contrib.capacity.quotas import Quotas
from moorage.contrib.objects import ElasticQuota
from moorage.testing import Cycles, Run, make_node, make_pod
from tests.contrib.quota_cases import AT_ITS_POINTS, EVERYWHERE, configuration, quota

FOUR = {"cpu": "4"}


def teams(*objects: Object, config: str = AT_ITS_POINTS, cpu: str = "8", raises: bool = True) -> Cycles:
    """A node with eight cpus, of which each of two teams has four for sure, and may use all."""
    quotas = [quota(team, FOUR, {"cpu": "8"}) for team in ("red", "blue")]
    given = [*quotas, *(each for each in objects if not isinstance(each, Pod))]
    pods = [each for each in objects if isinstance(each, Pod)]
    nodes = [make_node("n", cpu=cpu)]
    return Cycles([], nodes, objects=given, pods=pods, config=configuration(config), raises=raises)


def pod(name: str, team: str, cpu: str = "2", priority: int = 0, **more: Any) -> Pod:
    return make_pod(name, namespace=team, cpu=cpu, priority=priority, **more)


def used(cycles: Cycles, team: str) -> int:
    """How many cpus a team uses, as the plugin counts it."""
    quotas = cycles.plugins["CapacityScheduling"].handle.shared(Quotas)
    found = quotas.of(team)
    assert found is not None
    return found.used["cpu"] // 1000


def fill(cycles: Cycles, team: str, count: int) -> list[Run]:
    runs = cycles.run_all([pod(f"{team}{i}", team) for i in range(count)])
    assert all(run.bound for run in runs)
    return runs


def try_again(cycles: Cycles) -> None:
    """Pods that something may have helped are tried when their pause is over."""
    cycles.advance(11)


def test_a_team_borrows_what_the_other_does_not_use() -> None:
    with teams() as cycles:
        fill(cycles, "red", 4)
        assert used(cycles, "red") == 8


@pytest.mark.parametrize("config", [AT_ITS_POINTS, EVERYWHERE])
def test_what_was_borrowed_is_taken_back(config: str) -> None:
    with teams(config=config) as cycles:
        fill(cycles, "red", 4)
        first = cycles.run(pod("first", "blue"))
        assert first.nominated == "n"
        assert len(first.victims) == 1
        assert first.victims[0].startswith("red/")
        try_again(cycles)
        assert first.bound
        assert (used(cycles, "red"), used(cycles, "blue")) == (6, 2)
        second = cycles.run(pod("second", "blue"))
        try_again(cycles)
        assert second.bound
        assert (used(cycles, "red"), used(cycles, "blue")) == (4, 4)
        third = cycles.run(pod("third", "blue", priority=100))
        assert third.message.startswith(
            "0/1 nodes are available: "
            "Pod blue/third is rejected in PreFilter because total ElasticQuota used is more than min."
        )
        assert third.nominated == "n", "it is more important than those of its own team"
        assert {key.partition("/")[0] for key in third.victims} == {"blue"}
        assert used(cycles, "red") == 4


def test_what_is_taken_back_may_be_more_important() -> None:
    with teams() as cycles:
        fill(cycles, "red", 2)
        cycles.run_all([pod("important0", "red", priority=50), pod("important1", "red", priority=100)])
        run = cycles.run(pod("modest", "blue", cpu="4"))
        try_again(cycles)
        assert run.bound
        assert len(run.victims) == 2
        assert "red/important1" not in run.victims
        assert used(cycles, "red") == 4


def test_a_team_makes_room_within_itself_when_it_has_its_share() -> None:
    with teams() as cycles:
        fill(cycles, "red", 2)
        fill(cycles, "blue", 2)
        run = cycles.run(pod("important", "red", priority=10))
        try_again(cycles)
        assert run.bound
        assert len(run.victims) == 1
        assert run.victims[0].startswith("red/")
        assert used(cycles, "blue") == 4


def test_at_its_max_a_team_waits_until_one_of_its_pods_ends() -> None:
    with teams(cpu="16") as cycles:
        runs = fill(cycles, "red", 4)
        run = cycles.run(pod("waits", "red"))
        assert run.message == (
            "0/1 nodes are available: "
            "Pod red/waits is rejected in PreFilter because ElasticQuota red is more than Max. "
            "preemption: 0/1 nodes are available: "
            "1 No victims found on node n for preemptor pod waits."
        )
        done = {"phase": "Succeeded"}
        cycles.add(pod("red0", "red", node="n", uid=runs[0].pod.uid, status=done))
        try_again(cycles)
        assert run.bound
        assert used(cycles, "red") == 8


def test_a_larger_quota_wakes_those_who_wait_for_it() -> None:
    with teams(cpu="16") as cycles:
        fill(cycles, "red", 4)
        run = cycles.run(pod("waits", "red"))
        try_again(cycles)
        assert not run.bound
        cycles.add(quota("red", {"cpu": "6"}, {"cpu": "10"}))
        try_again(cycles)
        assert run.bound


def test_a_status_that_somebody_writes_wakes_nobody() -> None:
    with teams(cpu="16") as cycles:
        fill(cycles, "red", 4)
        run = cycles.run(pod("waits", "red"))
        tries = sum(event.reason == "FailedScheduling" for event in run.events)
        counted = quota("red", FOUR, {"cpu": "8"})
        counted.status.used = {"cpu": "8"}
        cycles.add(counted)
        try_again(cycles)
        assert sum(event.reason == "FailedScheduling" for event in run.events) == tries


def test_a_deleted_quota_no_longer_holds_anybody_back() -> None:
    with teams(cpu="16") as cycles:
        fill(cycles, "red", 4)
        run = cycles.run(pod("waits", "red"))
        cycles.remove(quota("red", FOUR, {"cpu": "8"}))
        try_again(cycles)
        assert run.bound
        blue = cycles.run(pod("blue", "blue", cpu="4"))
        assert blue.bound


def test_pods_without_a_quota_are_scheduled_and_preempt_as_ever() -> None:
    with teams() as cycles:
        fill(cycles, "red", 2)
        assert cycles.run(pod("lesser", "free", cpu="4")).bound
        run = cycles.run(pod("important", "free", cpu="4", priority=10))
        try_again(cycles)
        assert run.bound
        assert run.victims == ["free/lesser"]
        alone = cycles.run(pod("alone", "other", cpu="4", priority=10))
        assert alone.victims == []
        assert used(cycles, "red") == 4


def test_while_victims_end_nobody_else_is_taken() -> None:
    """They take their time; the pod is tried again meanwhile and must not find others."""
    held = {"finalizers": ["example.com/slow"]}
    running = [pod(f"red{i}", "red", node="n", metadata=held) for i in range(4)]
    with teams(*running) as cycles:
        run = cycles.run(pod("first", "blue"))
        assert run.nominated == "n"
        assert len(run.victims) == 1
        cycles.add(make_node("m", cpu="1"))
        try_again(cycles)
        assert len(run.victims) == 1
        assert not cycles.runs["blue/first"].bound
        going = next(each for each in running if each.key == run.victims[0])
        cycles.remove(going)
        try_again(cycles)
        assert run.bound
        assert used(cycles, "red") == 6


def test_a_bind_that_fails_gives_back_what_was_reserved() -> None:
    with teams(raises=False) as cycles:
        cycles.client.fail_next(Conflict, verb="bind")
        run = cycles.run(pod("unlucky", "red"))
        assert (run.bound, used(cycles, "red")) == (False, 0)
        try_again(cycles)
        assert (run.bound, used(cycles, "red")) == (True, 2)


def test_a_second_quota_is_told_of() -> None:
    second = quota("red", {"cpu": "100"}, name="second", created="2026-02-01T00:00:00Z")
    with teams(second) as cycles:
        (event,) = [event for event in cycles.events if isinstance(event.regarding, ElasticQuota)]
        assert (event.regarding.name, event.type, event.reason) == ("second", "Warning", "InvalidQuota")
        fill(cycles, "red", 4)
        assert not cycles.run(pod("more", "red")).bound
