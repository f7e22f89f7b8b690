"""Claims for devices that are made for pods."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.data_file import DataFile
from moorage.cluster.base.store import Stored
from moorage.cluster.life.controllers.devices.claims import CLAIMS, ENTRY_ANNOTATION
from moorage.cluster.life.controllers.devices.generated import generated_base
from moorage.cluster.life.nodes import default_nodes
from tests import fake_time
from tests.cluster.api_worlds import living
from tests.cluster.life.controllers.device_worlds import (
    CLAIM_PATH,
    MOMENT,
    POD_PATH,
    Devices,
    generated,
    named,
    spec,
    with_devices,
)


def made_for(devices: Devices, pod: str, entry: str) -> Stored:
    found = [
        claim
        for claim in devices.store.objects(CLAIMS)
        if claim.annotations.get(ENTRY_ANNOTATION) == entry and claim.owners[0]["name"] == pod
    ]
    assert len(found) == 1
    return found[0]


def test_each_entry_of_a_pod_gets_a_claim_of_its_own() -> None:
    async def test(devices: Devices) -> None:
        devices.create_template(labels={"team": "a"}, annotations={"why": "training"})
        devices.create_claim("shared")
        devices.create_pod("p", generated("left"), named("common", "shared"), generated("right"))
        await asyncio.sleep(MOMENT)

        pod = devices.pod("p")
        left, right = made_for(devices, "p", "left"), made_for(devices, "p", "right")
        assert left.name != right.name
        assert left.name.startswith("p-left-")
        assert len(left.name) == len("p-left-") + 5
        metadata = left.document["metadata"]
        assert metadata["generateName"] == "p-left-"
        assert left.labels == {"team": "a"}
        assert left.annotations == {"why": "training", ENTRY_ANNOTATION: "left"}
        assert left.owners == [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod.uid, "controller": True}
        ]
        assert left.spec == spec()
        assert pod.status["resourceClaimStatuses"] == [
            {"name": "left", "resourceClaimName": left.name},
            {"name": "right", "resourceClaimName": right.name},
        ]
        assert len(devices.claims()) == 3
        assert devices.events("p") == []

    with_devices(test)


def test_a_claim_is_found_again_when_the_pod_does_not_tell_of_it() -> None:
    async def test(devices: Devices) -> None:
        devices.create_template()
        devices.create_pod("p", generated("gpu"))
        await asyncio.sleep(MOMENT)
        [claim] = devices.claims()
        lost = {"status": {"resourceClaimStatuses": None}}
        merge = "application/merge-patch+json"
        devices.world.done("PATCH", f"{POD_PATH}/p/status", lost, content_type=merge)
        await asyncio.sleep(MOMENT)
        assert devices.claims() == devices.claims_of("p") == [claim]

    with_devices(test)


def test_a_claim_is_found_again_after_a_crash(tmp_path: Path) -> None:
    """Of a cluster that ended between making the claim and telling the pod."""

    async def main() -> None:
        for run in (1, 2):
            data = DataFile(tmp_path / "data")
            async with living(tmp_path, default_nodes(1), data=data) as world:
                devices = Devices(world)
                await asyncio.sleep(MOMENT)
                if run == 1:
                    devices.create_template()
                    devices.create_pod("p", generated("gpu"))
                    await asyncio.sleep(MOMENT)
                    before = devices.claims()
                    # Nothing has a turn any more between this and the end.
                    path, merge = f"{POD_PATH}/p/status", "application/merge-patch+json"
                    lost = {"status": {"resourceClaimStatuses": None}}
                    world.done("PATCH", path, lost, content_type=merge)
                else:
                    assert devices.claims() == devices.claims_of("p") == before
            data.close()

    fake_time.run(main())


def test_a_pod_waits_for_its_template() -> None:
    async def test(devices: Devices) -> None:
        devices.create_pod("p", generated("gpu", "late"))
        await asyncio.sleep(MOMENT)
        missing = 'resource claim template "late": resourceclaimtemplate.resource.k8s.io "late" not found'
        assert devices.events("p") == [
            ("FailedResourceClaimCreation", f"PodResourceClaim gpu: {missing}"),
        ]
        assert devices.claims() == []
        devices.create_template("late")
        await asyncio.sleep(MOMENT)
        assert devices.claims_of("p") == devices.claims() != []

    with_devices(test)


def test_a_claim_that_may_not_be_made_is_tried_again() -> None:
    async def test(devices: Devices) -> None:
        quota = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "none"},
            "spec": {"hard": {"count/resourceclaims.resource.k8s.io": "0"}},
        }
        quotas = "/api/v1/namespaces/default/resourcequotas"
        devices.world.create(quotas, quota)
        await asyncio.sleep(1)
        devices.create_template()
        devices.create_pod("p", generated("gpu"))
        await asyncio.sleep(MOMENT)
        (reason, text), *_ = devices.events("p")  # each with another name of the claim
        assert reason == "FailedResourceClaimCreation"
        assert text.startswith("PodResourceClaim gpu: create ResourceClaim : ")
        assert "exceeded quota: none" in text
        devices.world.done("DELETE", f"{quotas}/none")
        await asyncio.sleep(60)
        assert devices.claims_of("p") == devices.claims() != []

    with_devices(test)


def test_a_claim_that_was_deleted_is_made_again_while_its_pod_may_run() -> None:
    async def test(devices: Devices) -> None:
        devices.create_template()
        devices.create_pod("p", generated("gpu"), generated("other"))
        await asyncio.sleep(MOMENT)
        first, other = devices.claims_of("p")
        devices.delete_claim(first)
        await asyncio.sleep(MOMENT)
        second, still = devices.claims_of("p")
        assert second != first
        assert still == other
        assert sorted(devices.claims()) == sorted([second, other])

    with_devices(test)


def test_somebody_elses_claim_is_not_used() -> None:
    async def test(devices: Devices) -> None:
        devices.create_template()
        devices.create_claim("foreign", annotations={ENTRY_ANNOTATION: "gpu"})
        devices.create_pod("p", generated("gpu"))
        await asyncio.sleep(MOMENT)
        told = {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "foreign"}]}}
        [own] = devices.claims_of("p")
        assert own != "foreign"
        merge = "application/merge-patch+json"
        devices.world.done("PATCH", f"{POD_PATH}/p/status", told, content_type=merge)
        await asyncio.sleep(MOMENT)
        assert devices.claims_of("p") == ["foreign"], "as in the original, nobody looks until it matters"
        devices.delete_claim("foreign")
        await asyncio.sleep(MOMENT)
        assert devices.claims_of("p") == [own]

    with_devices(test)


def test_an_entry_that_needs_no_claim_stays_without_one() -> None:
    async def test(devices: Devices) -> None:
        devices.create_pod("p", generated("gpu", "none"), generated("more", "one-gpu"))
        await asyncio.sleep(MOMENT)
        told = {"status": {"resourceClaimStatuses": [{"name": "gpu"}]}}
        merge = "application/merge-patch+json"
        devices.world.done("PATCH", f"{POD_PATH}/p/status", told, content_type=merge)
        devices.create_template()
        await asyncio.sleep(MOMENT)
        [claim] = devices.claims()
        assert devices.pod("p").status["resourceClaimStatuses"] == [
            {"name": "gpu"},
            {"name": "more", "resourceClaimName": claim},
        ]

    with_devices(test)


def test_pods_that_came_to_a_node_by_themselves_get_their_claims_reserved() -> None:
    async def test(devices: Devices) -> None:
        devices.create_claim("shared")
        devices.create_pod("p", named("gpu", "shared"), nodeName="node-1")
        await asyncio.sleep(5)
        problem = f"pod p ({devices.pod('p').uid}) is not allowed to use ResourceClaim shared"
        [(reason, text)] = devices.events("p", "kubelet")
        assert reason == "FailedPrepareDynamicResources"
        assert text == (
            f"Failed to prepare dynamic resources: prepare dynamic resources: {problem} "
            f"({devices.claim('shared').uid})"
        )
        assert devices.pod("p").status["phase"] == "Pending"
        devices.allocate("shared")
        await asyncio.sleep(2)
        assert devices.users("shared") == ["p"]
        assert devices.pod("p").status["phase"] == "Running"

    with_devices(test)


def test_the_claims_of_an_ending_namespace_are_not_made() -> None:
    async def test(devices: Devices) -> None:
        namespaces = "/api/v1/namespaces"
        devices.world.create(namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
        await asyncio.sleep(MOMENT)
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "finalizers": ["example.com/wait"]},
            "spec": {"containers": [{"name": "c", "image": "x"}], "resourceClaims": [generated("gpu")]},
        }
        devices.world.create(f"{namespaces}/x/pods", pod)
        await asyncio.sleep(MOMENT)
        devices.world.done("DELETE", f"{namespaces}/x")
        await asyncio.sleep(5)
        assert devices.claims() == []
        texts = [text for reason, text in devices.events("p") if "create ResourceClaim" in text]
        assert texts == []

    with_devices(test)


@given(st.integers(1, 253), st.integers(1, 63))
def test_long_names_are_cut_by_the_same_share(of_pod: int, of_entry: int) -> None:
    base = generated_base("p" * of_pod, "e" * of_entry)
    assert len(base) <= 57
    if of_pod + of_entry + 2 <= 57:
        assert base == "p" * of_pod + "-" + "e" * of_entry + "-"
    else:
        left, right = base.split("-")
        assert abs(len(left) / of_pod - len(right) / of_entry) <= max(1 / of_pod, 1 / of_entry)


def test_the_claims_of_a_pod_with_a_long_name() -> None:
    async def test(devices: Devices) -> None:
        devices.create_template()
        name = "pod-" + "x" * 100
        devices.create_pod(name, generated("gpu"))
        await asyncio.sleep(MOMENT)
        [claim] = devices.claims_of(name)
        assert len(claim) <= 63
        assert devices.world.get(f"{CLAIM_PATH}/{claim}")["metadata"]["name"] == claim

    with_devices(test)
