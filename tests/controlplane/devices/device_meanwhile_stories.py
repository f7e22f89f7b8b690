"""Stories of pods with devices in which somebody else is faster, or the API server is slow.

Schedulers are behind a gateway that keeps their requests back, so that there is no chance in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.controlplane.devices.device_documents import claim, condition, devices, resource_slice, result
from tests.controlplane.devices.device_scenarios import CANNOT, D
from tests.controlplane.devices.device_stages import DeviceStage
from tests.faults.gateway import refuse, slow

Story = Callable[[DeviceStage], Awaitable[None]]

STORIES: dict[str, Story] = {}

CLAIM, STATUS, BINDING = "resourceclaims/c$", "resourceclaims/c/status", "pods/p/binding"
SLOW_SECONDS = 3.0
"""Longer than a pod has to wait before it is tried again."""


def story(play: Story) -> Story:
    STORIES[play.__name__.replace("_", "-")] = play
    return play


async def furnish(it: DeviceStage, *names: str, claims: tuple[str, ...] = ("c",)) -> None:
    """A node with these devices, and claims for one."""
    await it.node("n1")
    await it.make(resource_slice(devices(*names or ("d1",))), *map(claim, claims))


# Others want the same


@story
async def device_that_is_promised(it: DeviceStage) -> None:
    await furnish(it, claims=("c", "other"))
    await it.set()
    async with it.held("PUT", STATUS):
        await it.comes("p", "c")
        await it.arrived()
        await it.comes("second", "other")
        await it.says("second", CANNOT)
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d1")


@story
async def claim_that_is_being_allocated(it: DeviceStage) -> None:
    await furnish(it)
    await it.set()
    async with it.held("PUT", STATUS):
        await it.comes("p", "c")
        await it.arrived()
        await it.comes("second", "c")
        await it.says("second", "is in the process of being allocated")
    await it.bound("p", "n1")
    await it.bound("second", "n1")
    await it.reserved("c", "p", "second")


# Others change the claim


@story
async def driver_that_tells_of_its_device(it: DeviceStage) -> None:
    await furnish(it)
    await it.allocate("c", result(f"{D}/d1"), on="n1")
    await it.set()
    async with it.held("PUT", STATUS):
        await it.comes("p", "c")
        await it.arrived()
        await it.driver_says("c", result(f"{D}/d1"), condition("Warm"))
    await it.bound("p", "n1")
    await it.reserved("c", "p")


@story
async def label_before_the_finalizer(it: DeviceStage) -> None:
    await furnish(it)
    await it.set()
    async with it.held("PUT", CLAIM):
        await it.comes("p", "c")
        await it.arrived()
        await it.patch_claim("c", {"metadata": {"labels": {"team": "blue"}}})
    await it.bound("p", "n1")


@story
async def label_before_the_allocation(it: DeviceStage) -> None:
    await furnish(it)
    await it.set()
    async with it.held("PUT", STATUS):
        await it.comes("p", "c")
        await it.arrived()
        await it.patch_claim("c", {"metadata": {"annotations": {"team": "blue"}}})
    await it.bound("p", "n1")


@story
async def claim_that_somebody_allocates(it: DeviceStage) -> None:
    await furnish(it, "d1", "d2")
    await it.set()
    async with it.held("PUT", STATUS):
        await it.comes("p", "c")
        await it.arrived()
        await it.allocate("c", result(f"{D}/d2"), on="n1")
    await it.said("p", "got allocated elsewhere in the meantime")
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d2")
    await it.reserved("c", "p")


@story
async def claim_that_somebody_frees(it: DeviceStage) -> None:
    await furnish(it, "d1", "d2")
    await it.allocate("c", result(f"{D}/d2"), on="n1")
    await it.set()
    async with it.held("PUT", STATUS):
        await it.comes("p", "c")
        await it.arrived()
        await it.release("c")
    await it.said("p", "got deallocated elsewhere in the meantime")
    await it.bound("p", "n1")
    await it.has("c", f"{D}/d1")


@story
async def claim_that_is_deleted(it: DeviceStage) -> None:
    """It stays while it has a finalizer; a new one of that name is another one."""
    await furnish(it)
    await it.set()
    async with it.held("PUT", STATUS):
        await it.comes("p", "c")
        await it.arrived()
        await it.remove_claim("c")
    await it.said("p", "got deleted in the meantime")
    await it.patch_claim("c", {"metadata": {"finalizers": None}})
    await it.gone("c")
    await it.make(claim("c"))
    await it.bound("p", "n1")
    await it.reserved("c", "p")


@story
async def claim_that_is_gone(it: DeviceStage) -> None:
    await furnish(it)
    await it.set()
    async with it.held("PUT", CLAIM):
        await it.comes("p", "c")
        await it.arrived()
        await it.remove_claim("c")
        await it.gone("c")
    await it.said("p", 'resourceclaims.resource.k8s.io "c" not found')
    await it.make(claim("c"))
    await it.bound("p", "n1")


# What comes before and after


@story
async def bind_that_fails(it: DeviceStage) -> None:
    """The reservation is taken back; the next attempt begins with the allocation."""
    await furnish(it, "d1", "d2")
    await it.set()
    with it.spoiled(refuse(500), "POST", BINDING):
        await it.comes("p", "c")
        await it.said("p", "refused by the test")
        await it.bound("p", "n1")
    await it.has("c", f"{D}/d1")
    await it.reserved("c", "p")


@story
async def bind_that_fails_and_slow_answers(it: DeviceStage) -> None:
    """The pod is not bound before its reservation is taken back and written again."""
    await furnish(it)
    await it.set()
    with it.spoiled(refuse(500), "POST", BINDING), it.spoiled(slow(SLOW_SECONDS), "PATCH", STATUS):
        await it.comes("p", "c")
        await it.said("p", "refused by the test")
        await it.bound("p", "n1")
        await it.reserved_again("c", "p")


@story
async def allocation_that_is_refused(it: DeviceStage) -> None:
    """The promise is taken back, so that others can have the device."""
    await furnish(it, claims=("c", "other"))
    await it.set()
    with it.spoiled(refuse(403), "PUT", STATUS, times=10**9):
        await it.comes("p", "c")
        await it.said("p", "refused by the test")
        await it.comes("second", "other")
        await it.bound("second", "n1")
        await it.says("p", CANNOT)
    await it.has("other", f"{D}/d1")
