"""Gangs that are only tried: as the scheduler would, and nothing is left of it."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.contrib.coscheduling.pod_groups import REQUIRED_TOPOLOGY
from moorage.contrib.objects import GROUP_LABEL
from moorage.testing import make_node, make_pod
from moorage.what_if.device_workloads import make_claims, make_devices
from moorage.what_if.gangs import GangTries, TriedGang
from moorage.what_if.workloads import make_pods
from tests.contrib.gang_worlds import RACK, GangWorld, members, pod_group, racks


def tried(world: GangWorld, name: str = "g-0", **how: bool) -> TriedGang:
    profile = world.scheduler.profiles["default-scheduler"]
    tries = GangTries(profile)
    found = world.scheduler.door.named(f"default/{name}")
    assert found is not None
    gang = tries.gang_of(found)
    assert gang is not None
    before = fingerprint(world)
    told = tries.tried(gang, **how)
    assert fingerprint(world) == before
    return told


def fingerprint(world: GangWorld) -> Any:
    state = world.scheduler.state
    infos = [(info.name, dict(info.requested), [pod.key for pod in info.pods]) for info in state.table.infos]
    return infos, world.assumed(), len(world.scheduler.services.nominations)


def test_a_gang_that_fits() -> None:
    world = GangWorld([make_node("n", cpu="4")])
    world.add(pod_group("g", 4), *members("g", 4, cpu="1"))
    told = tried(world)
    assert told.fits and told.nodes == {f"default/g-{place}": "n" for place in range(4)}
    assert (told.members, told.running, told.fitting, told.message) == (4, 0, 4, "")


def test_a_gang_that_does_not_says_what_the_scheduler_says() -> None:
    world = GangWorld(racks({"a": 1, "b": 1}))
    world.run(pod_group("g", 3, annotations={REQUIRED_TOPOLOGY: RACK}), *members("g", 3, cpu="2"))
    told = tried(world)
    assert not told.fits and told.fitting == 2
    assert world.why("g-0").startswith(told.message.removesuffix("."))
    assert told.where == " on nodes with example.com/rack=b"


def test_members_that_run_count() -> None:
    world = GangWorld([make_node("n", cpu="3")])
    world.add(pod_group("g", 3), make_pod("g-9", cpu="1", node="n", labels={GROUP_LABEL: "g"}))
    world.add(*members("g", 2, cpu="1"))
    told = tried(world)
    assert (told.members, told.running, told.fitting, told.fits) == (3, 1, 3, True)


def test_a_whole_gang_is_not_tried_any_more() -> None:
    world = GangWorld([make_node("n", cpu="3")])
    world.run(pod_group("g", 2), *members("g", 2, cpu="1"))
    tries = GangTries(world.scheduler.profiles["default-scheduler"])
    assert tries.gang_of(world.simulation.client.pods["default/g-0"]) is None


@pytest.mark.parametrize("devices", [2, 3])
def test_members_do_not_get_the_same_device(devices: int) -> None:
    world = GangWorld([make_node("n", cpu="8")])
    pods: list[Pod] = list(make_pods("claims", 3))
    for pod in pods:
        pod.metadata.labels[GROUP_LABEL] = "g"
    world.add(*make_devices(["n"], devices), *make_claims(pods), pod_group("g", 3), *pods)
    for _ in range(2):
        assert tried(world, pods[0].name).fitting == devices


def test_a_nomination_is_where_it_was() -> None:
    world = GangWorld([make_node("n", cpu="2")])
    world.add(pod_group("g", 2), *members("g", 2, cpu="1"))
    first = world.scheduler.door.named("default/g-0")
    assert first is not None
    world.scheduler.services.nominations.add(first, "n")
    assert tried(world, "g-1").fits
    assert world.scheduler.services.nominations.node_of(first.uid) == "n"


def test_room_is_looked_for_and_nobody_goes() -> None:
    world = GangWorld([make_node(f"n{place}", cpu="1") for place in range(2)])
    world.run(*(make_pod(f"low-{place}", cpu="1") for place in range(2)))
    world.add(pod_group("g", 2), *members("g", 2, cpu="1", priority=10))
    told = tried(world, preempts=True)
    assert not told.fits
    assert (told.room_on, told.victims) == (("n0", "n1"), ("default/low-0", "default/low-1"))
    assert len(world.placed) == 2


def test_who_is_going_already_is_told_as_well() -> None:
    world = GangWorld([make_node("full", cpu="1"), make_node("free", cpu="1")])
    world.linger()
    world.run(make_pod("low", cpu="1", nodeName="full"))
    world.run(pod_group("g", 2), *members("g", 2, cpu="1", priority=10))
    told = tried(world, preempts=True)
    assert not told.fits
    assert (told.room_on, told.victims) == (("free", "full"), ("default/low",))
