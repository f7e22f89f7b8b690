"""PodGroups from end to end: the API server of the embedded cluster, its nodes, and the scheduler."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from moorage.config.feature_gates import FeatureGates
from moorage.plugins.catalog import in_tree_registry
from moorage.process.informers import Informers
from moorage.scheduler.profiles import default_configuration
from moorage.scheduler.scheduler import Scheduler
from tests import fake_time
from tests.cli.running import node
from tests.cluster.api_worlds import PODS, START, World, living
from tests.workloads.group_worlds import GANGS, WAITS

GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"


def test_a_gang_waits_for_room_and_then_runs(tmp_path: Path) -> None:
    fake_time.run(_gang_that_waits(tmp_path))


async def _gang_that_waits(folder: Path) -> None:
    registry, gates = in_tree_registry(), FeatureGates(GANGS)
    names = [gate.name for gate in gates.all() if gate.enabled]
    async with living(folder, [node("a")], gates=names) as world:
        await asyncio.sleep(1)  # the service account of the namespace comes
        client = world.cluster.scheduler_client("moorage/scheduler")
        scheduler = Scheduler(
            default_configuration(registry, gates=gates),
            registry,
            client=client,
            clock=lambda: START + fake_time.now(),
            gates=gates,
        )
        informers = Informers(client.http, scheduler.door, scheduler.profiles.values())
        await client.http.__aenter__()
        informers.start()
        await informers.wait_synced()
        scheduling = asyncio.create_task(scheduler.run())
        _create_gang(world, "g", 3)
        await asyncio.sleep(3)
        assert _nodes(world, "g") == ["", "", ""]
        assert _condition(world, "g")["reason"] == "Unschedulable"
        told = {_why(world, f"g-{place}") for place in range(3)}
        assert WAITS in told
        assert len(told) == 2
        world.create("/api/v1/nodes", node("b"))
        await asyncio.sleep(30)
        assert sorted(_nodes(world, "g")) == ["a", "a", "b"]
        condition = _condition(world, "g")
        condition.pop("lastTransitionTime")
        assert condition == {
            "type": "PodGroupScheduled",
            "status": "True",
            "reason": "Scheduled",
            "message": "",
        }
        assert {_pod(world, f"g-{place}")["status"]["phase"] for place in range(3)} == {"Running"}
        _create_gang(world, "h", 5, pods=4)
        await asyncio.sleep(3)
        assert _nodes(world, "h") == [""] * 4
        assert "conditions" not in world.get(f"{GROUPS}/h")["status"]
        world.done("DELETE", f"{GROUPS}/h")
        await asyncio.sleep(1)
        assert "deletionTimestamp" in world.get(f"{GROUPS}/h")["metadata"]  # its pods name it
        for place in range(4):
            world.done("DELETE", f"{PODS}/h-{place}", {"gracePeriodSeconds": 0})
        await asyncio.sleep(1)
        assert world.ask("GET", f"{GROUPS}/h").code == 404
        scheduler.stop()
        await scheduling
        await informers.stop()
        await client.http.close()


def _create_gang(world: World, name: str, minimum: int, pods: int | None = None) -> None:
    policy = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    world.create(GROUPS, {"metadata": {"name": name}, "spec": policy})
    for place in range(pods or minimum):
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1900m"}}}
        spec = {"containers": [container], "schedulingGroup": {"podGroupName": name}}
        world.create(PODS, {"metadata": {"name": f"{name}-{place}"}, "spec": spec})


def _pod(world: World, name: str) -> dict[str, Any]:
    return world.get(f"{PODS}/{name}")


def _nodes(world: World, group: str) -> list[str]:
    pods = world.get(PODS)["items"]
    named = (pod for pod in pods if pod["spec"]["schedulingGroup"]["podGroupName"] == group)
    return [pod["spec"].get("nodeName", "") for pod in named]


def _why(world: World, name: str) -> str:
    conditions = _pod(world, name)["status"].get("conditions", ())
    return next((str(each.get("message", "")) for each in conditions if each["type"] == "PodScheduled"), "")


def _condition(world: World, group: str) -> dict[str, Any]:
    [condition] = world.get(f"{GROUPS}/{group}")["status"]["conditions"]
    assert isinstance(condition, dict)
    return condition
