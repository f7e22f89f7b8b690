"""A scheduler is killed between choosing volumes and binding pods; another one finishes the work."""

import os
import signal
from collections import Counter
from collections.abc import Callable

import pytest

from tests.controlplane.observing import Assignments
from tests.controlplane.schedulers import Api, moorage
from tests.controlplane.servers import ControlPlane, wait_for
from tests.controlplane.volume_scenarios import STATIC
from tests.controlplane.volume_worlds import COMPLETED, HOST, SELECTED, World, affinity

PODS = 12
WAYS = ("static", "provisioned")


def fill(world: World) -> None:
    """Pods that want one of as many volumes, and pods whose volumes are to be made."""
    for number in range(4):
        world.node(f"n{number}")
    world.storage_class("static", **STATIC)
    world.storage_class("provisioned")
    for number in range(PODS):
        world.volume(f"disk-{number}", "static", nodeAffinity=affinity(HOST, world.full(f"n{number % 4}")))
        for way in WAYS:
            world.claim(f"{way}-{number}", way)
    for number in range(PODS):
        for way in WAYS:
            world.pod(f"{way}-{number}", f"{way}-{number}")


def play_controllers(world: World) -> bool:
    """Completes what the scheduler began, as far as it got; says whether all pods have nodes."""
    claims = {each["metadata"]["name"]: each for each in world.api.items("persistentvolumeclaims")}
    for volume in world.api.items("persistentvolumes"):
        reference = volume["spec"].get("claimRef") or {}
        claim = claims.get(reference.get("name"))
        if claim and reference.get("uid") and COMPLETED not in claim["metadata"].get("annotations", {}):
            world.hand_over(reference["name"], volume["metadata"]["name"].removeprefix(f"{world.name}-"))
    for name, claim in claims.items():
        node = claim["metadata"].get("annotations", {}).get(SELECTED)
        if node and not claim["spec"].get("volumeName"):
            world.volume(f"for-{name}", "provisioned", claim=name, nodeAffinity=affinity(HOST, node))
            world.hand_over(name, f"for-{name}")
    return len(world.api.bound()) == len(WAYS) * PODS


def first_write(world: World) -> bool:
    return begun(world) > 0


def all_writes(world: World) -> bool:
    return begun(world) == len(WAYS) * PODS


def begun(world: World) -> int:
    """How many volumes and claims show that the scheduler chose."""
    volumes = world.api.items("persistentvolumes")
    claims = world.api.items("persistentvolumeclaims")
    return sum(1 for each in volumes if each["spec"].get("claimRef")) + sum(
        1 for each in claims if SELECTED in each["metadata"].get("annotations", {})
    )


@pytest.mark.parametrize("moment", [first_write, all_writes], ids=["first-write", "all-writes"])
def test_another_scheduler_finishes(control_plane: ControlPlane, moment: Callable[[World], bool]) -> None:
    api = Api(control_plane)
    world = World(api, "moorage", moment.__name__.replace("_", "-"))
    with Assignments(control_plane) as assignments:
        with moorage(control_plane) as first:
            fill(world)
            wait_for("the moment to kill the scheduler", lambda: moment(world), seconds=60)
            os.kill(first.pid, signal.SIGKILL)
        with moorage(control_plane):
            wait_for("all pods to have nodes", lambda: play_controllers(world), seconds=90)
        assert assignments.moved() == {}
    claims = {each["metadata"]["name"]: each for each in api.items("persistentvolumeclaims")}
    volumes = {each["metadata"]["name"]: each for each in api.items("persistentvolumes")}
    used = Counter(claim["spec"]["volumeName"] for claim in claims.values())
    assert set(used.values()) == {1}
    assert set(used) == set(volumes)
    for name, claim in claims.items():
        volume = volumes[claim["spec"]["volumeName"]]
        assert volume["spec"]["claimRef"]["name"] == name
        [term] = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == [world.get_pod(name)["spec"]["nodeName"]]
    remove_everything(api)


def remove_everything(api: Api) -> None:
    """For the next test; nothing protects claims and volumes here that a controller would release."""
    api.delete_all("pods", "nodes")
    for plural in ("persistentvolumeclaims", "persistentvolumes"):
        for each in api.items(plural):
            space = each["metadata"].get("namespace")
            path = f"/api/v1{f'/namespaces/{space}' if space else ''}/{plural}/{each['metadata']['name']}"
            api.request("PUT", path, {**each, "metadata": {**each["metadata"], "finalizers": []}})
        api.delete_all(plural)
