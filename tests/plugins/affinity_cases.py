"""Pods with affinity terms, and two zones to place them in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.api.pods import Pod
from moorage.config.args import InterPodAffinityArgs
from moorage.framework.status import Status
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered

Document = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NOT_NEAR = Status.unresolvable("node(s) didn't match pod affinity rules")
TOO_NEAR = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
UNWELCOME = Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
DELETING: Document = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def expression(key: str, operator: str, *values: str) -> Document:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def term(app: str | None = "a", key: str = ZONE, **rest: Any) -> Document:
    """A term for pods of one app; other selectors by keyword."""
    own = {} if app is None else {"labelSelector": {"matchLabels": {"app": app}}}
    return {"topologyKey": key, **own, **rest}


def affinity(
    near: Iterable[Document] = (),
    far: Iterable[Document] = (),
    prefer: Iterable[tuple[int, Document]] = (),
    avoid: Iterable[tuple[int, Document]] = (),
) -> Document:
    def weighted(terms: Iterable[tuple[int, Document]]) -> list[Document]:
        return [{"weight": weight, "podAffinityTerm": item} for weight, item in terms]

    return {
        "podAffinity": {REQUIRED: list(near), PREFERRED: weighted(prefer)},
        "podAntiAffinity": {REQUIRED: list(far), PREFERRED: weighted(avoid)},
    }


def pod_with(
    *,
    app: str = "",
    near: Iterable[Document] = (),
    far: Iterable[Document] = (),
    prefer: Iterable[tuple[int, Document]] = (),
    avoid: Iterable[tuple[int, Document]] = (),
    name: str = "in",
    node: str = "",
    namespace: str = "default",
    **rest: Any,
) -> Pod:
    labels = {"app": app} if app else {}
    wanted = affinity(near, far, prefer, avoid)
    return make_pod(name, node=node, namespace=namespace, labels=labels, affinity=wanted, **rest)


def zones(*pods: Pod, **args: Any) -> InterPodAffinity:
    """Zone 1 with nodes a and b, zone 2 with node c, and node x without a zone."""
    nodes = [make_node(name, labels={ZONE: zone}) for name, zone in (("a", "1"), ("b", "1"), ("c", "2"))]
    handle = cluster([*nodes, make_node("x")], pods)
    return InterPodAffinity(InterPodAffinityArgs(**args) if args else None, handle)


def passing(plugin: InterPodAffinity, pod: Pod) -> str:
    return "".join(sorted(name for name, status in filtered(plugin, pod).items() if status is None))
