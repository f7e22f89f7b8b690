"""Stories of pods with devices in which something happens between; each is played by both schedulers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.controlplane.devices.device_documents import (
    claim,
    condition,
    device_class,
    devices,
    exactly,
    resource_slice,
    result,
)
from tests.controlplane.devices.device_scenarios import CANNOT, READY, D
from tests.controlplane.devices.device_stages import DeviceStage

Story = Callable[[DeviceStage], Awaitable[None]]

STORIES: dict[str, Story] = {}

NOT_AVAILABLE = "resourceclaim not available on the node"
DEALLOCATED = "deallocation of ResourceClaim completed"
SHORT = "-short"
"""The profile in which devices have little time to become ready."""


def story(play: Story) -> Story:
    STORIES[play.__name__.replace("_", "-")] = play
    return play


# Claims that come late


@story
async def template_whose_claim_comes_late(it: DeviceStage) -> None:
    """Until the claim is there, nothing at all is said of the pod."""
    await it.node("n1")
    await it.make(resource_slice(devices("d1")))
    await it.set()
    await it.comes(resourceClaims=[{"name": "mine", "resourceClaimTemplateName": "some"}])
    await it.comes("other")
    await it.bound("other", "n1")
    assert await it.untold("p")
    await it.make(claim("p-mine", metadata=await it.owned_by("p")))
    made = [{"name": "mine", "resourceClaimName": "p-mine"}]
    await it.patch("p", {"status": {"resourceClaimStatuses": made}}, "/status")
    await it.bound("p", "n1")


@story
async def template_whose_claim_is_named_first(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d1")))
    await it.set()
    await it.comes(resourceClaims=[{"name": "mine", "resourceClaimTemplateName": "some"}])
    made = [{"name": "mine", "resourceClaimName": "p-mine"}]
    await it.patch("p", {"status": {"resourceClaimStatuses": made}}, "/status")
    await it.make(claim("p-mine", metadata=await it.owned_by("p")))
    await it.bound("p", "n1")


@story
async def template_with_a_claim_of_somebody_else(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d1")), claim("p-mine"))
    await it.set()
    await it.comes(resourceClaims=[{"name": "mine", "resourceClaimTemplateName": "some"}])
    made = [{"name": "mine", "resourceClaimName": "p-mine"}]
    await it.patch("p", {"status": {"resourceClaimStatuses": made}}, "/status")
    await it.comes("other")
    await it.bound("other", "n1")
    assert await it.untold("p")


@story
async def claim_that_comes_late(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d1")))
    await it.set()
    await it.comes("p", "c")
    await it.comes("other")
    await it.bound("other", "n1")
    assert await it.untold("p")
    await it.make(claim("c"))
    await it.bound("p", "n1")


# What wakes pods


@story
async def class_that_comes_late(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d1")), claim("c", exactly(deviceClassName="late.HERE")))
    await it.set()
    await it.comes("p", "c")
    await it.says("p", "does not exist")
    await it.make(device_class("late.HERE", 'device.driver == "gpu.HERE"'))
    await it.bound("p", "n1")


@story
async def devices_that_come_late(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(claim("c"))
    await it.set()
    await it.comes("p", "c")
    await it.says("p", CANNOT)
    await it.make(resource_slice(devices("d1")))
    await it.bound("p", "n1")


@story
async def pool_that_is_completed(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d1"), name="one", of=2), claim("c"))
    await it.set()
    await it.comes("p", "c")
    await it.says("p", CANNOT)
    await it.make(resource_slice(devices("d2"), name="two", of=2))
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d1")


@story
async def taint_that_is_taken_away(it: DeviceStage) -> None:
    await it.node("n1")
    tainted = resource_slice(devices("d1", taints=[{"key": "broken", "effect": "NoSchedule"}]))
    await it.make(tainted, claim("c"))
    await it.set()
    await it.comes("p", "c")
    await it.says("p", CANNOT)
    await it.change(tainted, devices=devices("d1"))
    await it.bound("p", "n1")


@story
async def device_that_is_given_back(it: DeviceStage) -> None:
    """The pod goes, and the controller of claims frees its devices."""
    await it.node("n1")
    await it.make(resource_slice(devices("d1")), claim("first"), claim("c"))
    await it.set()
    await it.comes("old", "first")
    await it.bound("old", "n1")
    await it.comes("p", "c")
    await it.says("p", CANNOT)
    await it.ends("old")
    await it.release("first")
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d1")


# Claims that keep a pod from nodes


@story
async def claim_that_is_allocated_on_another_node(it: DeviceStage) -> None:
    """Nobody uses it, so it is freed, and allocated where the pod may be."""
    for name in ("n1", "n2"):
        await it.node(name)
        await it.make(resource_slice(devices("d1"), on=name))
    await it.make(claim("c"))
    await it.allocate("c", result(f"{D}/d1"), on="n1")
    it.is_chance(DEALLOCATED)
    await it.set()
    await it.comes("p", "c", on="n2")
    await it.bound("p", "n2")
    await it.has("c", "gpu.HERE/n2.HERE/d1")


@story
async def claim_that_another_pod_uses_elsewhere(it: DeviceStage) -> None:
    for name in ("n1", "n2"):
        await it.node(name)
        await it.make(resource_slice(devices("d1"), on=name))
    await it.make(claim("c"))
    await it.set()
    await it.comes("user", "c", on="n1")
    await it.bound("user", "n1")
    await it.comes("p", "c", on="n2")
    await it.says("p", f"{NOT_AVAILABLE}, ")
    await it.says("p", "still not schedulable")


# Devices that take time


@story
async def conditions_that_come_true(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d1", **READY)), claim("c"))
    await it.set()
    await it.comes("p", "c")
    await it.reserved("c", "p")
    await it.told("BindingConditionsPending")
    await it.driver_says("c", result(f"{D}/d1"), condition("Ready"))
    await it.bound("p", "n1")


@story
async def conditions_that_are_true_already(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d1", **READY)), claim("c"))
    await it.allocate("c", result(f"{D}/d1", **READY), on="n1")
    await it.driver_says("c", result(f"{D}/d1"), condition("Ready"))
    await it.set()
    await it.comes("p", "c")
    await it.bound("p", "n1")
    await it.told("BindingConditionsPending")


@story
async def condition_of_failure(it: DeviceStage) -> None:
    """The claim is given up and allocated anew, with a device that can be had by then."""
    await it.node("n1")
    slow = resource_slice(devices("d1", **READY))
    await it.make(slow, claim("c"))
    it.is_chance(DEALLOCATED)
    await it.set()
    await it.comes("p", "c")
    await it.reserved("c", "p")
    await it.change(slow, devices=devices("d2"))
    failed = condition("Broken", reason="Smoke", message='it "smokes"')
    await it.driver_says("c", result(f"{D}/d1"), failed)
    await it.said("p", "device binding failed")
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d2")


@story
async def device_that_is_never_ready(it: DeviceStage) -> None:
    await it.node("n1")
    slow = resource_slice(devices("d1", **READY))
    await it.make(slow, claim("c"))
    it.is_chance(DEALLOCATED)
    await it.set()
    await it.comes("p", "c", schedulerName=it.scheduler + SHORT)
    await it.reserved("c", "p")
    await it.change(slow, devices=devices("d2"))
    await it.said("p", "device binding timeout: context deadline exceeded")
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d2")


@story
async def failure_before_the_pod_comes(it: DeviceStage) -> None:
    await it.node("n1")
    await it.make(resource_slice(devices("d2")), claim("c"))
    await it.allocate("c", result(f"{D}/d1", **READY), on="n1")
    await it.driver_says("c", result(f"{D}/d1"), condition("Broken"))
    it.is_chance(DEALLOCATED)
    await it.set()
    await it.comes("p", "c")
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d2")


# Room for pods with devices


@story
async def preemption_by_a_pod_with_a_claim(it: DeviceStage) -> None:
    await it.node("n1", cpu="4")
    await it.make(resource_slice(devices("d1")), claim("c"))
    await it.runs("low", "n1")
    await it.set()
    await it.comes("p", "c", cpu="4")
    await it.makes_room("low", name="p", on="n1")
    await it.has("c", f"{D}/d1")
