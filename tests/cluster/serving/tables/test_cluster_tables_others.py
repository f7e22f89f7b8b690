"""The cells of configuration, storage, nodes, events and the like, as kube-apiserver v1.36 shows them."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.serving.tables.builtin import columns_of
from moorage.cluster.serving.tables.durations import seconds_since_epoch

NOW = seconds_since_epoch("2026-11-15T23:15:00Z") or 0.0
CREATED = "2026-11-15T23:14:40Z"
GONE = {"deletionTimestamp": CREATED}
RBAC = "rbac.authorization.k8s.io"


def named(name: str, metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": CREATED, **(metadata or {})}, **fields}


def event(name: str, **fields: Any) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "p", "namespace": "n"}
    return named(name, **{"involvedObject": about, "type": "Normal", **fields})


CELLS: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("configmaps", named("cm", data={"a": "1", "b": "2"}, binaryData={"c": "AA=="}), ["cm", 3, "20s"]),
    ("secrets", named("sec", type="Opaque", data={"a": "MQ=="}), ["sec", "Opaque", 1, "20s"]),
    ("serviceaccounts", named("default"), ["default", "20s"]),
    (
        "resourcequotas",
        named(
            "rq",
            status={
                "hard": {"requests.cpu": "2", "limits.cpu": "4", "pods": "10", "cpu": "1"},
                "used": {"pods": "3", "limits.cpu": "1500m"},
            },
        ),
        ["rq", "cpu: 0/1, pods: 3/10, requests.cpu: 0/2", "limits.cpu: 1500m/4", "20s"],
    ),
    ("limitranges", named("lr"), ["lr", "2026-11-15T23:14:40Z"]),
    (
        "events",
        event(
            "ev1",
            involvedObject={"kind": "Pod", "name": "p", "fieldPath": "spec.containers{a}"},
            reason="Started",
            message="  hello\nworld ",
            firstTimestamp="2026-11-15T20:00:00Z",
            lastTimestamp="2026-11-15T21:00:00Z",
            count=5,
            source={"component": "kubelet", "host": "n1"},
        ),
        [
            *("135m", "Normal", "Started", "pod/p", "spec.containers{a}", "kubelet, n1"),
            *("hello\nworld", "3h15m", 5, "ev1"),
        ],
    ),
    (
        "events",
        event(
            "ev2",
            reason="Scheduled",
            message="m",
            eventTime="2026-11-15T20:00:00.000000Z",
            firstTimestamp=None,
            lastTimestamp=None,
            reportingComponent="sched",
            reportingInstance="sched-1",
        ),
        ["3h15m", "Normal", "Scheduled", "pod/p", "", "sched, sched-1", "m", "3h15m", 1, "ev2"],
    ),
    (
        "events",
        event(
            "ev3",
            type="Warning",
            reason="Failed",
            message="m",
            eventTime="2026-11-15T20:00:00.000000Z",
            series={"count": 9, "lastObservedTime": "2026-11-15T22:00:00.000000Z"},
            reportingComponent="sched",
        ),
        ["75m", "Warning", "Failed", "pod/p", "", "sched", "m", "3h15m", 9, "ev3"],
    ),
    (
        "events",
        event("ev4", involvedObject={"kind": "ThatKind"}, reason="x"),
        ["<unknown>", "Normal", "x", "thatkind", "", "", "", "<unknown>", 1, "ev4"],
    ),
    (
        "events.events.k8s.io",
        named(
            "ev1",
            regarding={"kind": "Pod", "name": "p"},
            type="Normal",
            reason="Started",
            note="hello",
            deprecatedFirstTimestamp="2026-11-15T20:00:00Z",
            deprecatedLastTimestamp="2026-11-15T21:00:00Z",
            deprecatedCount=5,
            deprecatedSource={"component": "kubelet", "host": "n1"},
        ),
        ["135m", "Normal", "Started", "pod/p", "", "kubelet, n1", "hello", "3h15m", 5, "ev1"],
    ),
    (
        "persistentvolumeclaims",
        named(
            "pvc",
            spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem"},
            status={"phase": "Pending"},
        ),
        ["pvc", "Pending", "", "", "", "fast", "<unset>", "20s", "Filesystem"],
    ),
    (
        "persistentvolumeclaims",
        named(
            "pvc2",
            spec={"volumeName": "pv", "volumeMode": "Block"},
            status={
                "phase": "Bound",
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                "capacity": {"storage": "2Gi"},
            },
        ),
        ["pvc2", "Bound", "pv", "2Gi", "RWO,RWX", "", "<unset>", "20s", "Block"],
    ),
    (
        "persistentvolumeclaims",
        named(
            "pvc3",
            {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
            spec={"volumeName": "pv", "volumeMode": "Filesystem"},
            status={"phase": "Pending"},
        ),
        ["pvc3", "Pending", "pv", "0", "", "old", "<unset>", "20s", "Filesystem"],
    ),
    (
        "persistentvolumes",
        named(
            "pv",
            spec={
                "capacity": {"storage": "5Gi"},
                "accessModes": ["ReadOnlyMany", "ReadWriteOnce"],
                "claimRef": {"namespace": "n", "name": "pvc2"},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "fast",
                "volumeAttributesClassName": "gold",
                "volumeMode": "Filesystem",
            },
            status={"phase": "Failed", "reason": "Oops"},
        ),
        [
            *("pv", "5Gi", "RWO,ROX", "Retain", "Failed", "n/pvc2"),
            *("fast", "gold", "Oops", "20s", "Filesystem"),
        ],
    ),
    (
        "persistentvolumes",
        named("pv2", GONE, spec={"accessModes": ["ReadWriteOncePod"]}, status={"phase": "Available"}),
        ["pv2", "0", "RWOP", "", "Terminating", "", "", "<unset>", "", "20s", "<unset>"],
    ),
    (
        "nodes",
        named(
            "n1",
            {
                "labels": {
                    "node-role.kubernetes.io/worker": "",
                    "node-role.kubernetes.io/control-plane": "",
                    "kubernetes.io/role": "edge",
                }
            },
            spec={"unschedulable": True},
            status={
                "conditions": [{"type": "Ready", "status": "True"}],
                "addresses": [
                    {"type": "Hostname", "address": "h"},
                    {"type": "InternalIP", "address": "10.0.0.9"},
                    {"type": "InternalIP", "address": "10.0.0.8"},
                    {"type": "ExternalIP", "address": "8.0.0.9"},
                ],
                "nodeInfo": {
                    "kubeletVersion": "v1.36.4",
                    "osImage": "Moor OS",
                    "kernelVersion": "6.1",
                    "containerRuntimeVersion": "containerd://2.0",
                    "architecture": "arm64",
                },
            },
        ),
        [
            *("n1", "Ready,SchedulingDisabled", "control-plane,edge,worker", "20s", "v1.36.4"),
            *("10.0.0.9", "8.0.0.9", "Moor OS", "6.1 (arm64)", "containerd://2.0"),
        ],
    ),
    (
        "nodes",
        named("n2", status={"conditions": [{"type": "Ready", "status": "Unknown"}]}),
        ["n2", "NotReady", "<none>", "20s", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    ),
    (
        "nodes",
        named("n3"),
        ["n3", "Unknown", "<none>", "20s", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    ),
    ("namespaces", named("ns", status={"phase": "Active"}), ["ns", "Active", "20s"]),
    (
        "storageclasses.storage.k8s.io",
        named(
            "sc",
            {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            provisioner="x/y",
            allowVolumeExpansion=True,
            volumeBindingMode="WaitForFirstConsumer",
            reclaimPolicy="Retain",
        ),
        ["sc (default)", "x/y", "Retain", "WaitForFirstConsumer", True, "20s"],
    ),
    (
        "storageclasses.storage.k8s.io",
        named("sc2", provisioner="x/y"),
        ["sc2", "x/y", "Delete", "Immediate", False, "20s"],
    ),
    ("csinodes.storage.k8s.io", named("n1", spec={"drivers": [{"name": "d"}]}), ["n1", 1, "20s"]),
    (
        "csidrivers.storage.k8s.io",
        named(
            "d",
            spec={
                "attachRequired": False,
                "podInfoOnMount": True,
                "storageCapacity": True,
                "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                "requiresRepublish": True,
                "volumeLifecycleModes": ["Persistent", "Ephemeral"],
            },
        ),
        ["d", False, True, True, "a,b", True, "Persistent,Ephemeral", "20s"],
    ),
    (
        "csidrivers.storage.k8s.io",
        named("d2", spec={"volumeLifecycleModes": ["Persistent"]}),
        ["d2", True, False, False, "<unset>", False, "Persistent", "20s"],
    ),
    ("csistoragecapacities.storage.k8s.io", named("csc"), ["csc", "2026-11-15T23:14:40Z"]),
    (
        "volumeattachments.storage.k8s.io",
        named(
            "va",
            spec={"attacher": "x", "nodeName": "n1", "source": {"persistentVolumeName": "pv"}},
            status={"attached": True},
        ),
        ["va", "x", "pv", "n1", True, "20s"],
    ),
    ("volumeattributesclasses.storage.k8s.io", named("vac", driverName="x"), ["vac", "x", "20s"]),
    (
        "priorityclasses.scheduling.k8s.io",
        named("pc", value=7, preemptionPolicy="Never"),
        ["pc", 7, False, "20s", "Never"],
    ),
    ("leases.coordination.k8s.io", named("l", spec={"holderIdentity": "me"}), ["l", "me", "20s"]),
    ("leases.coordination.k8s.io", named("l2", spec={}), ["l2", "", "20s"]),
    (
        f"rolebindings.{RBAC}",
        named(
            "rb",
            roleRef={"kind": "ClusterRole", "name": "view"},
            subjects=[
                {"kind": "User", "name": "u"},
                {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
                {"kind": "User", "name": "u2"},
                {"kind": "Group", "name": "g"},
            ],
        ),
        ["rb", "ClusterRole/view", "20s", "u, u2", "g", "n/s"],
    ),
    (f"clusterroles.{RBAC}", named("r"), ["r", "2026-11-15T23:14:40Z"]),
    ("resourceclaims.resource.k8s.io", named("rc1"), ["rc1", "pending", "20s"]),
    (
        "resourceclaims.resource.k8s.io",
        named("rc2", status={"allocation": {}, "reservedFor": [{"name": "p"}]}),
        ["rc2", "allocated,reserved", "20s"],
    ),
    ("resourceclaims.resource.k8s.io", named("rc3", GONE), ["rc3", "deleted", "20s"]),
    (
        "resourceclaims.resource.k8s.io",
        named("rc4", GONE, status={"allocation": {}}),
        ["rc4", "deleted,allocated", "20s"],
    ),
    ("resourceclaimtemplates.resource.k8s.io", named("rct"), ["rct", "20s"]),
    (
        "resourceslices.resource.k8s.io",
        named("rs", spec={"driver": "d.example.com", "nodeName": "n1", "pool": {"name": "p"}}),
        ["rs", "n1", "d.example.com", "p", "20s"],
    ),
    ("deviceclasses.resource.k8s.io", named("dc"), ["dc", "20s"]),
    ("runtimeclasses.node.k8s.io", named("rtc", handler="runc"), ["rtc", "runc", "20s"]),
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        named("things.example.com"),
        ["things.example.com", "2026-11-15T23:14:40Z"],
    ),
]


@pytest.mark.parametrize(
    ("storage", "document", "cells"), CELLS, ids=[f"{row[0]}-{row[1]['metadata']['name']}" for row in CELLS]
)
def test_cells(storage: str, document: dict[str, Any], cells: list[Any]) -> None:
    columns = columns_of(storage)

    found = columns.cells(document, NOW)

    assert found == cells
    assert [type(cell) for cell in found] == [type(cell) for cell in cells]
    assert len(found) == len(columns.columns)
