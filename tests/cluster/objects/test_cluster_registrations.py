"""APIServices of what is served, and of what others are to serve."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from moorage.cluster.base.store import Document
from tests import fake_time
from tests.cluster.api_worlds import World, living
from tests.embedded.api_samples import crd

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SERVICES = "/api/v1/namespaces/default/services"
NAME = "v1beta1.metrics.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def in_world(folder: Path, test: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        async with living(folder) as world:
            await asyncio.sleep(1)
            await test(world)

    fake_time.run(main())


def foreign(world: World) -> Document:
    spec = {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100}
    spec |= {"versionPriority": 100, "service": {"name": "metrics", "namespace": "default"}}
    return world.create(API_SERVICES, {"metadata": {"name": NAME}, "spec": spec})


def available(world: World, name: str = NAME) -> Document:
    [condition] = world.get(f"{API_SERVICES}/{name}")["status"]["conditions"]
    found: Document = condition
    return found


def test_all_groups_but_their_own_are_local(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        groups = {
            version["groupVersion"] for group in world.get("/apis")["groups"] for version in group["versions"]
        }
        wanted = {f"{each.partition('/')[2]}.{each.partition('/')[0]}" for each in groups}
        wanted = wanted - {"v1.apiregistration.k8s.io"} | {"v1."}
        names = {each["metadata"]["name"] for each in world.get(API_SERVICES)["items"]}
        assert names == wanted
        for name in names:
            assert (available(world, name)["status"], available(world, name)["reason"]) == ("True", "Local")

    in_world(tmp_path, test)


def test_the_groups_of_custom_resources_come_and_go(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        world.create(definitions, crd())
        await asyncio.sleep(1)
        found = world.get(f"{API_SERVICES}/v1.shop.example.com")
        assert found["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
        assert (found["spec"]["groupPriorityMinimum"], found["spec"]["versionPriority"]) == (1000, 100)
        world.done("DELETE", f"{definitions}/gadgets.shop.example.com")
        await asyncio.sleep(1)
        assert world.ask("GET", f"{API_SERVICES}/v1.shop.example.com").code == 404

    in_world(tmp_path, test)


def test_why_another_server_cannot_be_reached(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        foreign(world)
        await asyncio.sleep(1)
        assert available(world)["reason"] == "ServiceNotFound"
        assert available(world)["message"] == 'service/metrics in "default" is not present'
        since = available(world)["lastTransitionTime"]
        port = {"port": 80, "name": "https"}
        made = world.create(SERVICES, {"metadata": {"name": "metrics"}, "spec": {"ports": [port]}})
        await asyncio.sleep(1)
        assert available(world)["reason"] == "ServicePortError"
        world.done(
            "PUT", f"{SERVICES}/metrics", {**made, "spec": {**made["spec"], "ports": [{**port, "port": 443}]}}
        )
        await asyncio.sleep(1)
        assert available(world)["reason"] == "EndpointsNotFound"
        slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
        labels = {"kubernetes.io/service-name": "metrics"}
        slice_ = {"metadata": {"name": "s", "labels": labels}, "addressType": "IPv4", "endpoints": []}
        world.create(slices, slice_)
        await asyncio.sleep(1)
        assert available(world)["reason"] == "MissingEndpoints"
        made = world.get(f"{slices}/s")
        full = {"endpoints": [{"addresses": ["10.0.0.1"]}], "ports": [{"name": "https", "port": 443}]}
        world.done("PUT", f"{slices}/s", {**made, **full})
        await asyncio.sleep(1)
        found = available(world)
        assert found["reason"] == "FailedDiscoveryCheck"
        assert found["message"].startswith("failing or missing response from https://10.96.")
        assert (found["status"], found["lastTransitionTime"]) == ("False", since)

    in_world(tmp_path, test)


@pytest.mark.parametrize("path", ["", "/nodes", "/namespaces/default/pods/x"])
def test_what_is_asked_of_another_server(tmp_path: Path, path: str) -> None:
    async def test(world: World) -> None:
        address = f"/apis/metrics.k8s.io/v1beta1{path}"
        assert world.ask("GET", address).code == 404
        foreign(world)
        await asyncio.sleep(1)
        reply = world.ask("GET", address)
        assert (reply.code, reply.document) == (503, "service unavailable\n")
        assert "metrics.k8s.io" in [each["name"] for each in world.get("/apis")["groups"]]
        groups = world.get("/apis", accept=AGGREGATED)["items"]
        [found] = [each for each in groups if each["metadata"]["name"] == "metrics.k8s.io"]
        assert found["versions"] == [{"version": "v1beta1", "freshness": "Stale"}]
        world.done("DELETE", f"{API_SERVICES}/{NAME}")
        assert world.ask("GET", address).code == 404
        names = [each["metadata"]["name"] for each in world.get("/apis", accept=AGGREGATED)["items"]]
        assert "metrics.k8s.io" not in names

    in_world(tmp_path, test)


def test_flow_schemas_tell_whether_their_level_is_there(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        root = "/apis/flowcontrol.apiserver.k8s.io/v1"
        spec = {"priorityLevelConfiguration": {"name": "mine"}}
        world.create(f"{root}/flowschemas", {"metadata": {"name": "one"}, "spec": spec})
        await asyncio.sleep(1)

        def dangling(name: str) -> tuple[str, str]:
            [condition] = world.get(f"{root}/flowschemas/{name}")["status"]["conditions"]
            return condition["status"], condition["reason"]

        assert dangling("one") == ("True", "NotFound")
        assert dangling("probes") == ("False", "Found")
        level = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
        levels = f"{root}/prioritylevelconfigurations"
        world.create(levels, {"metadata": {"name": "mine"}, "spec": level})
        await asyncio.sleep(1)
        assert dangling("one") == ("False", "Found")
        world.done("DELETE", f"{levels}/mine")
        await asyncio.sleep(1)
        assert dangling("one") == ("True", "NotFound")

    in_world(tmp_path, test)
