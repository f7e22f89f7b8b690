"""A gang loses members that it can do without, or all of them; with quotas, too."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.workloads import PodDisruptionBudget, PriorityClass
from moorage.config import load
from moorage.contrib.objects import GROUP_LABEL, ElasticQuota
from moorage.contrib.preemption_toleration import MINIMUM_PRIORITY, SECONDS
from moorage.testing import make_node, make_pod
from tests.contrib.gang_worlds import GangWorld, members, pod_group

BOTH = ("Coscheduling", "CapacityScheduling")
SPARING = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Coscheduling}, {name: PreemptionToleration}]
    queueSort:
      disabled: [{name: PrioritySort}]
    postFilter:
      disabled: [{name: DefaultPreemption}]
"""


def nodes(number: int) -> list[Any]:
    return [make_node(f"n{place}", cpu="1") for place in range(number)]


def quota(namespace: str, minimum: int, maximum: int) -> ElasticQuota:
    metadata = {"name": "quota", "namespace": namespace, "uid": f"quota-{namespace}"}
    spec = {"min": {"cpu": minimum}, "max": {"cpu": maximum}}
    return from_document(ElasticQuota, {"metadata": metadata, "spec": spec})


def running(world: GangWorld, prefix: str) -> list[str]:
    return sorted(name for name in world.placed if name.startswith(prefix))


def test_a_gang_that_needs_all_its_members_goes_as_a_whole() -> None:
    world = GangWorld(nodes(3))
    world.run(pod_group("g", 3), *members("g", 3, cpu="1"))
    world.run(make_pod("high", cpu="1", priority=10))
    assert running(world, "g-") == []
    world.run()
    assert running(world, "high") == ["high"]


def test_a_member_that_is_not_needed_goes_alone() -> None:
    world = GangWorld(nodes(3))
    world.run(pod_group("g", 2), *members("g", 3, cpu="1"))
    world.run(make_pod("high", cpu="1", priority=10))
    assert len(running(world, "g-")) == 2


def test_no_more_members_go_than_are_not_needed_unless_all_may_go() -> None:
    """One member is as important as the pod that comes, so the gang stays."""
    world = GangWorld([make_node("n", cpu="2"), make_node("m", cpu="1")])
    lesser = members("g", 2, cpu="1", nodeName="n")
    greater = members("g", 1, start=2, cpu="1", priority=10, nodeName="m")
    world.run(pod_group("g", 2), *lesser, *greater)
    world.run(make_pod("large", cpu="2", priority=10))
    assert len(running(world, "g-")) == 3
    world.run(make_pod("small", cpu="1", priority=10))
    assert len(running(world, "g-")) == 2


def test_a_node_on_which_no_gang_is_torn_apart_is_the_better_one() -> None:
    world = GangWorld([make_node("a", cpu="1"), make_node("b", cpu="1"), make_node("c", cpu="1")])
    world.run(make_pod("single", cpu="1", nodeName="c", priority=5))
    world.run(pod_group("g", 2), *members("g", 2, cpu="1"))
    world.run(make_pod("high", cpu="1", priority=10))
    assert running(world, "g-") == ["g-0", "g-1"]
    assert running(world, "single") == []


def test_the_smaller_gang_goes() -> None:
    """On each node one member would do; what goes elsewhere counts, too."""
    for _ in range(5):  # among equals one is chosen at random
        world = GangWorld(nodes(6))
        world.run(pod_group("large", 4), *members("large", 4, cpu="1"))
        world.run(pod_group("small", 2), *members("small", 2, cpu="1"))
        world.run(make_pod("high", cpu="1", priority=10))
        assert len(running(world, "large-")) == 4
        assert running(world, "small-") == []


def test_budgets_of_members_elsewhere_count() -> None:
    for _ in range(5):
        world = GangWorld(nodes(4))
        spec = {"selector": {"matchLabels": {GROUP_LABEL: "kept"}}}
        world.add(from_document(PodDisruptionBudget, {"metadata": {"namespace": "default"}, "spec": spec}))
        for name in ("kept", "other"):
            world.run(pod_group(name, 2), *members(name, 2, cpu="1"))
        world.run(make_pod("high", cpu="1", priority=10))
        assert running(world, "other-") == []


def test_a_gang_is_admitted_to_its_quota_as_a_whole() -> None:
    world = GangWorld(nodes(6), plugins=BOTH)
    world.add(quota("default", 3, 3))
    world.run(pod_group("g", 4), *members("g", 4, cpu="1"))
    assert running(world, "g-") == [] and world.assumed() == []
    assert "ElasticQuota default is more than Max" in world.why("g-0")
    assert world.why("g-0").startswith("pod group default/g: 3 of 4 members fit; default/g-3 does not:")
    world.run(pod_group("h", 3), *members("h", 3, cpu="1"))
    assert len(running(world, "h-")) == 3


def test_a_gang_takes_back_what_others_borrowed_as_a_whole() -> None:
    world = GangWorld(nodes(4), plugins=BOTH)
    world.add(quota("team", 2, 4), quota("default", 2, 4))
    world.run(*(make_pod(f"borrower-{place}", namespace="team", cpu="1") for place in range(4)))
    assert len(running(world, "borrower")) == 4
    world.run(pod_group("g", 2), *members("g", 2, cpu="1"))
    world.run()
    assert len(running(world, "borrower")) == 2
    assert running(world, "g-") == ["g-0", "g-1"]


def test_nothing_is_taken_back_for_a_gang_that_would_not_fit_even_so() -> None:
    world = GangWorld(nodes(4), plugins=BOTH)
    world.add(quota("team", 2, 4), quota("default", 2, 4))
    world.run(*(make_pod(f"borrower-{place}", namespace="team", cpu="1") for place in range(4)))
    world.run(pod_group("g", 3), *members("g", 3, cpu="1"))
    world.run()
    assert len(running(world, "borrower")) == 4
    assert running(world, "g-") == []


def test_a_gang_that_borrowed_is_not_torn_apart_below_what_its_namespace_has_for_sure() -> None:
    """To take back one cpu, all four members would have to go, two of which are within the min."""
    world = GangWorld(nodes(4), plugins=BOTH)
    world.add(quota("default", 2, 4), quota("team", 2, 4))
    world.run(pod_group("g", 4), *members("g", 4, cpu="1"))
    assert len(running(world, "g-")) == 4
    world.run(make_pod("wanting", namespace="team", cpu="1"))
    assert len(running(world, "g-")) == 4
    assert running(world, "wanting") == []


@pytest.mark.parametrize("at_once", [True, False])
def test_members_that_are_on_their_way_out_do_not_count(at_once: bool) -> None:
    """A gang that can do without one loses one, however long that takes, or all."""
    world = GangWorld(nodes(4))
    world.linger()
    world.run(pod_group("g", 3), *members("g", 4, cpu="1"))
    first, second = (make_pod(f"high-{place}", cpu="1", priority=10) for place in range(2))
    if at_once:
        world.run(first, second)
    else:
        world.run(first)
        assert len(world.going()) == 1
        world.run(second)
    assert world.going() == ["g-0", "g-1", "g-2", "g-3"]


def test_a_gang_that_may_not_go_as_a_whole_does_not_lose_two_one_after_the_other() -> None:
    world = GangWorld(nodes(4))
    world.linger()
    greater = members("g", 1, start=3, cpu="1", priority=10)
    world.run(pod_group("g", 3), *members("g", 3, cpu="1"), *greater)
    world.run(*(make_pod(f"high-{place}", cpu="1", priority=10) for place in range(2)))
    world.try_all()
    assert len(world.going()) == 1


def test_a_gang_and_others_are_not_taken_from_a_namespace_until_too_little_is_left() -> None:
    """Each of them could go, but not all three: one is within the min."""
    world = GangWorld([make_node("n", cpu="2"), make_node("m", cpu="1")], plugins=BOTH)
    world.add(quota("default", 1, 3), quota("team", 2, 3))
    gang = [*members("g", 1, cpu="1", nodeName="n"), *members("g", 1, start=1, cpu="1", nodeName="m")]
    world.run(pod_group("g", 2), *gang, make_pod("single", cpu="1", nodeName="n", priority=-1))
    world.run(make_pod("wanting", namespace="team", cpu="2"))
    assert sorted(world.placed) == ["g-0", "g-1", "single"]


def test_what_was_borrowed_is_not_taken_back_twice() -> None:
    """While those end that go for one pod, their namespace uses no more than its min already."""
    for _ in range(5):  # one of several nodes is chosen at random
        world = GangWorld([make_node("a", cpu="4"), make_node("b", cpu="4")], plugins=BOTH)
        world.linger()
        world.add(quota("default", 4, 8), quota("team", 4, 8))
        world.run(*(make_pod(f"p{place}", cpu="2", nodeName="aabb"[place]) for place in range(4)))
        world.run(make_pod("first", namespace="team", cpu="3"))
        assert len(world.going()) == 2
        world.run(make_pod("second", namespace="team", cpu="1"))
        assert len(world.going()) == 2
        world.let_go()
        assert {"first", "second"} < world.try_all().keys()


def test_no_member_is_spared_by_its_class_where_its_gang_goes() -> None:
    """One of the members may not go yet, so all stay."""
    patience = PriorityClass(value=0)
    patience.metadata.name = "patient"
    patience.metadata.annotations = {SECONDS: "-1", MINIMUM_PRIORITY: "100"}
    world = GangWorld(nodes(2), config=load(SPARING).config)
    world.add(patience)
    spared = members("g", 1, start=1, cpu="1", priorityClassName="patient", nodeName="n1")
    world.run(pod_group("g", 2), *members("g", 1, cpu="1", nodeName="n0"), *spared)
    world.run(make_pod("high", cpu="1", priority=10))
    assert running(world, "g-") == ["g-0", "g-1"]
