"""Volumes and devices: what the pods of a trace were given, they are given anew."""

from __future__ import annotations

from copy import copy
from typing import Any

from msgspec.structs import replace

from moorage.api.decoding import from_document
from moorage.api.devices import AllocationResult, ConsumerReference, ResourceClaim, ResourceClaimStatus
from moorage.api.pods import Pod, on_node
from moorage.api.storage import ObjectReference, PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.testing import make_node, make_pod
from moorage.what_if.device_workloads import make_claims, make_devices
from tests.what_if.replay.traces import CONTROLLED, Recording, Replayed

CLAIMS: dict[str, Any] = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}


def pod_with_device(name: str, **what: Any) -> Pod:
    made = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]}
    return make_pod(name, status=made, **CLAIMS, **what)


def record(recording: Recording, pod: Pod, came: float, bound: float, gone: float) -> ResourceClaim:
    """A pod with its claim, as a trace has them: the claim is allocated when the pod is bound."""
    (claim,) = make_claims([pod])
    recording.put(came, pod)
    recording.put(came, claim)
    given = copy(claim)
    user = ConsumerReference(resource="pods", name=pod.name, uid=pod.uid)
    given.status = ResourceClaimStatus(allocation=AllocationResult(), reserved_for=(user,))
    recording.put(bound, given)
    recording.put(bound, on_node(pod, "n"))
    recording.gone(gone, on_node(pod, "n"))
    recording.gone(gone, given)
    return claim


def test_devices_are_free_again_when_the_pod_has_ended() -> None:
    recording = Recording(make_node("n"))
    for item in make_devices(["n"], 1):
        recording.put(0, item)
    record(recording, pod_with_device("a"), 0, 1, 61)
    record(recording, pod_with_device("b"), 5, 62, 92)
    found = Replayed(recording.trace(until=200))
    assert found.bound == {"a": (0, "n"), "b": (60, "n")}
    assert found.went == {"a": 60, "b": 90}


def test_a_claim_goes_with_its_pod_and_not_when_it_went_in_the_trace() -> None:
    recording = Recording(make_node("n", cpu=4))
    for item in make_devices(["n"], 1):
        recording.put(0, item)
    recording.pod("first", 0, bound=0, gone=50, cpu=3)
    record(recording, pod_with_device("late", cpu=3), 1, 2, 12)
    found = Replayed(recording.trace(until=200))
    assert found.bound["late"] == (50, "n") and found.went["late"] == 60
    gone = [change for change in found.changes if change.gone and change.item.kind == "ResourceClaim"]
    assert [change.time for change in gone] == [1_750_000_060.0]


def test_who_comes_again_has_its_claim_again() -> None:
    recording = Recording(make_node("n", cpu=4))
    for item in make_devices(["n"], 1):
        recording.put(0, item)
    record(recording, pod_with_device("victim", cpu=3, metadata=CONTROLLED), 0, 0, 100)
    recording.pod("urgent", 40, bound=41, gone=61, cpu=3, priority=10)
    found = Replayed(recording.trace(until=300))
    assert found.bound["victim"] == (60, "n") and found.went["victim"] == 120


def with_volume(name: str, claim: str, **what: Any) -> Pod:
    return make_pod(name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim}}], **what)


def test_a_claim_that_waits_for_a_pod_does_so_again() -> None:
    """In the trace its volume was made in the zone of the node that was chosen there."""
    recording = Recording(make_node("n"), make_node("elsewhere"))
    storage_class = {"metadata": {"name": "fast", "uid": "fast"}, "provisioner": "example.com/disks"}
    recording.put(
        0, from_document(StorageClass, {**storage_class, "volumeBindingMode": "WaitForFirstConsumer"})
    )
    meta = {"name": "data", "namespace": "default", "uid": "data"}
    claim = from_document(
        PersistentVolumeClaim,
        {
            "metadata": meta,
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
        },
    )
    recording.put(1, claim)
    pod = with_volume("p", "data")
    recording.put(2, pod)
    chosen = copy(claim)
    note = {"volume.kubernetes.io/selected-node": "elsewhere"}
    chosen.metadata = replace(claim.metadata, annotations=note)
    recording.put(3, chosen)
    volume = from_document(
        PersistentVolume,
        {
            "metadata": {"name": "pv", "uid": "pv"},
            "spec": {
                "storageClassName": "fast",
                "capacity": {"storage": "1Gi"},
                "claimRef": {"namespace": "default", "name": "data", "uid": "data"},
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {
                                        "key": "kubernetes.io/hostname",
                                        "operator": "In",
                                        "values": ["elsewhere"],
                                    }
                                ]
                            }
                        ]
                    }
                },
            },
            "status": {"phase": "Bound"},
        },
    )
    recording.put(4, volume)
    bound = copy(chosen)
    bound.spec = replace(chosen.spec, volume_name="pv")
    recording.put(4, bound)
    recording.put(5, on_node(pod, "elsewhere"))
    gone = make_node("elsewhere")
    recording.gone(1.5, gone)
    found = Replayed(recording.trace(until=60))
    assert found.bound == {"p": (2, "n")}
    kinds = [change.item.kind for change in found.changes]
    assert "PersistentVolume" not in kinds
    claims = [change.item for change in found.changes if isinstance(change.item, PersistentVolumeClaim)]
    assert all(not each.spec.volume_name and not each.annotations for each in claims)


def test_a_volume_that_was_there_before_is_nobody_s_until_it_is_given() -> None:
    from moorage.state.objects import Objects
    from moorage.what_if.replay.inputs import RecordedVolumes

    objects = Objects()
    volumes = RecordedVolumes(objects)
    waits = from_document(
        StorageClass,
        {"metadata": {"name": "local"}, "provisioner": "none", "volumeBindingMode": "WaitForFirstConsumer"},
    )
    objects.of(StorageClass).put(waits)
    meta = {"name": "data", "namespace": "default"}
    claim = from_document(PersistentVolumeClaim, {"metadata": meta, "spec": {"storageClassName": "local"}})
    objects.of(PersistentVolumeClaim).put(volumes.claim(claim))
    free = from_document(
        PersistentVolume, {"metadata": {"name": "disk"}, "spec": {"storageClassName": "local"}}
    )
    assert volumes.volume(free) is free
    objects.of(PersistentVolume).put(free)
    taken = copy(free)
    taken.spec = replace(free.spec, claim_ref=ObjectReference(namespace="default", name="data"))
    given_back = volumes.volume(taken)
    assert given_back is not None and given_back.spec.claim_ref is None
    assert given_back.status.phase == "Available"
