"""Which node is nearest to fitting, and by what it falls short."""

from __future__ import annotations

from typing import Any

import numpy as np

from moorage.api.pods import Pod
from moorage.api.quantities import QuantityError
from moorage.api.taints import UNSCHEDULABLE_TAINT, Taint, tolerates, untolerated
from moorage.framework.node_statuses import NodeStatuses
from moorage.insight.words.amounts import amount
from moorage.state.columns import Bools, Int64s
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

Document = dict[str, Any]

_PODS = "pods"
_FIT = "NodeResourcesFit"
_TAINTS = "TaintToleration"


def closest(table: NodeTable, pod: Pod, statuses: NodeStatuses | None = None) -> Document | None:
    """The node that lacks least of what the pod requests, in proportion, and the taints that stop it.

    `node` is the nearest among those that only lack resources, `resource` what it lacks most of, `short` how
    much, as in `300m`, and `also` what else it lacks. `tooLarge` is there if none of them has as much of the
    resource even when empty, and says how much the largest has. `taints` says how many nodes each taint rules
    out. None if neither is why a node is rejected.

    `statuses` are those of an attempt; without them the nodes are looked at as they are.
    """
    try:
        wanted = {name: units for name, units in pod.requests.items() if units > 0}
    except QuantityError:
        return None
    if not len(table) or table.has_extreme_amounts:
        return None
    lacking, taints = _by_state(table, pod) if statuses is None else _by_statuses(table, pod, statuses)
    result = _nearest(Nodes.all(table), wanted, lacking)
    counts: dict[str, int] = {}
    for taint in taints:
        counts[_written(taint)] = counts.get(_written(taint), 0) + 1
    if counts:
        result["taints"] = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return result or None


def _by_statuses(table: NodeTable, pod: Pod, statuses: NodeStatuses) -> tuple[Bools, list[Taint]]:
    """Which rows only lack resources, and the taint that stops the pod on each node where one does."""
    lacking = np.zeros(len(table), dtype=np.bool_)
    taints: list[Taint] = []
    for name, status in statuses.explicit():
        info = table.by_name[name]
        if status.plugin == _FIT:
            lacking[info.row] = True
        elif status.plugin == _TAINTS and (taint := untolerated(info.taints, pod.spec.tolerations)):
            taints.append(taint)
    return lacking, taints


def _by_state(table: NodeTable, pod: Pod) -> tuple[Bools, list[Taint]]:
    cordons = not tolerates(pod.spec.tolerations, UNSCHEDULABLE_TAINT)
    lacking = np.ones(len(table), dtype=np.bool_)
    known: dict[tuple[Taint, ...], Taint | None] = {}
    found: list[Taint] = []
    for info in table.infos:
        taints = info.taints
        if taints and taints not in known:
            known[taints] = untolerated(taints, pod.spec.tolerations)
        if cordons and info.node.spec.unschedulable:
            lacking[info.row] = False
        elif taints and (taint := known[taints]):
            lacking[info.row] = False
            found.append(taint)
    return lacking, found


def _nearest(nodes: Nodes, wanted: dict[str, int], lacking: Bools) -> Document:
    """Looks at the nodes that are marked, each of which must lack something."""
    if not lacking.any():
        return {}
    wanted = {**wanted, _PODS: 1}
    offered = [_offered(nodes, name) for name in wanted]
    short: Int64s = np.array(
        [
            units - (offer - _taken(nodes, name))
            for (name, units), offer in zip(wanted.items(), offered, strict=True)
        ]
    )
    parts = np.maximum(short, 0) / np.array([*wanted.values()])[:, None]
    worst = parts.max(axis=0)
    if not (worst[lacking] > 0).all():
        return {}
    worst[~lacking] = np.inf
    place = int(worst.argmin())
    lacks = sorted(
        ((float(parts[i, place]), name, i) for i, name in enumerate(wanted) if short[i, place] > 0),
        reverse=True,
    )
    (_, resource, first), *others = lacks
    result: Document = {
        "node": nodes.info(place).name,
        "resource": resource,
        "short": amount(resource, int(short[first, place])),
    }
    if others:
        result["also"] = {name: amount(name, int(short[i, place])) for _, name, i in others}
    largest = int(offered[first][lacking].max())
    if largest < wanted[resource]:
        result["tooLarge"] = amount(resource, largest)
    return result


def _offered(nodes: Nodes, name: str) -> Int64s:
    return nodes.allowed_pods if name == _PODS else nodes.allocatable[name]


def _taken(nodes: Nodes, name: str) -> Int64s:
    return nodes.pod_count if name == _PODS else nodes.requested[name]


def _written(taint: Taint) -> str:
    """`KEY=VALUE:EFFECT`, as kubectl writes it."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
