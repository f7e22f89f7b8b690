"""IPAddresses of Services."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.cluster.api_worlds import World
from tests.cluster.objects.test_cluster_registrations import SERVICES, in_world

ROOT = "/apis/networking.k8s.io/v1"


def addresses(world: World) -> dict[str, str]:
    found = world.get(f"{ROOT}/ipaddresses")["items"]
    return {each["metadata"]["name"]: each["spec"]["parentRef"]["name"] for each in found}


def test_addresses_come_and_go_with_services(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        assert addresses(world) == {"10.96.0.1": "kubernetes"}
        port = {"port": 80}
        made = world.create(SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [port]}})
        world.create(SERVICES, {"metadata": {"name": "b"}, "spec": {"clusterIP": "None"}})
        await asyncio.sleep(1)
        given = made["spec"]["clusterIP"]
        assert addresses(world) == {"10.96.0.1": "kubernetes", given: "a"}
        found = world.get(f"{ROOT}/ipaddresses/{given}")
        assert found["metadata"]["labels"] == {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }
        world.done("DELETE", f"{SERVICES}/a")
        await asyncio.sleep(1)
        assert addresses(world) == {"10.96.0.1": "kubernetes"}

    in_world(tmp_path, test)


def test_the_default_range_is_ready(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        [condition] = world.get(f"{ROOT}/servicecidrs/kubernetes")["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Ready", "True")

    in_world(tmp_path, test)
