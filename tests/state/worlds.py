"""Nodes and pods to draw from, and everything a state knows in a form that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.state.cluster import ClusterState
from moorage.state.counts import PodClass
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod

Document = dict[str, Any]

ZONE, REGION, HOST = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
LABEL_KEYS = (HOST, ZONE, "tier")
NODE_NAMES = tuple(f"n{i}" for i in range(5))
POD_NAMES = tuple(f"p{i}" for i in range(8))


def selects(labels: Document | None = None, **rest: Any) -> Document:
    return {"matchLabels": labels or {}, **rest}


def term(key: str, selector: Document | None, **rest: Any) -> Document:
    return {"topologyKey": key, **({} if selector is None else {"labelSelector": selector}), **rest}


def affinity(
    near: Iterable[Document] = (),
    far: Iterable[Document] = (),
    prefer: Iterable[tuple[int, Document]] = (),
    avoid: Iterable[tuple[int, Document]] = (),
) -> Document:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"

    def weighted(terms: Iterable[tuple[int, Document]]) -> list[Document]:
        return [{"weight": weight, "podAffinityTerm": item} for weight, item in terms]

    return {
        "podAffinity": {required: list(near), preferred: weighted(prefer)},
        "podAntiAffinity": {required: list(far), preferred: weighted(avoid)},
    }


AFFINITIES: list[Document | None] = [
    None,
    None,
    affinity(near=[term(ZONE, selects({"app": "a"}))]),
    affinity(far=[term(HOST, selects({"app": "a"})), term(ZONE, selects({"app": "b"}))]),
    affinity(prefer=[(5, term(ZONE, selects({"app": "a"})))], avoid=[(7, term(HOST, selects()))]),
    affinity(far=[term(HOST, selects({"app": "a"}), namespaceSelector={})]),
    affinity(far=[term(HOST, {"matchExpressions": [{"key": "app", "operator": "Bad"}]})]),
]

_zones = st.sampled_from(
    [{}, {ZONE: "z1"}, {ZONE: "z2"}, {ZONE: "z1", REGION: "r"}, {OLD_ZONE: "", ZONE: "z1"}, {ZONE: ""}]
)
_amounts: st.SearchStrategy[Document] = st.sampled_from(
    [
        {},
        {"example.com/gpu": "2"},
        {"example.com/gpu": "1", "hugepages-2Mi": "4Mi"},
        {"cpu": "nonsense"},
        {"memory": "-1"},
        {"memory": "99999E", "example.com/gpu": 2**70},
    ]
)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    tier = draw(st.sampled_from([{}, {"tier": "front"}, {"tier": ""}, {"tier": "x" * 65536}]))
    taints = draw(st.sampled_from([(), ("a=1:NoSchedule",), ("a=1:NoSchedule", "b:PreferNoSchedule")]))
    images = draw(st.sampled_from([{}, {"one": 10}, {"one": 20, "two": 5}]))
    made = make_node(
        name,
        labels={**draw(_zones), **tier},
        taints=taints,
        images=images,
        unschedulable=draw(st.booleans()),
        allocatable=draw(_amounts),
        declaredFeatures=draw(st.sampled_from([[], ["F"]])),
    )
    if draw(st.integers(0, 9)) == 0:
        made.status.allocatable = {}
    return made


_requests: st.SearchStrategy[Document] = st.sampled_from(
    [
        {},
        {"cpu": "100m"},
        {"cpu": 1, "memory": "1Gi", "example.com/gpu": "1"},
        {"hugepages-2Mi": "2Mi", "attachable-volumes-x": 1},
        {"cpu": "much"},
        {"cpu": "-1", "memory": "9Ei"},
        {"example.com/huge": 2**80},
    ]
)
_statuses: st.SearchStrategy[Document] = st.sampled_from(
    [
        {},
        {},
        {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "700m"}}}]},
        {
            "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "50m"}}}],
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
        },
    ]
)


@st.composite
def pods(draw: st.DrawFn, name: str) -> Pod:
    """A pod that is on no node yet."""
    spec: Document = {}
    wanted = draw(st.sampled_from(AFFINITIES))
    if wanted is not None:
        spec["affinity"] = wanted
    pod = make_pod(
        name,
        uid=name,
        namespace=draw(st.sampled_from(["ns1", "ns2"])),
        labels=draw(st.sampled_from([{}, {"app": "a"}, {"app": "b"}, {"app": "a", "v": "1"}])),
        requests=draw(_requests),
        priority=draw(st.sampled_from([None, 0, 10, -5])),
        status=draw(_statuses),
        metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"} if draw(st.integers(0, 4)) == 0 else {},
        **spec,
    )
    ports = draw(st.sampled_from([(), (80,), (80, 81)]))
    if ports:
        document = pod.raw
        document["spec"]["containers"][0]["ports"] = [{"hostPort": port} for port in ports]
        pod = remade(document)
    return pod


def remade(document: Document, node: str = "") -> Pod:
    from moorage.api.decoding import from_document

    spec = {**document["spec"], **({"nodeName": node} if node else {})}
    return from_document(Pod, {**document, "spec": spec})


def on(pod: Pod, node: str) -> Pod:
    """The pod as the API server would show it on a node."""
    return remade(pod.raw, node)


# Questions that counts answer


def _spread(pod_class: PodClass) -> int:
    return int(not pod_class.terminating and pod_class.labels.get("app") == "a")


def _affinity(pod_class: PodClass) -> int:
    return int("app" in pod_class.labels)


def _existing(pod_class: PodClass) -> int:
    return len(pod_class.terms.anti_affinity)


def _preferences(pod_class: PodClass) -> int:
    terms = pod_class.terms
    return sum(w for w, _ in terms.preferred_affinity) - sum(w for w, _ in terms.preferred_anti_affinity)


QUESTIONS: dict[str, tuple[Callable[[PodClass], int], Document]] = {
    "spread": (_spread, {"namespace": "ns1", "anchor": ("app", "a")}),
    "affinity": (_affinity, {}),
    "existing": (_existing, {}),
    "preferences": (_preferences, {}),
}


def ask(state: ClusterState, question: str) -> dict[str, int]:
    """The answer per node."""
    weigh, limits = QUESTIONS[question]
    column = state.counts.count(question, weigh, **limits)
    return {info.name: column[info.row] for info in state.table}


def features(node: Node) -> float:
    return float(len(node.status.declared_features))


# Everything a state knows


def described(state: ClusterState) -> Document:
    """All that depends on nothing but the nodes and pods there are now."""
    nodes_now = state.nodes
    fact = nodes_now.column("features", features)
    below = {priority: state.priorities.pods_below(priority) for priority in (-5, 0, 1, 11)}
    return {
        "nodes": {
            info.name: {
                "labels": {key: _label(state, info, key) for key in LABEL_KEYS},
                "allocatable": info.allocatable,
                "allowed_pods": state.table.allowed_pods[info.row],
                "unschedulable": state.table.unschedulable[info.row],
                "taints": state.table.taint_sets.values[state.table.taint_code[info.row]] or (),
                "fact": fact[info.row],
                "problem": state.table.problems.get(info.name),
                "requested": info.requested,
                "nonzero": info.nonzero_requested,
                "pod_count": state.table.pod_count[info.row],
                "pods": {pod.uid for pod in info.pods},
                "below": {priority: counts[info.row].item() for priority, counts in below.items()},
            }
            for info in state.table
        },
        "counts": {question: ask(state, question) for question in QUESTIONS},
        "classes": {
            key: (found.pods, {info.name: pods for info, pods in found.rows.items()})
            for group in state.counts._classes.values()
            for key, found in group.items()
        },
        "terms": [dict(known.holders) for known in state.counts.terms._lists],
        "ghosts": sorted(state._ghosts),
        "placements": {uid: (found.node.name, found.assumed) for uid, found in state._placements.items()},
        "usages": _usages(state),
        "taint sets": {taints: holders for taints, holders in _held(state.table.taint_sets) if holders},
    }


def _label(state: ClusterState, info: NodeInfo, key: str) -> str | None:
    label = state.table.label(key)
    value: str | None = label.codes.values[label.column[info.row]]
    return value


def _held(codes: Any) -> list[tuple[Any, int]]:
    return list(zip(codes.values, codes._holders, strict=True))


def _usages(state: ClusterState) -> Document:
    """Per priority and node: pods and amounts, without names that came and went."""
    usages = state.priorities._usages or {}
    return {
        str(priority): {
            info.name: (
                usage.pods[info.row],
                {name: column[info.row] for name, column in usage.requested.items() if column[info.row]},
            )
            for info in state.table
        }
        for priority, usage in usages.items()
    }


def is_compact(state: ClusterState) -> bool:
    """Rows are 0, 1, 2, ... and what stands behind the last one is empty."""
    table = state.table
    rows = [info.row for info in table.infos]
    assert rows == list(range(len(table)))
    assert table.by_name == {info.name: info for info in table.infos}
    return all((column.data[len(table) :] == column.fill).all() for column in table.columns)
