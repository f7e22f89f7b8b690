"""Claims for devices whose users go: they are given up, and go with them if they were made for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.base.store import Change, Store, Stored
from moorage.cluster.life.controllers.devices.claims import CLAIMS, FINALIZER, named_claims
from tests.cluster.life.controllers.device_worlds import (
    MOMENT,
    POD_PATH,
    Devices,
    generated,
    named,
    with_devices,
)

LONG = 3.0
"""After which a pod that was bound runs, and one that was deleted is gone."""


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_done_gives_its_claims_up(phase: str) -> None:
    async def test(devices: Devices) -> None:
        devices.create_template()
        devices.create_claim("mine")
        devices.create_pod("p", generated("gpu"), named("common", "mine"), restartPolicy="Never")
        await asyncio.sleep(MOMENT)
        devices.schedule("p")
        await asyncio.sleep(LONG)
        assert devices.pod("p").status["phase"] == "Running"
        made, mine = devices.claims_of("p")
        for claim in (made, mine):
            assert devices.is_allocated(claim)
            assert devices.users(claim) == ["p"]
            assert devices.claim(claim).finalizers == [FINALIZER]
        devices.set_phase("p", phase)
        await asyncio.sleep(MOMENT)
        assert devices.claims() == ["mine"], "the one that was made for it is gone"
        assert devices.claim("mine").status == {}
        assert devices.claim("mine").finalizers == []
        await asyncio.sleep(LONG)
        assert devices.claims() == ["mine"], "and it is not made again"

    with_devices(test)


def test_a_shared_claim_is_kept_for_the_last_of_its_users() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("shared")
        for name in ("a", "b"):
            devices.create_pod(name, named("gpu", "shared"))
            devices.schedule(name)
        await asyncio.sleep(LONG)
        devices.delete_pod("a")
        await asyncio.sleep(LONG)
        assert devices.users("shared") == ["b"]
        assert devices.is_allocated("shared")
        devices.delete_pod("b")
        await asyncio.sleep(MOMENT)
        assert devices.users("shared") == ["b"], "it has a moment to end, in which it still uses the devices"
        await asyncio.sleep(LONG)
        assert devices.claim("shared").status == {}

    with_devices(test)


def test_a_pod_that_was_deleted_before_it_had_a_node() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("mine")
        devices.world.create(
            POD_PATH,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p", "finalizers": ["example.com/wait"]},
                "spec": {
                    "containers": [{"name": "c", "image": "x"}],
                    "resourceClaims": [named("gpu", "mine")],
                },
            },
        )
        devices.allocate("mine")
        devices.reserve("mine", "p")
        await asyncio.sleep(MOMENT)
        assert devices.users("mine") == ["p"]
        devices.delete_pod("p")
        await asyncio.sleep(MOMENT)
        assert devices.pod("p").is_deleted
        assert devices.claim("mine").status == {}

    with_devices(test)


def test_a_pod_that_was_replaced_by_another_of_its_name() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("mine")
        devices.create_pod("p", named("gpu", "mine"))
        devices.allocate("mine")
        old = {"resource": "pods", "name": "p", "uid": "of-an-earlier-one"}
        devices.set_consumers("mine", [old])
        await asyncio.sleep(MOMENT)
        assert devices.claim("mine").status == {}

    with_devices(test)


def test_only_pods_are_taken_off() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("mine")
        devices.allocate("mine")
        others = [
            {"apiGroup": "example.com", "resource": "trains", "name": "t", "uid": "1"},
            {"resource": "services", "name": "s", "uid": "2"},
        ]
        devices.set_consumers("mine", [*others, {"resource": "pods", "name": "gone", "uid": "3"}])
        await asyncio.sleep(MOMENT)
        assert devices.users("mine") == ["t", "s"]
        assert devices.is_allocated("mine")

    with_devices(test)


def test_a_claim_that_nobody_has_used_yet_keeps_its_devices() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("early")
        devices.allocate("early")
        await asyncio.sleep(LONG)
        assert devices.is_allocated("early")
        devices.delete_claim("early")
        await asyncio.sleep(MOMENT)
        assert devices.claims() == [], "once it is deleted nobody will"

    with_devices(test)


def test_devices_of_a_claim_without_protection_are_not_ours_to_give_back() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("foreign")
        devices.create_pod("p", named("gpu", "foreign"))
        devices.allocate("foreign", protect=False)
        devices.reserve("foreign", "p")
        devices.delete_pod("p")
        await asyncio.sleep(MOMENT)
        assert devices.is_allocated("foreign")
        assert devices.users("foreign") == []

    with_devices(test)


def test_what_drivers_told_of_the_devices_goes_with_them() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("shared")
        for name in ("a", "b"):
            devices.create_pod(name, named("gpu", "shared"))
            devices.schedule(name)
        told = [{"driver": "gpu.example.com", "pool": "n", "device": "gpu-0"}]
        path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/shared/status"
        merge = "application/merge-patch+json"
        devices.world.done("PATCH", path, {"status": {"devices": told}}, content_type=merge)
        await asyncio.sleep(LONG)
        devices.delete_pod("a")
        await asyncio.sleep(LONG)
        assert [each["device"] for each in devices.claim("shared").status["devices"]] == ["gpu-0"]
        devices.delete_pod("b")
        await asyncio.sleep(LONG)
        assert devices.claim("shared").status == {}

    with_devices(test)


def test_a_claim_that_is_deleted_while_it_is_used_stays_as_long() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("mine")
        devices.create_pod("p", named("gpu", "mine"))
        devices.schedule("p")
        await asyncio.sleep(LONG)
        devices.delete_claim("mine")
        await asyncio.sleep(LONG)
        assert devices.claim("mine").is_deleted
        assert devices.is_allocated("mine")
        devices.delete_pod("p")
        await asyncio.sleep(LONG)
        assert devices.claims() == []

    with_devices(test)


def test_the_claim_for_extended_resources_goes_with_its_pod() -> None:
    async def test(devices: Devices) -> None:
        devices.create_pod("p", restartPolicy="Never")
        owner = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "p",
            "uid": devices.pod("p").uid,
            "controller": True,
        }
        extended = {"resource.kubernetes.io/extended-resource-claim": "true"}
        devices.create_claim("special", ownerReferences=[owner], annotations=extended)
        devices.allocate("special")
        devices.reserve("special", "p")
        mapping = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "gpu"}
        told = {"resourceClaimName": "special", "requestMappings": [mapping]}
        merge = "application/merge-patch+json"
        patch = {"status": {"extendedResourceClaimStatus": told}}
        devices.world.done("PATCH", f"{POD_PATH}/p/status", patch, content_type=merge)
        devices.bind("p")
        await asyncio.sleep(LONG)
        assert devices.pod("p").status["phase"] == "Running"
        assert devices.claims() == ["special"]
        devices.set_phase("p", "Succeeded")
        await asyncio.sleep(MOMENT)
        assert devices.claims() == []

    with_devices(test)


# Whatever happens, in whatever order


class Onlooker:
    """Sees every change of a claim, and notes what must not be."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.wrongs: list[str] = []
        store.listen(CLAIMS, self._changed)

    def _changed(self, change: Change) -> None:
        lost = change.type == "DELETED" or "allocation" not in change.new.status
        if change.old is None or "allocation" not in change.old.status or not lost:
            return
        for consumer in change.old.status.get("reservedFor") or ():
            pod = self._store.get("pods", "default", consumer["name"])
            if pod is not None and pod.uid == consumer["uid"] and runs(pod):
                self.wrongs.append(f"{change.new.name} lost its devices while {pod.name} ran")


def runs(pod: Stored) -> bool:
    return bool(pod.spec.get("nodeName")) and pod.status.get("phase") not in ("Succeeded", "Failed")


PODS = ("a", "b", "c")
SHARED = ("x", "y")


def pod_is_free(devices: Devices, name: str) -> bool:
    return devices.store.get("pods", "default", name) is None


def create(devices: Devices, name: str, shared: str) -> None:
    if pod_is_free(devices, name):
        devices.create_pod(name, generated("own"), named("common", shared), restartPolicy="Never")


def create_claim(devices: Devices, name: str, shared: str) -> None:
    if devices.store.get(CLAIMS, "default", shared) is None:
        devices.create_claim(shared)


def schedule(devices: Devices, name: str, shared: str) -> None:
    pod = devices.store.get("pods", "default", name)
    if pod is None or pod.spec.get("nodeName") or pod.is_deleted:
        return
    found = [devices.store.get(CLAIMS, *key) for key in named_claims(pod)]
    if len(found) == 2 and all(claim is not None and not claim.is_deleted for claim in found):
        devices.schedule(name)


def allocate_only(devices: Devices, name: str, shared: str) -> None:
    """As a scheduler that ended before it bound the pod."""
    claim, pod = (devices.store.get(each, "default", of) for each, of in ((CLAIMS, shared), ("pods", name)))
    if claim is None or claim.is_deleted or claim.status.get("allocation"):
        return
    devices.allocate(shared)
    if pod is not None and not pod.is_deleted:
        devices.reserve(shared, name)


def finish(devices: Devices, name: str, shared: str) -> None:
    pod = devices.store.get("pods", "default", name)
    if pod is not None and runs(pod):
        devices.set_phase(name, "Succeeded")


def delete(devices: Devices, name: str, shared: str) -> None:
    if not pod_is_free(devices, name):
        devices.delete_pod(name)


def kill(devices: Devices, name: str, shared: str) -> None:
    if not pod_is_free(devices, name):
        devices.delete_pod(name, gracePeriodSeconds="0")


def delete_claim(devices: Devices, name: str, shared: str) -> None:
    if devices.store.get(CLAIMS, "default", shared) is not None:
        devices.delete_claim(shared)


STEPS: tuple[Callable[[Devices, str, str], None], ...] = (
    create,
    create_claim,
    schedule,
    schedule,
    allocate_only,
    finish,
    delete,
    kill,
    delete_claim,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(STEPS),
            st.sampled_from(PODS),
            st.sampled_from(SHARED),
            st.sampled_from((0.0, 0.0, MOMENT, LONG)),
        ),
        min_size=5,
        max_size=40,
    )
)
def test_no_running_pod_loses_its_devices_and_nobody_who_is_gone_keeps_them(
    steps: list[tuple[Callable[[Devices, str, str], None], str, str, float]],
) -> None:
    async def test(devices: Devices) -> None:
        devices.create_template()
        for shared in SHARED:
            devices.create_claim(shared)
        onlooker = Onlooker(devices.store)
        for step, name, shared, pause in steps:
            step(devices, name, shared)
            await asyncio.sleep(pause)
        await asyncio.sleep(2 * LONG)
        assert onlooker.wrongs == []
        known = {pod.uid: pod for pod in devices.store.objects("pods")}
        for claim in devices.store.objects(CLAIMS):
            for consumer in claim.status.get("reservedFor") or ():
                user = known.get(consumer["uid"])
                assert user is not None, f"{claim.name} is reserved for {consumer['name']}, which is gone"
                assert user.status.get("phase") != "Succeeded"
            if claim.owners:
                owner = known.get(claim.owners[0]["uid"])
                assert owner is not None, f"{claim.name} has outlived its pod"
                assert owner.status.get("phase") != "Succeeded"
        for pod in known.values():
            for key in named_claims(pod) if runs(pod) else ():
                claim = devices.claim(key[1])
                assert "allocation" in claim.status
                assert pod.uid in [consumer["uid"] for consumer in claim.status["reservedFor"]]

    with_devices(test)
