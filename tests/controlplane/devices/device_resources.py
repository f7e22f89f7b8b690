"""Extended resources that devices serve, as scenarios and as stories."""

from __future__ import annotations

from typing import Any

from tests.controlplane.devices.device_documents import claim, device_class, devices, exactly, resource_slice
from tests.controlplane.devices.device_scenarios import CANNOT, TWO, D, Scenario, Turn
from tests.controlplane.devices.device_stages import MADE_UP, DeviceStage
from tests.controlplane.schedulers import Document

GPU = "HERE.example/gpu"
CLASSES = [device_class("gpu.HERE", 'device.driver == "gpu.HERE"', extendedResourceName=GPU)]
MINE = f"p{MADE_UP}"


def asks(amount: int = 1, resource: str = GPU, **form: Any) -> Document:
    return {"requests": {resource: str(amount)}, **form}


def container(name: str, amount: int, **more: Any) -> Document:
    amounts = {GPU: str(amount)}
    return {
        "name": name,
        "image": "none",
        "resources": {"requests": {"cpu": "1m", **amounts}, "limits": amounts},
        **more,
    }


def on(node: str) -> Document:
    return {"nodeSelector": {"stage": "HERE", "name": node}}


def served(turn: Turn, *names: str, **more: Any) -> Scenario:
    """With a class for the resource, and devices on n1."""
    listed = [resource_slice(devices(*names))]
    return Scenario(listed, [turn], **{"claims": [], "classes": CLASSES, **more})


SCENARIOS = {
    "resource-of-a-class": served(Turn([], to="n1", gets={MINE: [f"{D}/d1"]}, form=asks()), "d1", "d2"),
    "resource-by-the-name-of-a-class": served(
        Turn(
            [],
            to="n1",
            gets={MINE: [f"{D}/d1"]},
            form=asks(resource="deviceclass.resource.kubernetes.io/gpu.HERE"),
        ),
        "d1",
    ),
    "resource-of-a-device-plugin": served(
        Turn([], to="n2", form=asks() | on("n2")), "d1", nodes=TWO, plugins={"n2": {GPU: "1"}}
    ),
    "resource-of-a-class-beside-a-device-plugin": served(
        Turn([], to="n1", gets={MINE: [f"{D}/d1"]}, form=asks() | on("n1")),
        "d1",
        nodes=TWO,
        plugins={"n2": {GPU: "1"}},
    ),
    "more-than-any-node-has": served(
        Turn([], says=CANNOT, form=asks(3)), "d1", "d2", nodes=TWO, plugins={"n2": {GPU: "1"}}
    ),
    "init-container-borrows": served(
        Turn(
            [],
            to="n1",
            gets={MINE: [f"{D}/d1", f"{D}/d2"]},
            form={"initContainers": [container("init", 2)], "containers": [container("main", 1)]},
        ),
        "d1",
        "d2",
        "d3",
    ),
    "sidecar-and-two-init-containers": served(
        Turn(
            [],
            to="n1",
            gets={MINE: [f"{D}/d{number}" for number in range(1, 6)]},
            form={
                "initContainers": [
                    container("first", 3),
                    container("sidecar", 1, restartPolicy="Always"),
                    container("second", 4),
                ],
                "containers": [container("main", 1)],
            },
        ),
        *(f"d{number}" for number in range(1, 9)),
    ),
    "claim-and-resource": served(
        Turn(["c"], to="n1", gets={"c": [f"{D}/d1"], MINE: [f"{D}/d2"]}, form=asks()),
        "d1",
        "d2",
        claims=[claim("c", exactly(deviceClassName="gpu.HERE"))],
    ),
}


async def claim_that_an_earlier_attempt_left(it: DeviceStage) -> None:
    """It is deleted, for its devices may be on the wrong node; the next attempt makes another one."""
    await it.node("n1")
    listed = resource_slice(devices("d1"))
    await it.make(*CLASSES, listed)
    await it.set()
    await it.comes(**asks(schedulingGates=[{"name": "example.com/wait"}]))
    marked = {"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}
    left = claim("left", exactly("container-0-request-0"), metadata={**await it.owned_by("p"), **marked})
    await it.make(left)
    await it.known("left")
    await it.patch("p", {"spec": {"schedulingGates": None}})
    await it.says("p", "deletion of ResourceClaim completed")
    await it.gone("left")
    await it.change(listed, devices=devices("d1", "d2"))
    await it.bound("p", "n1")


async def claim_and_resource_of_a_device_plugin(it: DeviceStage) -> None:
    """A claim is made for the resource though nothing is to be asked for in it, and deleted again."""
    await it.node("n1", more={GPU: "1"})
    await it.make(*CLASSES, resource_slice(devices("d1")), claim("c"))
    await it.set()
    await it.comes("p", "c", **asks())
    await it.said("p", "nil or empty request mappings")
    await it.ends("p")  # else it would be tried again and again
    await it.gone(MINE)


STORIES = {
    "claim-that-an-earlier-attempt-left": claim_that_an_earlier_attempt_left,
    "claim-and-resource-of-a-device-plugin": claim_and_resource_of_a_device_plugin,
}
