"""CapacityScheduling in single attempts: what it lets through, and who may go for whom."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.contrib.capacity.capacity_scheduling import CapacityScheduling
from moorage.contrib.capacity.victims import may_be_victim
from moorage.contrib.objects import ElasticQuota
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import Action, Hint
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Status
from moorage.testing import FakeHandle, make_node, make_pod
from tests.contrib.quota_cases import (
    EVERYWHERE,
    decide,
    live,
    message,
    plugin_of,
    quota,
    scenario,
    search,
    snapshot,
    used,
    victims,
)
from tests.plugins.preemption.preemption_cases import at, budget

LOW, MID, HIGH = 1, 5, 9
GPU = "example.com/gpu"


def pod(name: str, namespace: str, memory: int = 50, priority: int = MID, **more: Any) -> Pod:
    return make_pod(name, namespace=namespace, memory=memory, priority=priority, **more)


def on_n(name: str, namespace: str, memory: int = 50, priority: int = MID, **more: Any) -> Pod:
    return pod(name, namespace, memory, priority, node="n", **more)


def memory(low: int | None = None, high: int | None = None) -> list[dict[str, int] | None]:
    return [None if amount is None else {"memory": amount} for amount in (low, high)]


N = make_node("n", memory="150")
BIG = make_node("n", memory="1000")


# PreFilter


def test_the_numbers_of_the_worked_example() -> None:
    world = scenario(
        make_node("n", memory="9000"), quota("team", *memory(1000, 2000)), on_n("p", "team", memory=300)
    )
    assert message(world, pod("in", "team", 500)) == ""
    told = message(world, pod("in", "team", 1800))
    assert told.startswith(
        "0/1 nodes are available: "
        "Pod team/in is rejected in PreFilter because ElasticQuota team is more than Max."
    )


def test_all_together_may_not_use_more_than_their_min() -> None:
    world = scenario(
        BIG, quota("red", *memory(100, 300)), quota("blue", *memory(100)), on_n("p", "red", memory=150)
    )
    assert message(world, pod("in", "red", 50)) == ""
    told = message(world, pod("in", "red", 51))
    assert told.startswith(
        "0/1 nodes are available: "
        "Pod red/in is rejected in PreFilter because total ElasticQuota used is more than min."
    )


def test_a_namespace_without_a_quota_is_free() -> None:
    world = scenario(BIG, quota("team", *memory(0, 0)), on_n("p", "team"))
    assert message(world, pod("in", "free", 900)) == ""


def test_a_quota_that_cannot_be_read_lets_nobody_in_and_nobody_is_taken_from_it() -> None:
    world = scenario(
        N, quota("broken", {"memory": "-1"}), quota("team", *memory(150)), on_n("p", "broken", 150, LOW)
    )
    assert message(world, pod("in", "broken")) == (
        "0/1 nodes are available: Pod broken/in is rejected in PreFilter because ElasticQuota broken "
        "cannot be read: spec.min.memory: -1 is less than nothing. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )
    assert victims(world, pod("in", "team", priority=HIGH)) == {}
    assert victims(world, pod("in", "free", priority=HIGH)) == {}


@pytest.mark.parametrize("bounds", [memory(), memory(low=0), memory(high=500)])
def test_without_a_min_a_namespace_lives_on_what_others_leave(bounds: list[Any]) -> None:
    world = scenario(BIG, quota("poor", *bounds), quota("rich", *memory(100)))
    assert message(world, pod("in", "poor", 100)) == ""
    assert "total ElasticQuota used is more than min" in message(world, pod("in", "poor", 101))


def test_without_a_max_a_namespace_may_borrow_all() -> None:
    world = scenario(make_node("n", memory="2000"), quota("red", *memory(1)), quota("blue", *memory(1000)))
    assert message(world, pod("in", "red", 1001)) == ""


def test_gpus_and_storage_count() -> None:
    node = make_node("n", allocatable={GPU: 8, "ephemeral-storage": "10Gi"})
    both = {GPU: 2, "ephemeral-storage": "1Gi"}
    world = scenario(node, quota("team", both, both))
    assert message(world, make_pod("in", namespace="team", requests={GPU: 2})) == ""
    assert "more than Max" in message(world, make_pod("in", namespace="team", requests={GPU: 3}))
    assert message(world, make_pod("in", namespace="team", requests={"ephemeral-storage": "1Gi"})) == ""
    large = make_pod("in", namespace="team", requests={"ephemeral-storage": "2Gi"})
    assert "more than Max" in message(world, large)


def test_a_gpu_that_no_quota_names_is_over_the_min_and_not_over_the_max() -> None:
    node = make_node("n", allocatable={GPU: 8})
    world = scenario(node, quota("team", {"cpu": "1"}, {"cpu": "2"}))
    told = message(world, make_pod("in", namespace="team", requests={GPU: 1}))
    assert "total ElasticQuota used is more than min" in told


def test_the_number_of_pods_can_be_bound() -> None:
    world = scenario(BIG, quota("team", {"pods": 2}, {"pods": 2}), make_pod("p", namespace="team", node="n"))
    assert message(world, make_pod("in", namespace="team")) == ""
    world.add(make_pod("q", namespace="team", node="n"))
    assert "ElasticQuota team is more than Max" in message(world, make_pod("in", namespace="team"))


def nominated(name: str, namespace: str, memory: int, priority: int, node: str = "n") -> Pod:
    return pod(name, namespace, memory, priority, status={"nominatedNodeName": node})


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (nominated("as-important", "red", 60, MID), "more than Max"),
        (nominated("lesser", "red", 60, LOW), ""),
        (nominated("in", "red", 60, MID), ""),
        (nominated("nowhere", "red", 60, MID, node="gone"), ""),
        (nominated("foreign", "blue", 160, LOW), "total ElasticQuota used is more than min"),
        (nominated("free", "green", 900, HIGH), ""),
        (nominated("borrowing", "yellow", 160, HIGH), ""),
    ],
)
def test_pods_that_room_is_being_made_for_count(other: Pod, told: str) -> None:
    world = scenario(
        BIG,
        quota("red", *memory(100, 100)),
        quota("blue", *memory(100)),
        quota("yellow", *memory(10)),
        on_n("borrowed", "yellow", 11),
        other,
    )
    said = message(world, pod("in", "red", 50))
    assert told in said if told else said == ""


def test_members_that_are_tried_one_after_the_other_see_what_is_reserved() -> None:
    world = scenario(BIG, quota("team", *memory(100, 100)))
    plugin, members = plugin_of(world), [pod(f"m{i}", "team", 40) for i in range(3)]
    taken = []
    for member in members:
        decision = decide(world, member)
        if decision.failure is not None:
            break
        assumed = world.services.state.assume(member, decision.node_name)
        assert plugin.reserve(decision.cycle, assumed, decision.node_name) is None
        taken.append((decision.cycle, assumed))
    assert len(taken) == 2
    assert used(world, "team") == {"memory": 80, "pods": 2}
    for cycle, assumed in reversed(taken):
        plugin.unreserve(cycle, assumed, "n")
        world.services.state.forget(assumed)
    assert used(world, "team") == {}
    assert message(world, members[0]) == ""


# Who may go


def test_the_worked_example() -> None:
    world = scenario(
        N,
        quota("ns1", *memory(150, 200)),
        quota("ns2", *memory(50, 200)),
        on_n("p1", "ns1"),
        on_n("p2", "ns2", priority=HIGH),
        on_n("p3", "ns2"),
    )
    assert victims(world, pod("in", "ns1", priority=HIGH)) == {"n": ("p3", 0)}


def test_what_is_taken_back_does_not_ask_for_priorities() -> None:
    world = scenario(
        N, quota("ns1", *memory(100)), quota("ns2", *memory(50)), on_n("p", "ns2", 150, priority=HIGH)
    )
    assert victims(world, pod("in", "ns1", priority=LOW)) == {"n": ("p", 0)}


def test_from_a_namespace_within_its_min_nobody_is_taken() -> None:
    world = scenario(
        N, quota("ns1", *memory(100)), quota("ns2", *memory(150)), on_n("p", "ns2", 150, priority=LOW)
    )
    assert victims(world, pod("in", "ns1", priority=HIGH)) == {}
    assert message(world, pod("in", "ns1", priority=HIGH)) == (
        "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available: "
        "1 No victims found on node n for preemptor pod in."
    )


def test_a_namespace_that_uses_its_min_takes_from_its_own() -> None:
    world = scenario(
        N,
        quota("ns1", *memory(100)),
        quota("ns2", *memory(200)),
        on_n("equal", "ns1", priority=HIGH),
        on_n("lesser", "ns1"),
        on_n("borrower", "ns2", priority=LOW),
    )
    assert victims(world, pod("in", "ns1", priority=HIGH)) == {"n": ("lesser", 0)}


def test_at_its_max_a_namespace_takes_from_its_own() -> None:
    world = scenario(
        BIG, quota("ns1", *memory(100, 100)), on_n("lesser", "ns1", 60), on_n("least", "ns1", 40, LOW)
    )
    assert victims(world, pod("in", "ns1", 40, HIGH)) == {"n": ("least", 0)}
    assert victims(world, pod("in", "ns1", 50, HIGH)) == {"n": ("lesser", 0)}
    assert victims(world, pod("in", "ns1", 70, HIGH)) == {"n": ("lesser least", 0)}
    assert victims(world, pod("in", "ns1", 70, LOW)) == {}


def test_a_node_whose_pods_are_not_enough_does_not_help() -> None:
    world = scenario(
        BIG,
        make_node("m", memory="1000"),
        quota("ns1", *memory(100, 100)),
        on_n("here", "ns1", 30),
        pod("there", "ns1", 70, node="m"),
    )
    assert victims(world, pod("in", "ns1", 70, HIGH)) == {"m": ("there", 0)}
    statuses = dict(search(world, pod("in", "ns1", 70, HIGH)).statuses.explicit())
    assert statuses == {"n": Status.unschedulable("global quota max exceeded")}


def test_pods_without_a_quota_keep_among_themselves() -> None:
    world = scenario(
        N,
        quota("team", *memory(0)),
        on_n("borrower", "team", priority=LOW),
        on_n("lesser", "free"),
        on_n("equal", "other", priority=HIGH),
    )
    assert victims(world, pod("in", "third", priority=HIGH)) == {"n": ("lesser", 0)}
    assert victims(world, pod("in", "free", 100, priority=HIGH)) == {}


def test_only_so_many_go_as_are_needed() -> None:
    world = scenario(
        N,
        quota("ns1", *memory(100)),
        quota("ns2", *memory(50)),
        *(on_n(f"p{i}", "ns2", 50, MID, status=at(i)) for i in (1, 2, 3)),
    )
    assert victims(world, pod("in", "ns1", 50)) == {"n": ("p3", 0)}
    assert victims(world, pod("in", "ns1", 100)) == {"n": ("p2 p3", 0)}


def test_budgets_are_kept_where_possible_and_counted_where_quotas_decide() -> None:
    def labelled(name: str, priority: int) -> Pod:
        return on_n(name, "default", 50, priority, labels={"app": "a"})

    world = scenario(
        budget(0),
        BIG,
        quota("default", *memory(100, 100)),
        labelled("protected", LOW),
        on_n("other", "default", 50, MID),
    )
    assert victims(world, pod("in", "default", 50, HIGH)) == {"n": ("other", 0)}
    assert victims(world, pod("in", "default", 60, HIGH)) == {"n": ("other protected", 1)}


def test_a_node_without_violations_is_preferred() -> None:
    world = scenario(
        budget(0),
        BIG,
        make_node("m", memory="1000"),
        quota("default", *memory(100, 100)),
        pod("protected", "default", 50, LOW, node="m", labels={"app": "a"}),
        on_n("other", "default", 50, MID),
    )
    found = decide(world, pod("in", "default", 50, HIGH)).failure
    assert found is not None
    assert found.nominated_node == "n"
    assert [evicted.pod.name for evicted in world.services.evicted] == ["other"]


def test_all_nodes_are_candidates() -> None:
    nodes = [make_node(f"n{i:03}", memory="100") for i in range(150)]
    pods = [pod(f"p{i}", "ns2", 100, node=node.name) for i, node in enumerate(nodes)]
    world = scenario(*nodes, *pods, quota("ns1", *memory(100)), quota("ns2", *memory(14900)))
    assert len(victims(world, pod("in", "ns1"))) == 150


# Who may go, without an attempt


@pytest.mark.parametrize(
    ("preemptor", "other", "expected"),
    [
        (pod("in", "ns1", 50, LOW), on_n("p", "ns2", priority=HIGH), True),
        (pod("in", "ns1", 50, HIGH), on_n("p", "ns3", priority=LOW), False),
        (pod("in", "ns1", 50, HIGH), on_n("p", "ns1", priority=LOW), False),
        (pod("in", "ns1", 150, HIGH), on_n("p", "ns1", priority=LOW), True),
        (pod("in", "ns1", 150, LOW), on_n("p", "ns1", priority=LOW), False),
        (pod("in", "ns1", 150, HIGH), on_n("p", "ns2", priority=LOW), False),
        (pod("in", "ns1", 50, HIGH), on_n("p", "free", priority=LOW), False),
        (pod("in", "free", 50, HIGH), on_n("p", "free", priority=LOW), True),
        (pod("in", "free", 50, HIGH), on_n("p", "other", priority=LOW), True),
        (pod("in", "free", 50, LOW), on_n("p", "free", priority=LOW), False),
        (pod("in", "free", 50, HIGH), on_n("p", "ns2", priority=LOW), False),
        (pod("in", "broken", 50, HIGH), on_n("p", "ns2", priority=LOW), False),
        (pod("in", "ns1", 50, HIGH), on_n("p", "broken", priority=LOW), False),
    ],
)
def test_may_be_victim(preemptor: Pod, other: Pod, expected: bool) -> None:
    world = scenario(
        quota("ns1", *memory(100)),
        quota("ns2", *memory(50)),
        quota("ns3", *memory(50)),
        quota("broken", {"memory": "x"}),
        on_n("borrows", "ns2", 60),
        on_n("keeps", "ns3", 50),
        on_n("takes", "broken", 500),
    )
    assert may_be_victim(snapshot(world), preemptor, other) is expected


def test_what_a_whole_gang_wants_decides_among_whom_its_victims_are() -> None:
    world = scenario(quota("ns1", *memory(100)), quota("ns2", *memory(0)), on_n("p", "ns2", 10))
    books, member, borrower = snapshot(world), pod("in", "ns1", 60, HIGH), on_n("p", "ns2", 10)
    assert may_be_victim(books, member, borrower)
    assert not may_be_victim(books, member, borrower, wanted=member.requests + member.requests)
    books.remove(borrower)
    assert not may_be_victim(books, member, borrower)


# Who may preempt at all


def going(
    name: str, namespace: str, priority: int, memory: int = 50, reason: str = "PreemptionByScheduler"
) -> Pod:
    target = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    return on_n(name, namespace, memory, priority, metadata=deleted, status={"conditions": [target]})


WAITS = "not eligible due to a terminating pod on the nominated node."


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (going("p", "ns1", LOW), WAITS),
        (going("p", "ns1", HIGH), ""),
        (going("p", "ns2", HIGH), WAITS),
        (going("p", "ns3", LOW), ""),
        (going("p", "free", LOW), ""),
        (going("p", "ns2", HIGH, reason="EvictionByEvictionAPI"), ""),
    ],
)
def test_a_pod_waits_for_those_that_go_for_it(other: Pod, expected: str) -> None:
    world = scenario(
        N, quota("ns1", *memory(100)), quota("ns2", *memory(40)), quota("ns3", *memory(100)), other
    )
    waiting = pod("in", "ns1", 50, HIGH, status={"nominatedNodeName": "n"})
    statuses = NodeStatuses(world.services.state.table, Status.unschedulable("full"))
    assert plugin_of(world).not_eligible(waiting, statuses) == expected
    resolved = NodeStatuses(world.services.state.table, Status.unresolvable("wrong node"))
    assert plugin_of(world).not_eligible(waiting, resolved) == ""


@pytest.mark.parametrize(
    ("other", "expected"), [(going("p", "other", LOW), WAITS), (going("p", "ns1", LOW), "")]
)
def test_a_pod_without_a_quota_waits_for_such_pods(other: Pod, expected: str) -> None:
    world = scenario(N, quota("ns1", *memory(0)), other)
    waiting = pod("in", "free", 50, HIGH, status={"nominatedNodeName": "n"})
    statuses = NodeStatuses(world.services.state.table, Status.unschedulable("full"))
    assert plugin_of(world).not_eligible(waiting, statuses) == expected


def test_a_pod_that_never_preempts() -> None:
    world = scenario(N, quota("ns1", *memory(100)), quota("ns2", *memory(0)), on_n("p", "ns2", 150))
    told = message(world, pod("in", "ns1", preemptionPolicy="Never"))
    assert told.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_without_its_pre_filter_it_does_not_preempt() -> None:
    plugin = CapacityScheduling(None, FakeHandle([N]))
    statuses = NodeStatuses(plugin.handle.state.table, Status.unschedulable("full"))
    answer = plugin.post_filter(CycleState(), pod("in", "ns1"), statuses)
    assert answer == Status.unschedulable("preemption: not eligible due to failed to read from cycleState")


def test_configured_everywhere_it_does_the_same() -> None:
    world = scenario(
        N, quota("ns1", *memory(100)), quota("ns2", *memory(50)), on_n("p", "ns2", 150), config=EVERYWHERE
    )
    assert victims(world, pod("in", "ns1", priority=LOW)) == {"n": ("p", 0)}
    assert plugin_of(world) in world.profile.pre_enqueue


def test_an_attempt_that_ended_before_can_be_evaluated() -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}
    world = scenario(N, quota("ns1", *memory(100)), quota("ns2", *memory(0)), on_n("p", "ns2", 150))
    found = world.evaluate(pod("in", "ns1", volumes=[claim])).document()
    assert found["postFilter"]["message"].endswith("not eligible due to failed to read from cycleState")
    assert found["postFilter"]["candidates"] is None


def test_an_evaluation_tells_of_all_candidates() -> None:
    world = scenario(N, quota("ns1", *memory(100)), quota("ns2", *memory(0)), on_n("p", "ns2", 150))
    found = world.evaluate(pod("in", "ns1")).document()["postFilter"]
    assert found["candidates"] == {"n": {"victims": ["ns2/p"], "numPDBViolations": 0}}
    assert found["nominatedNode"] == "n"


# What wakes pods


def test_which_events_help() -> None:
    world = scenario(quota("team", *memory(1, 1)))
    of_pods, of_quotas = plugin_of(world).events()
    assert (of_pods.resource, of_quotas.resource) == ("Pod", "elasticquotas.v1alpha1.scheduling.x-k8s.io")
    assert of_pods.action & Action.DELETE
    assert of_quotas.action == Action.ALL
    waiting, gone = pod("in", "team"), on_n("p", "team")
    assert of_pods.hint is not None
    assert of_pods.hint(waiting, gone, None) is Hint.QUEUE
    assert of_pods.hint(waiting, on_n("p", "free"), None) is Hint.SKIP

    def hint(old: ElasticQuota | None, new: ElasticQuota | None) -> Hint:
        assert of_quotas.hint is not None
        return of_quotas.hint(waiting, old, new)

    old, new, same = quota("x", *memory(1)), quota("x", *memory(2)), quota("x", *memory(1))
    assert [hint(None, new), hint(old, None), hint(old, new), hint(old, same)] == [
        Hint.QUEUE,
        Hint.QUEUE,
        Hint.QUEUE,
        Hint.SKIP,
    ]


def test_profiles_share_one_count() -> None:
    two = EVERYWHERE + EVERYWHERE.partition("profiles:\n")[2].replace("default-scheduler", "second")
    world = scenario(BIG, quota("team", *memory(100, 100)), config=two)
    first, second = (world.profiles[name].plugins["CapacityScheduling"] for name in world.profiles)
    assert isinstance(first, CapacityScheduling)
    assert isinstance(second, CapacityScheduling)
    first.reserve(CycleState(), on_n("p", "team", 100), "n")
    answer = second.pre_filter(CycleState(), pod("in", "team"))
    assert answer is not None
    assert answer.message.endswith("ElasticQuota team is more than Max")
    assert live(world).of("team") is not None
