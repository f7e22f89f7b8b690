"""Many claims one after the other: nothing is given away twice, and what is given back can be had again."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.devices import AllocationResult, DeviceResult, ResourceClaim
from moorage.api.nodes import Node
from moorage.api.quantities import parse
from moorage.plugins.devices.allocation.failures import AllocationFailed, InvalidPools
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from tests.plugins.devices.device_objects import Cluster
from tests.plugins.devices.device_worlds import NODES, SELECTORS, claims, classes, slices
from tests.plugins.devices.obvious import pool_id

Document = dict[str, Any]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(slices(), st.data())
def test_nothing_is_ever_given_away_twice(offered: list[Document], data: st.DataObject) -> None:
    cluster = Cluster(offered, classes().values(), selectors=SELECTORS)
    held: dict[str, AllocationResult] = {}
    for number in range(data.draw(st.integers(1, 10))):
        if held and data.draw(st.integers(0, 2)) == 0:
            key = data.draw(st.sampled_from(sorted(held)))
            cluster.in_use.remove_claim(key)
            del held[key]
            continue
        wanted = data.draw(claims(all_too=False))
        for each in wanted:
            each["metadata"]["name"] += f"-{number}"
            each["metadata"]["uid"] += f"-{number}"
        node = from_document(Node, data.draw(st.sampled_from(NODES)))
        try:
            plans = cluster.allocator(*wanted).allocate(node)
        except (AllocationFailed, InvalidPools):
            continue
        for plan in plans or ():
            if plan.allocation.devices.results:
                give(cluster.in_use, plan.claim, plan.allocation)
                held[plan.claim.key] = plan.allocation
        check(offered, [result for each in held.values() for result in each.devices.results])
    for key in held:
        cluster.in_use.remove_claim(key)
    assert not cluster.in_use.exclusive
    assert not cluster.in_use.consumed
    assert not any(cluster.in_use.is_allocated(device) for device in all_devices(offered))


def give(in_use: DevicesInUse, claim: ResourceClaim, allocation: AllocationResult) -> None:
    """As a binding does it: in flight first, then written and seen, twice over."""
    in_use.begin_flight(claim.uid, allocation)
    assert in_use.is_in_flight(claim.uid)
    written = {**claim.raw, "status": {"allocation": allocation.document}}
    in_use.put_claim(claim)
    in_use.put_claim(from_document(ResourceClaim, written))
    in_use.end_flight(claim.uid)
    in_use.end_flight(claim.uid)
    in_use.put_claim(from_document(ResourceClaim, written))


def check(offered: list[Document], results: list[DeviceResult]) -> None:
    mine = [result for result in results if not result.admin_access]
    exclusive = Counter(device_of(result) for result in mine if result.share_id is None)
    shared = {device_of(result) for result in mine if result.share_id is not None}
    assert all(number == 1 for number in exclusive.values())
    assert not shared & exclusive.keys()
    devices = all_devices(offered)
    consumed: defaultdict[tuple[Any, str], int] = defaultdict(int)
    for result in mine:
        for name, amount in result.consumed_capacity.items():
            consumed[device_of(result), name] += parse(amount)
    for (device, name), amount in consumed.items():
        # A slice of another generation may have a device of that name without this capacity.
        found = [each["capacity"][name] for each in devices[device] if name in each.get("capacity", {})]
        assert amount <= max(parse(each["value"]) for each in found)
    drawn: defaultdict[tuple[Any, str, str], int] = defaultdict(int)
    for device in shared | exclusive.keys():
        if len(devices[device]) > 1:
            return  # two of its generations differ in what they draw
        for each in devices[device][0].get("consumesCounters", ()):
            for name, counter in each["counters"].items():
                drawn[device[:2], each["counterSet"], name] += parse(counter["value"])
    counters: defaultdict[tuple[Any, str, str], int] = defaultdict(int)
    for item in offered:
        for counter_set in item["spec"].get("sharedCounters", ()):
            for name, counter in counter_set["counters"].items():
                place = (pool_id(item), counter_set["name"], name)
                counters[place] = max(counters[place], parse(counter["value"]))
    assert all(amount <= counters[place] for place, amount in drawn.items())


def device_of(result: DeviceResult) -> tuple[str, str, str]:
    return result.driver, result.pool, result.device


def all_devices(offered: list[Document]) -> dict[tuple[str, str, str], list[Document]]:
    found: defaultdict[tuple[str, str, str], list[Document]] = defaultdict(list)
    for item in offered:
        for device in item["spec"].get("devices", ()):
            found[(*pool_id(item), device["name"])].append(device)
    return found


def test_a_device_is_free_again_when_its_claim_is() -> None:
    in_use = DevicesInUse()
    allocation = msgspec.convert(
        {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}}, AllocationResult
    )
    in_use.begin_flight("uid", allocation)
    revision = in_use.revision
    assert in_use.is_allocated(("d", "p", "x"))
    assert in_use.pool_revision(("d", "p")) == revision
    in_use.end_flight("uid")
    assert not in_use.is_allocated(("d", "p", "x"))
    assert in_use.pool_revision(("d", "p")) > revision
    assert in_use.pool_revision(("d", "other")) == 0


def test_a_flight_that_is_shared_ends_with_its_last_user() -> None:
    in_use, held = DevicesInUse(), ("d", "p", "x")
    allocation = msgspec.convert(
        {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}}, AllocationResult
    )

    def begin(*pods: str) -> None:
        in_use.begin_flight("uid", allocation)
        for pod in pods:
            in_use.share_flight("uid", pod)

    begin("a", "b")
    assert not in_use.leave_flight("uid", "stranger")
    assert not in_use.leave_flight("uid", "a")
    assert not in_use.leave_flight("uid", "a"), "who left before counts once"
    assert in_use.is_allocated(held)
    assert in_use.leave_flight("uid", "b")
    assert not in_use.is_allocated(held)
    begin("a", "b")
    assert in_use.leave_flight("uid", "a", is_written=True)
    assert not in_use.is_in_flight("uid")
    begin("c")
    assert not in_use.leave_flight("uid", "b"), "that one was of a flight before"
    assert in_use.is_allocated(held)


def test_a_claim_that_was_made_anew_holds_what_the_new_one_does() -> None:
    def claim(uid: str, device: str) -> ResourceClaim:
        results = [{"driver": "d", "pool": "p", "device": device}]
        metadata = {"namespace": "n", "name": "c", "uid": uid}
        return from_document(
            ResourceClaim,
            {"metadata": metadata, "status": {"allocation": {"devices": {"results": results}}}},
        )

    in_use = DevicesInUse()
    in_use.put_claim(claim("1", "x"))
    in_use.put_claim(claim("2", "y"))
    assert list(in_use.exclusive) == [("d", "p", "y")]
