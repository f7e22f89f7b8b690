from __future__ import annotations

import asyncio
from typing import Any

from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.life.controllers.devices.claims import CLAIMS
from moorage.cluster.life.nodes.claimed_devices import problem_with_devices
from tests.cluster.life.controllers.fake_writer import FakeWriter
from tests.cluster.life.nodes.test_cluster_heartbeats import in_cluster
from tests.cluster.life.nodes.test_cluster_pod_course import events, status_of
from tests.cluster.life.nodes.test_cluster_simulated_pods import add_nodes, pod

GENERATED = {"name": "gpu", "resourceClaimTemplateName": "t"}
NAMED = {"name": "gpu", "resourceClaimName": "c"}
MADE = [{"name": "gpu", "resourceClaimName": "c"}]
MINE = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "pod-uid", "controller": True}
RESERVED = [{"resource": "pods", "name": "p", "uid": "pod-uid"}]


def problem(entry: Document | None, claim: Document | None = None, **status: Any) -> str:
    store = Store()
    if claim is not None:
        metadata = {"name": "c", "namespace": "n", "uid": "claim-uid", **claim.get("metadata", {})}
        store.create(CLAIMS, "n", "c", {**claim, "metadata": metadata})
    document = {
        "metadata": {"name": "p", "namespace": "n", "uid": "pod-uid"},
        "spec": {"resourceClaims": [] if entry is None else [entry]},
        "status": status,
    }
    told = problem_with_devices(store, Stored("n", "p", document, 1))
    return told.removeprefix("Failed to prepare dynamic resources: prepare dynamic resources: ")


def test_why_a_pod_cannot_have_its_devices() -> None:
    good = {"status": {"allocation": {}, "reservedFor": RESERVED}}
    assert problem(None) == ""
    assert problem(NAMED, good) == ""
    assert (
        problem(GENERATED, good | {"metadata": {"ownerReferences": [MINE]}}, resourceClaimStatuses=MADE) == ""
    )
    assert problem(GENERATED, resourceClaimStatuses=[{"name": "gpu"}]) == "", "it was found to need none"
    assert problem(GENERATED) == 'pod "n/p": ResourceClaim not created yet'
    assert (
        problem({"name": "gpu"})
        == 'pod "n/p", spec.resourceClaim "gpu": none of the supported fields are set'
    )
    missing = 'fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" not found'
    assert problem(NAMED) == problem(GENERATED, resourceClaimStatuses=MADE) == missing
    assert problem(GENERATED, good, resourceClaimStatuses=MADE) == (
        "ResourceClaim n/c was not created for Pod n/p (Pod is not owner)"
    )
    assert problem(NAMED, {"status": {"allocation": {}}}) == (
        "pod p (pod-uid) is not allowed to use ResourceClaim c (claim-uid)"
    )
    assert problem(NAMED, {"status": {"reservedFor": RESERVED}}) == "ResourceClaim c: not allocated"


def test_the_claim_for_extended_resources_counts_too() -> None:
    special = {"resourceClaimName": "c"}
    assert problem(None, {}, extendedResourceClaimStatus=special).startswith("pod p (pod-uid) is not allowed")
    good = {"status": {"allocation": {}, "reservedFor": RESERVED}}
    assert problem(None, good, extendedResourceClaimStatus=special) == ""


def test_a_pod_runs_once_it_may_use_its_devices() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        claim = writer.create(CLAIMS, {"metadata": {"name": "c", "namespace": "default"}, "spec": {}})
        writer.create("pods", pod("p", resourceClaims=[NAMED]))
        await asyncio.sleep(5)
        status = status_of(writer)
        assert status["phase"] == "Pending"
        [container] = status["containerStatuses"]
        assert container["state"] == {"waiting": {"reason": "ContainerCreating"}}
        [text] = events(writer, "FailedPrepareDynamicResources")
        assert "is not allowed to use ResourceClaim c" in text
        uid = writer.document("pods", "default", "p")["metadata"]["uid"]
        consumer = {"resource": "pods", "name": "p", "uid": uid}
        writer.set_status(CLAIMS, claim, allocation={}, reservedFor=[consumer])
        await asyncio.sleep(1)
        assert status_of(writer)["phase"] == "Running"

    in_cluster(test)


def test_a_pod_that_runs_is_not_stopped_when_its_claim_is_lost() -> None:
    async def test(writer: FakeWriter) -> None:
        add_nodes(writer)
        claim = writer.create(CLAIMS, {"metadata": {"name": "c", "namespace": "default"}, "spec": {}})
        created = writer.create("pods", pod("p", resourceClaims=[NAMED]))
        consumer = {"resource": "pods", "name": "p", "uid": created.uid}
        writer.set_status(CLAIMS, claim, allocation={}, reservedFor=[consumer])
        await asyncio.sleep(1)
        assert status_of(writer)["phase"] == "Running"
        known = writer.store.get(CLAIMS, "default", "c")
        assert known is not None
        writer.set_status(CLAIMS, known, allocation=None)
        await asyncio.sleep(5)
        assert status_of(writer)["phase"] == "Running"

    in_cluster(test)
