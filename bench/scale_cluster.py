"""Large clusters as an API server shows them: nodes and pods as JSON, with all that nobody schedules by.

Pods belong to apps of a hundred, on a hundred nodes each. Of ten apps two spread over zones, two keep their
pods apart, one prefers its own and one demands it; the others are plain.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from moorage.what_if.workloads import WORKLOADS, make_nodes, make_pods

Document = dict[str, Any]

PODS_PER_NODE = 10
_APP = 100
_SHAPES = (*["plain"] * 4, *["spread"] * 2, *["antiaffinity"] * 2, "prefaffinity", "affinity")
_IMAGES = 25
_THEN = "2026-01-31T12:00:00Z"
_encode = msgspec.json.Encoder().encode


def nodes_as_sent(count: int) -> Iterator[bytes]:
    for node in make_nodes(count):
        yield _encode(_node(node.raw))


def pods_as_sent(nodes: int) -> Iterator[bytes]:
    """Running pods, `PODS_PER_NODE` on each node."""
    total = nodes * PODS_PER_NODE
    for number, pod in enumerate(make_pods("plain", total, "placed")):
        document = pod.raw
        labels = document["metadata"]["labels"]
        app = number // _APP
        labels["app"] = f"app-{app}"
        WORKLOADS[_SHAPES[app % len(_SHAPES)]](number, labels, document["spec"])
        document["spec"]["nodeName"] = f"node-{number % nodes:05d}"
        yield _encode(_pod(document, number))


def _node(document: Document) -> Document:
    metadata, status = document["metadata"], document["status"]
    metadata["labels"] |= {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "large",
        "topology.kubernetes.io/region": "region-1",
    }
    metadata |= {
        "resourceVersion": "1000000",
        "creationTimestamp": _THEN,
        "annotations": {
            "node.alpha.kubernetes.io/ttl": "0",
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        },
        "managedFields": [
            _managed("kubelet", {"f:metadata": {"f:labels": _names(metadata["labels"])}}, ""),
            _managed("kubelet", _KUBELET_MANAGES_NODE, "status"),
        ],
    }
    status |= {
        "conditions": _CONDITIONS,
        "addresses": [
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "Hostname", "address": metadata["name"]},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": metadata["uid"],
            "systemUUID": metadata["uid"],
            "bootID": metadata["uid"],
            "kernelVersion": "6.8.0",
            "osImage": "Linux",
            "containerRuntimeVersion": "containerd://2.1.0",
            "kubeletVersion": "v1.36.4",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
        "images": _IMAGES_THERE,
    }
    spec = {"podCIDR": "10.1.0.0/24"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _pod(document: Document, number: int) -> Document:
    metadata, spec = document["metadata"], document["spec"]
    began = (datetime(2026, 1, 1) + timedelta(seconds=number)).isoformat() + "Z"
    token = f"kube-api-access-{number:06x}"
    conditions = [{**condition, "lastTransitionTime": began} for condition in _POD_CONDITIONS]
    name, app = metadata["name"], metadata["labels"]["app"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"uid-{app}"}
    metadata |= {
        "generateName": f"{app}-",
        "resourceVersion": str(2_000_000 + number),
        "generation": 1,
        "creationTimestamp": began,
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        "managedFields": [
            _managed("kube-controller-manager", _CONTROLLER_MANAGES, ""),
            _managed("kubelet", _KUBELET_MANAGES, "status"),
        ],
    }
    spec["containers"][0] |= {
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "volumeMounts": [{"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io"}],
    }
    spec |= {
        "volumes": [{"name": token, "projected": {"sources": _TOKEN, "defaultMode": 420}}],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": _TOLERATIONS,
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    running = {
        "name": "main",
        "state": {"running": {"startedAt": began}},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": "registry.example/app:v1",
        "imageID": f"registry.example/app@sha256:{'0' * 64}",
        "containerID": f"containerd://{name:0>64}",
        "started": True,
        "allocatedResources": spec["containers"][0]["resources"]["requests"],
        "resources": spec["containers"][0]["resources"],
    }
    status = {
        "phase": "Running",
        "conditions": conditions,
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "podIPs": [{"ip": "10.1.0.1"}],
        "startTime": began,
        "containerStatuses": [running],
        "qosClass": "Burstable",
    }
    return {"apiVersion": "v1", "kind": "Pod", **document, "status": status}


def _managed(manager: str, fields: Document, subresource: str) -> Document:
    entry = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": _THEN}
    return {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields, "subresource": subresource}


def _condition(type: str, status: str) -> Document:
    times = {"lastHeartbeatTime": _THEN, "lastTransitionTime": _THEN}
    return {"type": type, "status": status, **times, "reason": f"Kubelet{type}", "message": f"{type} as told"}


_CONDITIONS = [
    _condition("MemoryPressure", "False"),
    _condition("DiskPressure", "False"),
    _condition("PIDPressure", "False"),
    _condition("Ready", "True"),
]
_POD_CONDITIONS = [
    {"type": kind, "status": "True", "observedGeneration": 1, "lastTransitionTime": _THEN}
    for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
]


def _names(document: Document) -> Document:
    return {".": {}, **{f"f:{name}": {} for name in document}}


_KUBELET_MANAGES_NODE = {
    "f:status": {
        "f:conditions": {f'k:{{"type":"{each["type"]}"}}': _names(each) for each in _CONDITIONS},
        "f:images": {},
        "f:allocatable": _names({"cpu": 0, "memory": 0, "pods": 0, "ephemeral-storage": 0}),
        "f:nodeInfo": _names({"bootID": 0, "kernelVersion": 0, "machineID": 0, "systemUUID": 0}),
    }
}
_KUBELET_MANAGES = {
    "f:status": {
        "f:conditions": {f'k:{{"type":"{each["type"]}"}}': _names(each) for each in _POD_CONDITIONS},
        **{
            f"f:{name}": {}
            for name in ("containerStatuses", "hostIP", "hostIPs", "phase", "podIP", "startTime")
        },
        "f:podIPs": {".": {}, 'k:{"ip":"10.1.0.1"}': {".": {}, "f:ip": {}}},
    }
}
_CONTROLLER_MANAGES = {
    "f:metadata": {
        "f:generateName": {},
        "f:labels": {".": {}, "f:app": {}, "f:pod-template-hash": {}},
        "f:ownerReferences": {".": {}, 'k:{"uid":"6f0b1c0e-7d0f-4c55-9a53-3b7d3b4d8a10"}': {}},
    },
    "f:spec": {
        "f:containers": {
            'k:{"name":"main"}': {
                ".": {},
                **{
                    f"f:{name}": {} for name in ("image", "imagePullPolicy", "name", "terminationMessagePath")
                },
                "f:ports": {
                    ".": {},
                    'k:{"containerPort":8080,"protocol":"TCP"}': _names({"containerPort": 0}),
                },
                "f:resources": {".": {}, "f:requests": _names({"cpu": 0, "memory": 0})},
            }
        },
        **{f"f:{name}": {} for name in ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName")},
        "f:securityContext": {},
        "f:terminationGracePeriodSeconds": {},
    },
}
_TOLERATIONS = [
    {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for key in ("not-ready", "unreachable")
]
_TOKEN: list[Document] = [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {
        "downwardAPI": {
            "items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
            ]
        }
    },
]
_IMAGES_THERE = [
    {
        "names": [
            f"registry.example/image-{number}@sha256:{number:064}",
            f"registry.example/image-{number}:v1",
        ],
        "sizeBytes": 50_000_000 + number,
    }
    for number in range(_IMAGES)
]
