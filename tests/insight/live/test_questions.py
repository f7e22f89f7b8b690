"""What is told of a scheduler: the whole, nodes, the queue, pods, plugins."""

from __future__ import annotations

from typing import Any

import pytest

from moorage import CycleState, FilterPlugin, NodeInfo, Pod, Status
from moorage.insight.live.problems import Problem
from moorage.testing import make_node, make_pod
from tests.insight.live.worlds import START, World, run


def test_the_summary() -> None:
    world = World(nodes=2)
    world.pod("a")
    world.pod("big", cpu="100")
    world.schedule()
    world.now = START + 2
    told = world.questions.summary()
    assert (told["nodes"], told["placedPods"], told["leads"]) == (2, 1, True)
    assert told["queue"] == {"active": 0, "backoff": 0, "unschedulable": 1, "gated": 0, "inFlight": 0}
    assert (told["started"], told["now"]) == (START, START + 2)
    assert (told["log"]["attempts"], told["log"]["newest"]) == (2, 2)
    assert told["rates"] == {"attemptsPerSecond": 1.0, "boundPerSecond": 0.5, "failedPerSecond": 0.5}
    [profile] = told["profiles"]
    assert profile["name"] == "default-scheduler"
    assert {"name": "TaintToleration", "weight": 3} in profile["plugins"]["score"]
    assert "NodeResourcesFit" in profile["plugins"]["filter"]
    assert profile["plugins"]["postFilter"] == ["DynamicResources", "DefaultPreemption"]


# Nodes


def test_nodes_in_columns() -> None:
    world = World(nodes=0)
    world.put(make_node("a", cpu="4", memory="1Gi", labels={"zone": "x"}, taints=["gpu=true:NoSchedule"]))
    world.put(make_node("b", cpu="2", allocatable={"example.com/gpu": "3"}, unschedulable=True))
    world.put(make_pod("p", node="b", requests={"cpu": "500m"}, uid="p"))
    told = world.questions.nodes(["zone", "none"])
    order = {name: place for place, name in enumerate(told["names"])}
    a, b = order["a"], order["b"]
    assert told["resources"] == ["cpu", "memory", "pods", "example.com/gpu"]
    assert (told["allocatable"]["cpu"][a], told["allocatable"]["cpu"][b]) == (4000, 2000)
    assert (told["requested"]["cpu"][b], told["requested"]["pods"][b]) == (500, 1)
    assert (told["allocatable"]["example.com/gpu"][a], told["allocatable"]["example.com/gpu"][b]) == (0, 3)
    assert told["requested"]["example.com/gpu"] == [0, 0]
    assert (told["unschedulable"][a], told["unschedulable"][b]) == (False, True)
    assert told["taints"][a] == ["gpu=true:NoSchedule"] and told["taints"][b] == []
    zones = told["labels"]["zone"]
    assert zones["values"][zones["codes"][a]] == "x" and zones["codes"][b] == 0
    assert told["labels"]["none"] == {"values": [""], "codes": [0, 0]}
    assert told["labelKeys"] == ["kubernetes.io/hostname", "zone"]


def test_the_version_of_nodes_changes_with_all_but_their_usage() -> None:
    world = World(nodes=2)
    versions = [world.questions.nodes()["version"]]

    def has_changed() -> bool:
        versions.append(world.questions.nodes()["version"])
        return bool(versions[-1] != versions[-2])

    assert not has_changed()
    world.put(make_pod("p", node="node-0", uid="p"))
    assert not has_changed()
    for changed in (
        make_node("node-0", cpu="4", labels={"zone": "other"}),
        make_node("node-0", cpu="4", labels={"zone": "other"}, taints=["a=b:NoSchedule"]),
        make_node("node-0", cpu="4", labels={"zone": "other"}, taints=["a=b:NoSchedule"], unschedulable=True),
        make_node("node-0", cpu="8", labels={"zone": "other"}, taints=["a=b:NoSchedule"], unschedulable=True),
        make_node("node-9"),
    ):
        world.put(changed)
        assert has_changed()
    assert versions == sorted(versions)


def test_pages_of_nodes_belong_together() -> None:
    world = World(nodes=5)
    first = world.questions.nodes(limit=3)
    rest = world.questions.nodes(begin=3, limit=3, version=first["version"])
    assert first["names"] + rest["names"] == world.questions.nodes()["names"]
    world.put(make_node("new"))
    with pytest.raises(Problem) as raised:
        world.questions.nodes(begin=3, limit=3, version=first["version"])
    assert raised.value.code == 410


def test_what_changed_of_the_usage() -> None:
    world = World(nodes=40)
    usage = world.questions.usage()
    assert usage.changes() is None
    world.put(make_pod("p", node="node-7", requests={"cpu": "1"}, uid="p"))
    told = usage.changes()
    assert told is not None
    row = world.questions.nodes()["names"].index("node-7")
    assert told["rows"] == [row]
    assert (told["requested"]["cpu"], told["requested"]["pods"]) == ([1000], [1])
    assert usage.changes() is None
    for number in range(30):
        world.put(make_pod(f"p-{number}", node=f"node-{number}", uid=f"{number}"))
    told = usage.changes()
    assert told is not None and told["all"] and len(told["requested"]["cpu"]) == 40
    world.put(make_node("new"))
    told = usage.changes()
    assert told is not None and told["all"] and told["version"] == world.questions.nodes()["version"]


# The queue


def queue(world: World, **how: Any) -> tuple[list[dict[str, Any]], Any]:
    told, following = run(lambda: world.questions.queue(**how))
    return told["pods"], following


def test_a_pod_that_waits() -> None:
    world = World()
    world.pod("big", cpu="100", priority=7)
    world.schedule()
    [told], following = queue(world)
    assert following is None
    assert told["pod"] == {"namespace": "default", "name": "big", "uid": "uid-big"}
    assert (told["where"], told["profile"], told["priority"]) == ("unschedulable", "default-scheduler", 7)
    assert (told["since"], told["firstAttempt"], told["tries"]) == (START, START, 1)
    assert (told["plugins"], told["lastAttempt"]) == (["NodeResourcesFit"], 1)
    assert told["message"].startswith("0/3 nodes are available: 3 Insufficient cpu.")
    assert {"NodeAdd", "NodeUpdateNodeAllocatable", "PodDelete"} <= {*told["waitsFor"]}
    assert (told["backoffUntil"], told["nominatedNode"], told["gatedBy"], told["owner"]) == (
        None,
        "",
        "",
        None,
    )


def test_a_pod_that_is_gated() -> None:
    world = World()
    world.pod("held", schedulingGates=[{"name": "example.com/quota"}])
    world.schedule()
    [told], _ = queue(world)
    assert (told["where"], told["gatedBy"], told["tries"]) == ("gated", "SchedulingGates", 0)
    assert "example.com/quota" in told["message"]


def test_the_queue_page_by_page() -> None:
    world = World()
    for number in range(25):
        world.pod(f"big-{number:02}", cpu="100")
    world.schedule()
    world.pod("fresh")
    seen: list[str] = []
    after = None
    while True:
        pods, after = queue(world, where="unschedulable", limit=10, after=after)
        seen += [each["pod"]["name"] for each in pods]
        if after is None:
            break
        world.scheduler.door.remove(world.client.pods[f"default/{seen[0]}"])  # what is gone is not missed
    assert seen == [f"big-{number:02}" for number in range(25)]
    [fresh], _ = queue(world, where="active")
    assert fresh["pod"]["name"] == "fresh"
    assert len(queue(world, search="BIG-1")[0]) == 10
    assert len(queue(world, search="noderesources")[0]) == 24


def test_waiting_pods_by_cause() -> None:
    world = World()
    for number in range(12):
        world.pod(f"big-{number:02}", cpu=f"{100 + number}")
    for number in range(3):
        world.pod(f"far-{number}", nodeSelector={"zone": "mars"})
    world.pod("held", schedulingGates=[{"name": "quota"}])
    world.schedule()
    told = run(lambda: world.questions.pending())
    assert told["pods"] == 16
    assert [(group["cause"], group["count"]) for group in told["groups"]][:2] == [
        ("Insufficient cpu", 12),
        ("node(s) didn't match Pod's node affinity/selector", 3),
    ]
    first = told["groups"][0]
    assert (first["plugins"], first["tries"], first["oldest"]) == (["NodeResourcesFit"], 12, START)
    assert first["pods"] == [f"default/big-{number:02}" for number in range(10)]
    assert "best" not in told


def test_the_one_change_that_frees_the_most_pods() -> None:
    world = World(nodes=0)
    world.put(make_node("a", cpu="4", taints=["gpu=true:NoSchedule"]))
    world.put(make_node("b", cpu="1"))
    for number in range(3):
        world.pod(f"two-{number}", cpu="2")
    world.schedule()
    told = run(lambda: world.questions.pending(advise=True))
    assert told["best"]["frees"] == 2
    assert told["best"]["suggestion"]["then"] == "fits"
    assert len(told["best"]["pods"]) == 2
    assert all(group["advice"] is not None for group in told["groups"])


# Pods


def pod(world: World, name: str, **how: Any) -> dict[str, Any]:
    return run(lambda: world.questions.pod("default", name, **how))


def test_the_story_of_a_pod() -> None:
    world = World()
    world.pod("big", cpu="5")
    world.schedule()
    world.put(make_node("node-0", cpu="2"))
    told = pod(world, "big", advise=True)
    assert (told["state"], told["node"], told["tries"]) == ("pending", "", 1)
    assert told["closest"]["resource"] == "cpu"
    assert [each["number"] for each in told["attempts"]] == [1]
    assert told["last"]["filters"]
    assert told["queue"]["where"] in ("unschedulable", "backoff", "active")
    assert any("cpu request were" in each["text"] for each in told["advice"])
    assert told["words"]
    world.put(make_node("node-9", cpu="8"))
    world.now += 60
    world.scheduler.queue.flush_backoff()
    world.schedule()
    told = pod(world, "big")
    assert (told["state"], told["node"], told["tries"], told["queue"]) == ("placed", "node-9", 2, None)
    assert [each["outcome"] for each in told["attempts"]] == ["bound", "unschedulable"]
    world.scheduler.door.remove(world.client.pods["default/big"])
    assert pod(world, "big")["state"] == "unknown"


def test_a_pod_that_nobody_knows() -> None:
    with pytest.raises(Problem) as raised:
        pod(World(), "nobody")
    assert (raised.value.code, raised.value.message) == (
        404,
        "neither the scheduler nor its log knows a pod default/nobody",
    )


def test_a_pod_of_another_scheduler_is_unknown() -> None:
    world = World()
    world.pod("other", scheduler="another")
    assert pod(world, "other")["state"] == "unknown"


# Plugins


class Picky(FilterPlugin):
    """Rejects one node."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable("not here") if node.name == "node-0" else None


def test_what_plugins_took() -> None:
    world = World(Picky)
    world.pod("a")
    world.schedule()
    told = {each["name"]: each for each in world.questions.plugins()["plugins"]}
    assert not told["Picky"]["inTree"] and told["NodeResourcesFit"]["inTree"]
    [point] = told["Picky"]["points"]
    assert point["point"] == "Filter" and point["calls"] >= point["samples"] >= 1
    assert 0 < point["mean"] <= point["seconds"] and point["p99"] > 0


def test_an_attempt_that_is_not_there() -> None:
    world = World()
    with pytest.raises(Problem, match="there is no attempt 7: none is kept"):
        world.questions.attempt(7)
    world.pod("a")
    world.schedule()
    with pytest.raises(Problem, match="there is no attempt 7: kept are 1 to 1"):
        world.questions.attempt(7)
