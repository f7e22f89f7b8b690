"""What a scheduler is measured with: a cluster, the pods that wait in it, and what happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from moorage.api.meta import Object
from moorage.client.http import HttpClient

Document = dict[str, Any]
Objects = Iterator[tuple[type[Object], Document]]

SCHEDULER = "bench"
"""The scheduler that the pods ask for."""
NAMESPACE = "default"
"""Whatever is in it is removed after each run."""


class Size(NamedTuple):
    nodes: int
    pods: int


_SIZE = Size(5000, 5000)


class Bounds(NamedTuple):
    """What Moorage has to keep to, as multiples of kube-scheduler's figures."""

    pods_per_second: float
    """At least."""
    cpu: float | None
    """Per pod, at most."""


def nothing(*_: object) -> Objects:
    return iter(())


@dataclass(frozen=True)
class Workload:
    """Pods of one shape. The bounds hold for the size that stands beside them."""

    name: str
    pods: Callable[[str, Size], Iterator[Document]]
    """The pods that are counted. Their names begin with what is given."""
    bounds: Bounds
    size: Size = _SIZE
    round_seconds: int = 50
    """About how long a round of that size takes on two cores; only said, never checked."""
    most_per_node: int = 110
    """More of these pods than so many for each node may find no place."""
    lasting: Callable[[Size], Objects] = nothing
    """What is in the cluster beside its nodes, in all runs."""
    company: Callable[[str, Size], Objects] = nothing
    """What is made anew before each run, and before its pods."""
    meanwhile: Callable[[HttpClient, Size], Coroutine[Any, Any, None]] | None = None
    """What goes on until the last pod is bound."""
    afterwards: Callable[[HttpClient], Coroutine[Any, Any, None]] | None = None
    """What is done after each run, when its pods are gone."""


def for_the_bench(document: Document, **spec: Any) -> Document:
    """The pod, but for the scheduler under test and with more fields of its spec."""
    return {**document, "spec": {**document["spec"], "schedulerName": SCHEDULER, **spec}}


def with_cpu(document: Document, cpu: str) -> Document:
    """The pod, but with one container that requests so much CPU."""
    [container] = document["spec"]["containers"]
    requests = {**container["resources"]["requests"], "cpu": cpu}
    return {
        **document,
        "spec": {**document["spec"], "containers": [{**container, "resources": {"requests": requests}}]},
    }
