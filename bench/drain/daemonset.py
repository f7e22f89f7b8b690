"""One pod for each node, as the DaemonSet controller writes them."""

from __future__ import annotations

from collections.abc import Iterator

from bench.drain.workload import Bounds, Document, Size, Workload, for_the_bench
from moorage.what_if.workloads import make_pods

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


def pods(prefix: str, size: Size) -> Iterator[Document]:
    tolerations = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
    for number, pod in enumerate(make_pods("plain", size.pods, prefix)):
        node = {"key": "metadata.name", "operator": "In", "values": [f"node-{number % size.nodes:05d}"]}
        required = {"nodeSelectorTerms": [{"matchFields": [node]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        yield for_the_bench(pod.raw, affinity=affinity, tolerations=tolerations)


WORKLOAD = Workload("daemonset", pods, Bounds(2.5, 0.25), most_per_node=1)
