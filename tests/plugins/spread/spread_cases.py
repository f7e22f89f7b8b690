"""Topology spread constraints, pods that have them, and clusters to spread over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.workloads import Service
from moorage.config.args import PodTopologySpreadArgs
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.plugins.spread.pod_topology_spread import PodTopologySpread
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster

Document = dict[str, Any]

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack"
MISSING = Status.unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
SKEWED = Status.unschedulable("node(s) didn't match pod topology spread constraints")
APP: Document = {"matchLabels": {"app": "a"}}
DELETING: Document = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def constraint(
    key: str = ZONE, selector: Document | None = APP, *, hard: bool = True, skew: int = 1, **rest: Any
) -> Document:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        **({} if selector is None else {"labelSelector": selector}),
        **rest,
    }


def pod_with(*constraints: Document, labels: Mapping[str, str] | None = None, **rest: Any) -> Pod:
    own = {"app": "a"} if labels is None else labels
    return make_pod("in", labels=own, topologySpreadConstraints=list(constraints), **rest)


def zones(**counts: int) -> Handle:
    """A node for each zone, with so many pods of app a."""
    nodes = [make_node(f"n-{zone}", labels={ZONE: zone}) for zone in counts]
    return cluster(nodes, [pod for zone, count in counts.items() for pod in apps(f"n-{zone}", count)])


def apps(node: str, count: int, **rest: Any) -> list[Pod]:
    return [make_pod(f"{node}-{i}", node=node, labels={"app": "a"}, **rest) for i in range(count)]


def spread(handle: Handle, **args: Any) -> PodTopologySpread:
    return PodTopologySpread(PodTopologySpreadArgs(**args) if args else None, handle)


SERVICE = from_document(
    Service, {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "a"}}}
)


def served(nodes: Iterable[tuple[str, str | None, int]], *objects: Object) -> Handle:
    """Nodes with a zone and a number of pods of app a, and a service for these."""
    nodes = list(nodes)
    handle = cluster(
        [make_node(name, labels={} if zone is None else {ZONE: zone}) for name, zone, _ in nodes],
        [pod for name, _, count in nodes for pod in apps(name, count)],
    )
    for item in objects or (SERVICE,):
        handle.state.objects.of(type(item)).put(item)
    return handle
