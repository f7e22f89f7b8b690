"""All workloads, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench.drain import daemonset, device_claims, preemption, unschedulable, volumes
from bench.drain.workload import Bounds, Document, Size, Workload, for_the_bench
from moorage.what_if.workloads import make_pods

_SIMPLE, _COUNTING, _EXCLUDING = Bounds(2.5, 0.25), Bounds(4.5, 0.14), Bounds(6, 0.10)


def _made_up(shape: str) -> Callable[[str, Size], Iterator[Document]]:
    def pods(prefix: str, size: Size) -> Iterator[Document]:
        for pod in make_pods(shape, size.pods, prefix):
            yield for_the_bench(pod.raw)

    return pods


WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("plain", _made_up("plain"), _SIMPLE),
        Workload("distinct", _made_up("distinct"), _SIMPLE),
        Workload("nodeaffinity", _made_up("nodeaffinity"), _SIMPLE, most_per_node=27),
        daemonset.WORKLOAD,
        Workload("spread", _made_up("spread"), _COUNTING, round_seconds=80),
        Workload("prefaffinity", _made_up("prefaffinity"), _COUNTING, round_seconds=80),
        Workload("antiaffinity", _made_up("antiaffinity"), _EXCLUDING, round_seconds=80, most_per_node=100),
        Workload("affinity", _made_up("affinity"), _EXCLUDING, round_seconds=80, most_per_node=30),
        unschedulable.WORKLOAD,
        preemption.WORKLOAD,
        volumes.WORKLOAD,
        device_claims.WORKLOAD,
    )
}
