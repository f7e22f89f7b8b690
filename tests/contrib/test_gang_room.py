"""Room that is made for a gang: for whom, and that it is kept until those who have to go are gone."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.client.errors import ApiError
from moorage.testing import make_node, make_pod
from tests.contrib.gang_worlds import GangWorld, members, pod_group


def waiting_for_one_to_go() -> GangWorld:
    """A gang of two with one node free and one that a pod leaves that takes its time."""
    world = GangWorld([make_node("full", cpu="1"), make_node("free", cpu="1")])
    world.linger()
    world.run(make_pod("low", cpu="1", nodeName="full"))
    world.run(pod_group("g", 2), *members("g", 2, cpu="1", priority=10))
    assert world.going() == ["low"]
    return world


def test_room_is_kept_however_often_the_gang_is_tried_meanwhile() -> None:
    world = waiting_for_one_to_go()
    for place in range(3):
        assert world.try_all(make_pod(f"other-{place}", cpu="1")) == {"low": "full"}
        assert world.why("g-0") == world.why("g-1") == "pod group is waiting for preemption to complete"
        assert (world.going(), world.assumed()) == (["low"], [])
    world.let_go()
    assert world.try_all() == {"g-0": "free", "g-1": "full"}


def test_who_takes_over_keeps_the_room() -> None:
    """All that another scheduler knows is what the API server has."""
    before = waiting_for_one_to_go()
    world = GangWorld([make_node("full", cpu="1"), make_node("free", cpu="1")])
    world.linger()
    pods = before.simulation.client.pods.values()
    assert world.try_all(pod_group("g", 2), *pods, make_pod("other", cpu="1")) == {"low": "full"}
    assert world.going() == ["low"]
    world.let_go()
    assert sorted(world.try_all()) == ["g-0", "g-1"]


def test_room_that_somebody_more_important_takes_is_made_anew() -> None:
    world = waiting_for_one_to_go()
    world.try_all(make_pod("important", cpu="1", priority=20))
    world.add(make_node("third", cpu="1"))
    world.run(make_pod("lesser", cpu="1", nodeName="third"))
    world.let_go()
    for _ in range(3):
        world.try_all()
        world.let_go()
    assert sorted(world.placed) == ["g-0", "g-1", "important"]


def test_a_member_that_fits_nowhere_is_not_needed_where_there_are_others() -> None:
    world = GangWorld([make_node(f"n{place}", cpu="1") for place in range(2)])
    world.run(*(make_pod(f"low-{place}", cpu="1") for place in range(2)))
    [choosy] = members("g", 1, start=2, cpu="1", priority=20, nodeSelector={"is": "nowhere"})
    world.run(pod_group("g", 2), choosy, *members("g", 2, cpu="1", priority=10))
    assert sorted(world.run()) == ["g-0", "g-1"]


def test_nobody_goes_where_a_member_that_is_needed_fits_nowhere() -> None:
    world = GangWorld([make_node(f"n{place}", cpu="1") for place in range(2)])
    world.run(*(make_pod(f"low-{place}", cpu="1") for place in range(2)))
    [choosy] = members("g", 1, start=2, cpu="1", nodeSelector={"is": "nowhere"}, priority=5)
    world.run(pod_group("g", 3), choosy, *members("g", 2, cpu="1", priority=10))
    assert sorted(world.run()) == ["low-0", "low-1"]
    assert world.why("g-0").startswith("pod group default/g: 0 of 3 members fit; default/g-2 does not: ")


def test_a_member_whose_bind_fails_finds_its_room_again() -> None:
    """Or a pod that waits would have it, and the gang would be in part until that pod leaves."""
    world = GangWorld([make_node(f"n{place}", cpu="1") for place in range(2)])
    client = world.simulation.client
    bind, failing = client.bind, ["g-1"]

    def failing_once(pod: Pod, node_name: str) -> None:
        if pod.name in failing:
            failing.remove(pod.name)
            raise ApiError(500, "InternalError", "not now")
        bind(pod, node_name)

    client.bind = failing_once  # type: ignore[method-assign]
    world.run(pod_group("g", 2), *members("g", 2, cpu="1"), make_pod("other", cpu="1"))
    assert failing == []
    for _ in range(3):
        world.try_all()
    assert sorted(world.placed) == ["g-0", "g-1"]


def test_room_is_kept_while_pods_are_only_being_told_to_go() -> None:
    """The member for which they go may not be tried then; the others do not give up what is kept for them."""
    world = GangWorld([make_node("full", cpu="1"), make_node("free", cpu="1")])
    told: list[Pod] = []
    world.simulation.client.delete_pod = told.append  # type: ignore[assignment]
    world.run(make_pod("low", cpu="1", nodeName="full"))
    world.run(pod_group("g", 2), *members("g", 2, cpu="1", priority=10))
    assert [pod.name for pod in told] == ["low"]
    for _ in range(2):
        assert world.try_all(make_pod("other", cpu="1")) == {"low": "full"}
        assert world.why("g-0") == world.why("g-1") == "pod group is waiting for preemption to complete"
    world.remove(world.simulation.client.pods["default/low"])
    assert sorted(world.try_all()) == ["g-0", "g-1"]
