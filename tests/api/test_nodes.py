from __future__ import annotations

from moorage.api.nodes import Node
from tests.api.complete import METADATA, assert_complete


def test_every_field() -> None:
    assert_complete(
        Node,
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": METADATA,
            "spec": {"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "4"},
                "capacity": {"cpu": "5"},
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "reason": "KubeletReady",
                        "message": "fine",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                        "observedGeneration": 2,
                    }
                ],
                "images": [{"names": ["a:1", "a@sha256:0"], "sizeBytes": 5}],
                "declaredFeatures": ["feature"],
            },
        },
    )


def test_a_node_has_no_namespace() -> None:
    assert not Node.namespaced
