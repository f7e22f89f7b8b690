"""Pods of high priority in a cluster that is full of others: each has to have a pod evicted.

There is no kubelet to end pods. Those to be evicted have no time to end in, so that the API server removes
them at once when a scheduler deletes them, whichever it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.drain.workload import Bounds, Document, Objects, Size, Workload, for_the_bench, with_cpu
from moorage.api.pods import Pod
from moorage.api.workloads import PriorityClass
from moorage.what_if.workloads import make_pods

_HIGH = "high"
_CPU = "8"
_ON_EACH_NODE = 4
"""Pods of that size fill a node."""


def pods(prefix: str, size: Size) -> Iterator[Document]:
    for pod in make_pods("plain", size.pods, prefix):
        yield with_cpu(for_the_bench(pod.raw, priorityClassName=_HIGH), _CPU)


def priority_class(size: Size) -> Objects:
    yield PriorityClass, {"metadata": {"name": _HIGH}, "value": 1000}


def victims(prefix: str, size: Size) -> Objects:
    for number, pod in enumerate(make_pods("plain", size.nodes * _ON_EACH_NODE, f"{prefix}-low")):
        node = f"node-{number % size.nodes:05d}"
        document = for_the_bench(pod.raw, nodeName=node, terminationGracePeriodSeconds=0)
        yield Pod, with_cpu(document, _CPU)


WORKLOAD = Workload(
    "preemption",
    pods,
    Bounds(2, 0.40),
    size=Size(500, 500),
    most_per_node=_ON_EACH_NODE,
    lasting=priority_class,
    company=victims,
)
