from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.life.controllers.volumes.claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIMS,
    VOLUMES,
    claim_reference,
)
from moorage.cluster.life.controllers.volumes.matching import OpenVolumes
from tests.cluster.life.controllers.living_worlds import CLAIM_PATH, VOLUME_PATH, Cluster, in_cluster


def test_a_claim_gets_the_smallest_volume_that_fits() -> None:
    async def test(cluster: Cluster) -> None:
        for name, size in (("large", "10Gi"), ("tight", "2Gi"), ("small", "100Mi")):
            cluster.create_volume(name, size)
        cluster.create_volume("shared", "1Gi", accessModes=["ReadWriteOnce", "ReadOnlyMany"])
        await asyncio.sleep(0.1)
        assert cluster.phase(VOLUMES, "tight") == "Available"
        cluster.create_claim("data", "1Gi")
        await asyncio.sleep(0.1)

        claim, volume = cluster.get(CLAIMS, "data"), cluster.get(VOLUMES, "tight")
        assert claim.spec["volumeName"] == "tight"
        assert claim.annotations == {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}
        assert claim.status == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "2Gi"},
        }
        assert volume.status["phase"] == "Bound"
        assert volume.annotations == {BOUND_BY_CONTROLLER: "yes"}
        reference = volume.spec["claimRef"]
        assert (reference["namespace"], reference["name"], reference["uid"]) == ("default", "data", claim.uid)
        assert {cluster.phase(VOLUMES, each) for each in ("large", "small", "shared")} == {"Available"}

    in_cluster(test)


def test_a_claim_waits_for_a_volume_to_come() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_claim("data", "1Gi", storageClassName="")
        cluster.create_claim("other", "1Gi")
        await asyncio.sleep(0.1)
        text = "no persistent volumes available for this claim and no storage class is set"
        assert cluster.events("data") == [("FailedBinding", text)]
        text = 'storageclass.storage.k8s.io "manual" not found'
        assert cluster.events("other") == [("ProvisioningFailed", text)]
        cluster.create_volume("late", "1Gi", storageClassName="")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "data") == "Bound"
        assert cluster.phase(CLAIMS, "other") == "Pending"

    in_cluster(test)


def test_a_volume_that_is_meant_for_a_claim_is_kept_for_it() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_volume("meant", "5Gi", claimRef={"namespace": "default", "name": "mine"})
        cluster.create_claim("other", "1Gi")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "other") == "Pending"
        assert cluster.phase(VOLUMES, "meant") == "Available"
        cluster.create_claim("mine", "1Gi")
        await asyncio.sleep(0.1)
        assert cluster.get(CLAIMS, "mine").spec["volumeName"] == "meant"
        assert BOUND_BY_CONTROLLER not in cluster.get(VOLUMES, "meant").annotations

    in_cluster(test)


def test_a_claim_may_name_its_volume() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_claim("data", "1Gi", volumeName="mine")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "data") == "Pending"
        cluster.create_volume("mine", "1Gi")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "data") == "Bound"
        assert BOUND_BY_CONTROLLER not in cluster.get(CLAIMS, "data").annotations
        cluster.create_claim("late", "1Gi", volumeName="mine")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "late") == "Pending"
        text = 'volume "mine" already bound to a different claim.'
        assert cluster.events("late") == [("FailedBinding", text)]

    in_cluster(test)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"size": "2Gi"}, "requested PV is too small"),
        ({"storageClassName": "other"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadWriteMany"]}, "incompatible accessMode"),
    ],
)
def test_a_claim_cannot_have_a_volume_that_does_not_fit(spec: Document, why: str) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_volume("mine", "1Gi")
        cluster.create_claim("data", **{"size": "1Gi", **spec}, volumeName="mine")
        await asyncio.sleep(0.1)
        text = f'Cannot bind to requested volume "mine": {why}'
        assert ("VolumeMismatch", text) in cluster.events("data")
        assert cluster.phase(VOLUMES, "mine") == "Available"

    in_cluster(test)


def test_the_binding_that_a_scheduler_began_is_completed() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_class("later", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
        cluster.create_volume("one", "1Gi", storageClassName="later")
        cluster.create_volume("two", "2Gi", storageClassName="later")
        cluster.create_claim("data", "1Gi", storageClassName="later")
        await asyncio.sleep(0.1)
        waits = ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
        assert cluster.events("data") == [waits]
        cluster.node = None
        cluster.create_pod("p", {"name": "v", "persistentVolumeClaim": {"claimName": "data"}})
        await asyncio.sleep(0.1)
        scheduling = ("WaitForPodScheduled", "waiting for pod p to be scheduled")
        assert cluster.events("data") == [waits, scheduling]
        assert {cluster.phase(VOLUMES, each) for each in ("one", "two")} == {"Available"}

        reference = claim_reference(cluster.get(CLAIMS, "data"))
        change = {
            "metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}},
            "spec": {"claimRef": reference},
        }
        cluster.patch(f"{VOLUME_PATH}/two", change)
        await asyncio.sleep(0.1)
        claim = cluster.get(CLAIMS, "data")
        assert (claim.spec["volumeName"], claim.status["phase"]) == ("two", "Bound")
        assert BIND_COMPLETED in claim.annotations
        assert cluster.phase(VOLUMES, "two") == "Bound"

    in_cluster(test)


@pytest.mark.parametrize(
    ("policy", "source", "phase", "event"),
    [
        ("Retain", {}, "Released", None),
        ("Recycle", {}, "Failed", ("VolumeFailedRecycle", "No recycler plugin found for the volume!")),
        (
            "Delete",
            {},
            "Failed",
            (
                "VolumeFailedDelete",
                'error getting deleter volume plugin for volume "v": no deletable volume plugin matched',
            ),
        ),
        (
            "Delete",
            {"hostPath": {"path": "/srv/data"}},
            "Failed",
            (
                "VolumeFailedDelete",
                "host_path deleter only supports /tmp/.+ but received provided /srv/data",
            ),
        ),
        ("Delete", {"hostPath": {"path": "/tmp/data"}}, "", None),
    ],
)
def test_what_becomes_of_a_volume_without_its_claim(
    policy: str, source: Document, phase: str, event: tuple[str, str] | None
) -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_volume("v", persistentVolumeReclaimPolicy=policy, **source)
        cluster.create_claim("data")
        await asyncio.sleep(0.1)
        assert cluster.phase(VOLUMES, "v") == "Bound"
        cluster.delete(f"{CLAIM_PATH}/data")
        await asyncio.sleep(0.1)
        if phase:
            assert cluster.phase(VOLUMES, "v") == phase
            assert cluster.get(VOLUMES, "v").status.get("message", "") == (event[1] if event else "")
        else:
            assert cluster.names(VOLUMES) == []
        assert cluster.events("v") == ([event] if event else [])
        # A new claim of the same name is another one.
        cluster.create_claim("data")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "data") == "Pending"

    in_cluster(test)


def test_a_volume_that_is_freed_by_hand_can_be_had_again() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_volume("v")
        cluster.create_claim("data")
        await asyncio.sleep(0.1)
        cluster.delete(f"{CLAIM_PATH}/data")
        cluster.create_claim("next")
        await asyncio.sleep(0.1)
        assert cluster.phase(VOLUMES, "v") == "Released"
        cluster.patch(f"{VOLUME_PATH}/v", {"spec": {"claimRef": None}})
        await asyncio.sleep(0.1)
        assert cluster.get(CLAIMS, "next").spec["volumeName"] == "v"

    in_cluster(test)


def test_a_bound_volume_stays_until_its_claim_is_gone() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_volume("v")
        cluster.create_claim("data")
        await asyncio.sleep(0.1)
        cluster.delete(f"{VOLUME_PATH}/v")
        await asyncio.sleep(0.1)
        assert cluster.phase(VOLUMES, "v") == "Bound"
        cluster.delete(f"{CLAIM_PATH}/data")
        await asyncio.sleep(0.1)
        assert cluster.names(VOLUMES) == []

    in_cluster(test)


def test_a_claim_whose_volume_is_gone_is_lost_until_it_is_back() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_volume("v")
        cluster.create_claim("data")
        await asyncio.sleep(0.1)
        cluster.delete(f"{VOLUME_PATH}/v")
        cluster.patch(f"{VOLUME_PATH}/v", {"metadata": {"finalizers": None}})
        await asyncio.sleep(0.1)
        assert cluster.get(CLAIMS, "data").status == {"phase": "Lost"}
        text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
        assert cluster.events("data") == [("ClaimLost", text)]
        cluster.create_volume("v")
        await asyncio.sleep(0.1)
        assert cluster.phase(CLAIMS, "data") == "Bound"

    in_cluster(test)


def test_a_claim_bound_to_somebody_elses_volume_is_lost() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.create_volume("v")
        cluster.create_claim("first")
        await asyncio.sleep(0.1)
        cluster.create_claim("second", volumeName="v")
        cluster.patch(f"{CLAIM_PATH}/second", {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}})
        await asyncio.sleep(0.1)
        assert (cluster.phase(CLAIMS, "first"), cluster.phase(CLAIMS, "second")) == ("Bound", "Lost")
        text = "Two claims are bound to the same volume, this one is bound incorrectly"
        assert cluster.events("second")[-1] == ("ClaimMisbound", text)

    in_cluster(test)


def test_a_claim_without_a_class_gets_a_default_that_comes_later() -> None:
    async def test(cluster: Cluster) -> None:
        cluster.delete("/apis/storage.k8s.io/v1/storageclasses/standard")
        cluster.create_claim("data", storageClassName=None)
        cluster.create_claim("never", storageClassName="")
        await asyncio.sleep(0.1)
        assert "storageClassName" not in cluster.get(CLAIMS, "data").spec
        mark = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
        cluster.create_class("fast", "disks.example.com", metadata=mark)
        await asyncio.sleep(0.1)
        claim = cluster.get(CLAIMS, "data")
        assert claim.spec["storageClassName"] == "fast"
        assert claim.annotations["volume.kubernetes.io/storage-provisioner"] == "disks.example.com"
        assert cluster.events("data")[-1][0] == "ExternalProvisioning"
        assert cluster.get(CLAIMS, "never").spec["storageClassName"] == ""

    in_cluster(test)


# Whatever happens, and in whichever order


@st.composite
def turmoil(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    deeds = ["claim", "claim", "volume", "volume", "drop claim", "drop volume", "free volume", "wait"]
    sizes = st.sampled_from(["1Gi", "2Gi", "3Gi"])
    steps = st.tuples(st.sampled_from(deeds), st.sampled_from("abc"), sizes)
    return draw(st.lists(steps, min_size=3, max_size=20))


@settings(max_examples=30, deadline=None)
@given(turmoil())
def test_no_volume_has_two_claims_and_no_claim_waits_in_vain(script: list[tuple[str, str, str]]) -> None:
    async def test(cluster: Cluster) -> None:
        ask = cluster.world.ask
        for deed, name, size in script:
            if deed == "claim" and cluster.store.get(CLAIMS, "default", name) is None:
                cluster.create_claim(name, size)
            elif deed == "volume" and cluster.store.get(VOLUMES, "", name) is None:
                cluster.create_volume(name, size)
            elif deed == "drop claim":
                ask("DELETE", f"{CLAIM_PATH}/{name}")
            elif deed == "drop volume":
                ask("DELETE", f"{VOLUME_PATH}/{name}")
            elif deed == "free volume":
                change = {"spec": {"claimRef": None}}
                ask("PATCH", f"{VOLUME_PATH}/{name}", change, content_type="application/merge-patch+json")
            elif deed == "wait":
                await asyncio.sleep(0.1)
        await asyncio.sleep(5)
        _check_all(cluster)

    in_cluster(test, nodes=0)


def _check_all(cluster: Cluster) -> None:
    present = {each.uid: each for each in cluster.store.iterate(CLAIMS)}
    volumes = {each.name: each for each in cluster.store.iterate(VOLUMES)}
    left = OpenVolumes(cluster.store)
    left.start()
    for claim in present.values():
        volume = volumes.get(claim.spec.get("volumeName", ""))
        if volume is None:
            assert left.best_for(claim, delayed=False) is None, "it could have one"
            assert claim.status["phase"] == ("Lost" if "volumeName" in claim.spec else "Pending")
        elif claim.status["phase"] == "Bound":
            assert volume.spec["claimRef"]["uid"] == claim.uid
            assert volume.status["phase"] == "Bound"
        else:
            assert volume.spec["claimRef"]["uid"] != claim.uid
    for volume in volumes.values():
        owner = volume.spec.get("claimRef", {}).get("uid")
        if owner is None:
            assert volume.status["phase"] == "Available"
        elif owner in present:
            assert present[owner].spec["volumeName"] == volume.name
        else:
            assert volume.status["phase"] == "Released"


# Which volume suits best, beside a search that takes the rules one by one

_SETS = [
    ["ReadWriteOnce"],
    ["ReadOnlyMany"],
    ["ReadWriteOnce", "ReadOnlyMany"],
    ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"],
]


@st.composite
def volumes(draw: st.DrawFn) -> list[Document]:
    references = [None, {"name": "c"}, {"name": "c", "uid": "u"}, {"name": "c", "uid": "x"}, {"name": "d"}]
    found = []
    for number in range(draw(st.integers(0, 6))):
        reference = draw(st.sampled_from(references))
        document: Document = {
            "metadata": {
                "name": f"v{number}",
                "uid": f"v{number}",
                "labels": draw(st.sampled_from([{}, {"a": "b"}])),
            },
            "spec": {
                "capacity": {"storage": draw(st.sampled_from(["1Gi", "2Gi", "3Gi"]))},
                "accessModes": draw(st.sampled_from(_SETS)),
                "storageClassName": draw(st.sampled_from(["", "fast"])),
                "volumeMode": draw(st.sampled_from(["Filesystem", "Filesystem", "Block"])),
            },
            "status": {"phase": draw(st.sampled_from(["Available", "Available", "Pending"]))},
        }
        if reference is not None:
            document["spec"]["claimRef"] = {"namespace": "ns", **reference}
        if draw(st.integers(0, 5)) == 0:
            document["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        found.append(document)
    return found


@given(
    volumes(),
    st.sampled_from(["1Gi", "1500Mi"]),
    st.sampled_from(_SETS[:3]),
    st.sampled_from(["", "fast"]),
    st.booleans(),
    st.sampled_from([None, {"matchLabels": {"a": "b"}}]),
)
def test_the_best_volume_is_that_of_a_plain_search(
    documents: list[Document], size: str, modes: list[str], name: str, delayed: bool, selector: Any
) -> None:
    store = Store()
    found = OpenVolumes(store)
    store.listen(VOLUMES, found.changed)
    spec = {
        "accessModes": modes,
        "resources": {"requests": {"storage": size}},
        "storageClassName": name,
        "selector": selector,
    }
    claim = Stored("ns", "c", {"metadata": {"name": "c", "uid": "u"}, "spec": spec}, 1)
    for document in documents:
        store.create(VOLUMES, "", document["metadata"]["name"], document)

    best = found.best_for(claim, delayed=delayed)

    assert (best.name if best else None) == _plainly(documents, spec, delayed)


def _plainly(documents: list[Document], claim: Document, delayed: bool) -> str | None:
    """Sets of access modes from the fewest on; in each, the smallest for the claim, or else of the free."""
    gigas = {"1Gi": 1024, "2Gi": 2048, "3Gi": 3072, "1500Mi": 1500}
    for modes in _SETS:
        if not set(claim["accessModes"]) <= set(modes):
            continue
        own, free = [], []
        for document in documents:
            spec = document["spec"]
            reference = spec.get("claimRef")
            mine = reference is not None and reference["name"] == "c" and reference.get("uid", "u") == "u"
            if spec["accessModes"] != modes or (reference is not None and not mine):
                continue
            if gigas[spec["capacity"]["storage"]] < gigas[claim["resources"]["requests"]["storage"]]:
                continue
            if spec["volumeMode"] == "Block" or "deletionTimestamp" in document["metadata"]:
                continue
            if mine:
                own.append(document)
                continue
            is_selected = claim["selector"] is None or document["metadata"]["labels"] == {"a": "b"}
            is_free = document["status"]["phase"] == "Available" and is_selected
            if not delayed and is_free and spec["storageClassName"] == claim["storageClassName"]:
                free.append(document)
        if own or free:
            smallest = min(own or free, key=lambda each: gigas[each["spec"]["capacity"]["storage"]])
            return str(smallest["metadata"]["name"])
    return None
