"""Objects for tests of traces, as an API server has them."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

BEGAN = 1_700_000_000.0


def node(name: str, **status: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "5",
            "labels": {"kubernetes.io/hostname": name},
            "managedFields": [{"manager": "kubelet"}],
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "reason": "KubeletReady",
                }
            ],
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
            **status,
        },
    }


def pod(name: str, node_name: str = "", **status: Any) -> Document:
    spec: Document = {
        "containers": [
            {
                "name": "main",
                "image": "registry.example/app:1",
                "env": [{"name": "SECRET", "value": "x"}],
                "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
                "ports": [{"containerPort": 80}],
            }
        ],
        "volumes": [{"name": "token", "projected": {"sources": []}}],
        "schedulerName": "default-scheduler",
    }
    if node_name:
        spec["nodeName"] = node_name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "labels": {"app": "web"},
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
            ],
        },
        "spec": spec,
        "status": {"phase": "Pending", **status},
    }
