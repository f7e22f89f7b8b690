"""Real queue, real cycle, real plugins, end to end."""

from __future__ import annotations

from typing import Any

from moorage.api.pods import Pod
from moorage.framework.extension_points import Plugin, PreEnqueuePlugin, ScorePlugin
from moorage.framework.status import Status
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
from moorage.what_if.simulation import Result, Simulation
from tests import fake_time


def simulation(*plugins: type[Plugin]) -> Simulation:
    registry = in_tree_registry()
    names = [registry.add_class(each, "test").name for each in plugins]
    return Simulation(default_configuration(registry, names), registry)


def run(world: Simulation, *pods: Pod) -> Result:
    return fake_time.run(world.run(pods))


def test_pods_are_spread_over_the_nodes_until_these_are_full() -> None:
    world = simulation()
    for name in ("a", "b"):
        world.add(make_node(name, cpu=2))
    world.add(make_pod("running", cpu=1, node="a"))
    result = run(world, *(make_pod(f"p{number}", cpu=1) for number in range(4)))
    assert result.placed["default/p0"] == "b"
    assert sorted(result.placed.values()) == ["a", "b", "b"]
    assert result.pending == {
        "default/p3": "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: "
        "0/2 nodes are available: 2 No preemption victims found for incoming pod."
    }
    assert result.pods_per_second > 0
    assert ("cpu", 4000, 4000) in world.utilisation()


def test_a_pod_that_waits_gets_its_node_when_there_is_room() -> None:
    world = simulation()
    world.add(make_node("tainted", taints=["a=b:NoSchedule"]))
    assert list(run(world, make_pod("p")).pending) == ["default/p"]
    world.add(make_node("free"))

    async def again() -> None:
        assert world.scheduler.try_next()
        await world.scheduler.drain()

    fake_time.run(again())
    assert world.client.pods["default/p"].spec.node_name == "free"


def test_a_pod_that_had_to_go_is_told() -> None:
    world = simulation()
    world.add(make_node("a", cpu=1))
    result = run(world, make_pod("running", cpu=1, node="a"), make_pod("important", cpu=1, priority=10))
    assert result.pending == {
        "default/running": "it had a node, and was preempted",
        "default/important": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    assert list(world.client.pods) == ["default/important"]


def test_a_plugin_of_ones_own_takes_part() -> None:
    class ByNumber(ScorePlugin):
        """The greater the number at the end of its name, the better the node."""

        def score(self, cycle: Any, pod: Pod, node: NodeInfo) -> int:
            return int(node.name[-1]) * 10

    world = simulation(ByNumber)
    for number in range(3):
        world.add(make_node(f"node{number}"))
    assert run(world, make_pod("p")).placed == {"default/p": "node2"}


def test_pods_that_are_not_tried_say_why() -> None:
    class Quota(PreEnqueuePlugin):
        def pre_enqueue(self, pod: Pod) -> Status | None:
            return Status.unschedulable("over quota") if pod.labels.get("big") else None

    world = simulation(Quota)
    world.add(make_node("a"))
    result = run(
        world,
        make_pod("gated", schedulingGates=[{"name": "one"}, {"name": "two"}]),
        make_pod("big", labels={"big": "yes"}),
        make_pod("foreign", scheduler="other"),
        make_pod("fine"),
    )
    assert result.pending == {
        "default/gated": "waiting for scheduling gates: one, two",
        "default/big": "plugin Quota does not let it into the queue",
        "default/foreign": "no profile is called other",
    }
    assert result.placed == {"default/fine": "a"}


def test_without_nodes_every_pod_says_so() -> None:
    assert run(simulation(), make_pod("p")).pending == {"default/p": "no nodes available to schedule pods"}


def test_a_result_without_time_has_no_speed() -> None:
    assert Result().pods_per_second == 0.0
