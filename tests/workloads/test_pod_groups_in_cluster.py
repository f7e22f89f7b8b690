"""PodGroups from end to end: the API server of the embedded cluster, its nodes, and the scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
from tests.plugins.devices.device_objects import device_class, exactly, resource_slice
from tests.workloads.group_worlds import GANGS, WAITS

GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
DEVICES = "/apis/resource.k8s.io/v1"


def test_a_gang_waits_for_room_and_then_runs(tmp_path: Path) -> None:
    fake_time.run(_gang_that_waits(tmp_path))


@asynccontextmanager
async def _scheduled(folder: Path, nodes: list[str], switched: str = GANGS) -> AsyncIterator[World]:
    """A cluster with a scheduler, both with these gates."""
    registry, gates = in_tree_registry(), FeatureGates(switched)
    names = [gate.name for gate in gates.all() if gate.enabled]
    async with living(folder, [*map(node, nodes)], gates=names) as world:
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
        yield world
        scheduler.stop()
        await scheduling
        await informers.stop()
        await client.http.close()


async def _gang_that_waits(folder: Path) -> None:
    async with _scheduled(folder, ["a"]) as world:
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


def test_a_gang_shares_a_claim_that_is_made_for_it(tmp_path: Path) -> None:
    fake_time.run(_gang_with_a_claim(tmp_path))


async def _gang_with_a_claim(folder: Path) -> None:
    async with _scheduled(folder, ["a", "b"], f"{GANGS},DRAWorkloadResourceClaims=true") as world:
        selector = 'device.driver == "gpu.example.com"'
        world.create(f"{DEVICES}/deviceclasses", device_class("gpu", selector))
        for each in ("a", "b"):
            made = resource_slice(f"{each}-gpus", ["gpu-0"], pool=each, nodeName=each)
            world.create(f"{DEVICES}/resourceslices", made)
        shared = {"name": "gpus", "resourceClaimTemplateName": "gpus"}
        _create_gang(world, "g", 2, claim=shared)
        await asyncio.sleep(3)
        assert _nodes(world, "g") == ["", ""]  # the template is missing
        claims = f"{DEVICES}/namespaces/default/resourceclaims"
        template = {"metadata": {"name": "gpus"}, "spec": {"spec": {"devices": {"requests": [exactly()]}}}}
        world.create(f"{claims.removesuffix('s')}templates", template)
        await asyncio.sleep(60)
        [claim] = world.get(claims)["items"]
        group = world.get(f"{GROUPS}/g")
        told = [{"name": "gpus", "resourceClaimName": claim["metadata"]["name"]}]
        assert group["status"]["resourceClaimStatuses"] == told
        assert _pod(world, "g-1")["status"]["resourceClaimStatuses"] == told
        [node_name] = set(_nodes(world, "g"))
        [result] = claim["status"]["allocation"]["devices"]["results"]
        assert result["pool"] == node_name
        uid = group["metadata"]["uid"]
        kind = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups"}
        assert claim["status"]["reservedFor"] == [{**kind, "name": "g", "uid": uid}]
        assert {_pod(world, f"g-{place}")["status"]["phase"] for place in range(2)} == {"Running"}
        for place in range(2):
            world.done("DELETE", f"{PODS}/g-{place}", {"gracePeriodSeconds": 0})
        await asyncio.sleep(1)
        [claim] = world.get(claims)["items"]
        assert claim["status"]["allocation"]  # it is the group's, whose pods may come again
        world.done("DELETE", f"{GROUPS}/g")
        await asyncio.sleep(5)
        assert world.get(claims)["items"] == []


def _create_gang(
    world: World, name: str, minimum: int, pods: int | None = None, claim: dict[str, str] | None = None
) -> None:
    claims = {} if claim is None else {"resourceClaims": [claim]}
    policy = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
    world.create(GROUPS, {"metadata": {"name": name}, "spec": {**policy, **claims}})
    for place in range(pods or minimum):
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1900m"}}}
        spec = {"containers": [container], "schedulingGroup": {"podGroupName": name}, **claims}
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
