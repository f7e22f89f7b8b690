"""What DynamicResources writes before a pod is bound, and what it does when that goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from moorage.api.devices import FINALIZER, ResourceClaim
from moorage.api.pods import Pod
from moorage.client.errors import ApiError, Conflict, NotFound, Unreachable
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Status
from moorage.plugins.devices import binding, releasing
from moorage.plugins.devices.claim_writes import ClaimsInMemory, Document
from moorage.plugins.devices.dynamic_resources import DynamicResources
from moorage.plugins.devices.pod_devices import PodDevices
from tests.plugins.devices.clusters import allocation, claim, claiming, world

READY = "example.com/ready"
FAILED = "example.com/failed"


class Writes(ClaimsInMemory):
    """Does something else before some writes: `before[n]` before the n-th."""

    def __init__(self, plugin: DynamicResources) -> None:
        super().__init__(plugin.handle.services.door)
        self.told: list[str] = []
        self.before: dict[int, Callable[[], None]] = {}
        plugin.devices.writes = self
        plugin.devices.sleep = self.sleep

    async def sleep(self, seconds: float) -> None:
        self.told.append(f"sleep {1000 * seconds:.0f} ms" if seconds >= 1 else "pause")
        self._act()

    def _act(self) -> None:
        act = self.before.pop(len(self.told), None)
        if act is not None:
            act()

    async def get(self, claim: ResourceClaim) -> ResourceClaim:
        self.told.append("get")
        self._act()
        return await super().get(claim)

    async def update(self, document: Document) -> ResourceClaim:
        self.told.append("update")
        self._act()
        return await super().update(document)

    async def update_status(self, document: Document, *, keeps_allocation: bool = False) -> ResourceClaim:
        self.told.append("updateStatus")
        self._act()
        return await super().update_status(document, keeps_allocation=keeps_allocation)

    async def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        self.told.append("pod")

    def change(self, name: str, **status: Any) -> None:
        """Somebody else writes the status of a claim."""
        stored = self._stored(name, "default").raw
        meta = {**stored["metadata"], "resourceVersion": str(int(stored["metadata"]["resourceVersion"]) + 1)}
        self._put({**stored, "metadata": meta, "status": {**stored.get("status", {}), **status}})

    def status(self, name: str) -> Document:
        found: Document = self._stored(name, "default").raw["status"]
        return found


def reserved(plugin: DynamicResources, pod: Pod, node: str = "n1") -> tuple[CycleState, PodDevices]:
    cycle = CycleState()
    assert plugin.pre_filter(cycle, pod) is None
    plugin.filter_nodes(cycle, pod, plugin.handle.nodes)
    assert plugin.reserve(cycle, pod, node) is None
    found = plugin.found(cycle)
    assert found is not None
    return cycle, found


def pre_bind(plugin: DynamicResources, cycle: CycleState, pod: Pod) -> Status | None:
    return asyncio.run(plugin.pre_bind(cycle, pod, "n1"))


def made() -> tuple[DynamicResources, Writes, Pod]:
    _, plugin = world(claim("c"))
    return plugin, Writes(plugin), claiming("p", "c")


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def test_a_claim_is_protected_allocated_and_reserved() -> None:
    plugin, writes, pod = made()
    cycle, _ = reserved(plugin, pod)
    assert plugin.devices.in_use.is_in_flight("uid-of-c")
    assert pre_bind(plugin, cycle, pod) is None
    assert writes.told == ["update", "updateStatus"]
    stored = plugin.devices.claims.get("c", "default")
    assert stored is not None and stored.raw["metadata"]["finalizers"] == [FINALIZER]
    assert writes.status("c")["reservedFor"] == [{"resource": "pods", "name": "p", "uid": pod.uid}]
    assert writes.status("c")["allocation"]["allocationTimestamp"]
    assert not plugin.devices.in_use.is_in_flight("uid-of-c")
    assert plugin.devices.in_use.is_allocated(("gpu.example.com", "n1", "gpu-0"))


def test_a_driver_that_writes_meanwhile_loses_nothing() -> None:
    plugin, writes, pod = made()
    cycle, _ = reserved(plugin, pod)
    told = [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "data": {"unknown": 1}}]
    writes.before[2] = lambda: writes.change("c", devices=told)
    assert pre_bind(plugin, cycle, pod) is None
    assert writes.told == ["update", "updateStatus", "pause", "get", "updateStatus"]
    assert writes.status("c")["devices"] == told


def test_conflicts_without_end_are_given_up() -> None:
    plugin, writes, pod = made()
    cycle, _ = reserved(plugin, pod)
    changed = Conflict(409, "Conflict", "the object has been modified")
    for number in range(1, 20):
        if number % 3 == 1:
            writes.before[number] = raising(changed)
    answer = pre_bind(plugin, cycle, pod)
    assert answer == Status.error("add finalizer to claim default/c: the object has been modified")
    assert writes.told.count("update") == binding.TRIES
    assert not plugin.devices.in_use.is_in_flight("uid-of-c")


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"allocation": allocation("n2")}, "claim default/c got allocated elsewhere in the meantime"),
        ({}, "claim default/c got deleted in the meantime"),
    ],
)
def test_a_claim_that_is_another_by_now(status: Document, text: str) -> None:
    plugin, writes, pod = made()
    cycle, _ = reserved(plugin, pod)

    def change() -> None:
        stored = writes._stored("c", "default")
        stored.raw["metadata"] |= {} if status else {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        writes.change("c", **status)

    writes.before[1] = change
    assert pre_bind(plugin, cycle, pod) == Status.error(text)


def test_a_claim_that_was_freed_meanwhile() -> None:
    _, plugin = world(claim("c", status={"allocation": allocation("n1")}))
    writes, pod = Writes(plugin), claiming("p", "c")
    cycle, _ = reserved(plugin, pod)
    writes.before[1] = lambda: writes.change("c", allocation=None)
    text = "claim default/c got deallocated elsewhere in the meantime"
    assert pre_bind(plugin, cycle, pod) == Status.error(text)


@pytest.mark.parametrize("error", [Unreachable(0, "", "no answer"), ApiError(500, "", "trouble")], ids=str)
@pytest.mark.parametrize("was_done", [True, False])
def test_devices_stay_promised_until_it_is_known_what_was_written(error: ApiError, was_done: bool) -> None:
    plugin, writes, pod = made()
    cycle, found = reserved(plugin, pod)
    given = found.planned[0]

    def fail() -> None:
        if was_done:
            writes.change("c", allocation=given)
            plugin.devices.in_use.remove_claim("default/c")  # the watch has not told of it yet
        raise error

    writes.before[2] = fail
    answer = pre_bind(plugin, cycle, pod)
    assert answer == Status.error(f"add allocation and reservation to claim default/c: {error}")
    plugin.unreserve(cycle, pod, "n1")
    assert plugin.devices.in_use.is_in_flight("uid-of-c"), "it may have been written"
    for uid, unsure in found.unsure.items():
        asyncio.run(binding.settle(plugin.devices, uid, unsure))
    assert not plugin.devices.in_use.is_in_flight("uid-of-c")
    assert plugin.devices.in_use.is_allocated(("gpu.example.com", "n1", "gpu-0")) is was_done


def test_a_write_that_is_cancelled_is_looked_into() -> None:
    plugin, writes, pod = made()
    cycle, found = reserved(plugin, pod)
    writes.before[2] = raising(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        pre_bind(plugin, cycle, pod)
    assert list(found.unsure) == ["uid-of-c"]
    writes.before[3] = raising(NotFound(404, "NotFound", "gone"))
    asyncio.run(binding.settle(plugin.devices, "uid-of-c", found.unsure["uid-of-c"]))
    assert not plugin.devices.in_use.is_in_flight("uid-of-c")


def test_nothing_is_written_by_who_does_not_lead() -> None:
    plugin, writes, pod = made()
    cycle, _ = reserved(plugin, pod)
    plugin.handle.services.may_bind = lambda: False
    answer = pre_bind(plugin, cycle, pod)
    assert answer is not None and not answer.rejected
    assert writes.told == []


def waiting() -> tuple[DynamicResources, Writes, Pod]:
    """A pod whose device says when it is ready."""
    given = allocation("n1", bindingConditions=[READY], bindingFailureConditions=[FAILED])
    _, plugin = world(claim("c", status={"allocation": given}))
    return plugin, Writes(plugin), claiming("p", "c")


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ([{"type": READY, "status": "True"}], ""),
        (
            [{"type": FAILED, "status": "True", "reason": "Broken", "message": 'no "power"'}],
            'device binding failed: claim=c, reason=Broken, message="no \\"power\\""',
        ),
    ],
    ids=["ready", "failed"],
)
def test_conditions_are_waited_for(conditions: list[Document], text: str) -> None:
    plugin, writes, pod = waiting()
    cycle, _ = reserved(plugin, pod)
    device = {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "conditions": conditions}
    writes.before[3] = lambda: writes.change("c", devices=[device])
    answer = pre_bind(plugin, cycle, pod)
    assert answer == (Status.error(text) if text else None)
    assert writes.told == ["updateStatus", "sleep 5000 ms", "sleep 5000 ms"]


def test_conditions_that_never_come() -> None:
    plugin, writes, pod = waiting()
    cycle, _ = reserved(plugin, pod)
    answer = pre_bind(plugin, cycle, pod)
    assert answer == Status.error("device binding timeout: context deadline exceeded")
    assert writes.told.count("sleep 5000 ms") == 600 / 5


def test_what_was_reserved_is_taken_back_and_stays_allocated() -> None:
    plugin, writes, pod = made()
    cycle, found = reserved(plugin, pod)
    assert pre_bind(plugin, cycle, pod) is None
    assert releasing.has_work(found, pod)
    asyncio.run(releasing.take_back(plugin.devices, found, pod))
    assert writes.status("c")["reservedFor"] == []
    assert writes.status("c")["allocation"]["devices"]["results"][0]["device"] == "gpu-0"


def test_before_anything_was_written_there_is_nothing_to_take_back() -> None:
    plugin, _, pod = made()
    cycle, found = reserved(plugin, pod)
    plugin.unreserve(cycle, pod, "n1")
    assert not releasing.has_work(found, pod)
    assert not plugin.devices.in_use.is_in_flight("uid-of-c")
