"""A cluster of manifests with a pod for every kind of question."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import listed, node, pod, write

GPU = {"taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}]}


def manifests(folder: Path) -> Path:
    return write(
        folder / "cluster.yaml",
        listed(
            *(node(f"node-{i}") for i in (1, 2, 3)),
            *(node(name, spec=GPU) for name in ("gpu-1", "gpu-2")),
            node("old", spec={"unschedulable": True}),
            *(pod(f"busy-{i}", f"{2500 + 100 * i}m", nodeName=f"node-{i}") for i in (1, 2, 3)),
            pod("big", "1500m"),
            pod("small", "500m"),
            pod("picky", "1", nodeSelector={"disk": "ssd"}),
            pod("gated", "1", schedulingGates=[{"name": "example.com/wait"}]),
            pod("important", "3", namespace="shop", priority=100),
        ),
    )
