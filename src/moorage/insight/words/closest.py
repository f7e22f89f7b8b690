"""Which node is nearest to fitting, and by what it falls short."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.api.taints import Taint, untolerated
from moorage.framework.handle import Services
from moorage.framework.node_statuses import NodeStatuses
from moorage.insight.words.amounts import amount
from moorage.state.nodes import Nodes

Document = dict[str, Any]

_FIT = "NodeResourcesFit"
_TAINTS = "TaintToleration"
_LACKS = "Insufficient "


def closest(services: Services, pod: Pod, statuses: NodeStatuses) -> Document | None:
    """The node that lacks least of what the pod requests, in proportion, and the taints that stop it.

    `node` is the nearest among those that only lack resources, `resource` what it lacks most of, `short` how
    much, as in `300m`, and `also` what else it lacks. `taints` says how many nodes each taint rules out. None
    if neither is why a node is rejected.
    """
    lacking: list[int] = []
    names: set[str] = set()
    taints: dict[str, int] = {}
    table = services.state.table
    for name, status in statuses.explicit():
        if status.plugin == _FIT and all(reason.startswith(_LACKS) for reason in status.reasons):
            lacking.append(table.by_name[name].row)
            names.update(reason.removeprefix(_LACKS) for reason in status.reasons)
        elif status.plugin == _TAINTS:
            found = untolerated(table.by_name[name].taints, pod.spec.tolerations)
            if found is not None:
                taints[written(found)] = taints.get(written(found), 0) + 1
    result: Document = {}
    if lacking:
        result |= _nearest(services, pod, np.array(lacking, dtype=np.intp), sorted(names))
    if taints:
        result["taints"] = dict(sorted(taints.items(), key=lambda item: (-item[1], item[0])))
    return result or None


def _nearest(services: Services, pod: Pod, rows: NDArray[np.intp], resources: list[str]) -> Document:
    nodes = Nodes(services.state.table, rows)
    wanted = {name: pod.requests[name] for name in resources if pod.requests[name] > 0}
    if not wanted:
        return {}
    short = np.array([wanted[name] - (nodes.allocatable[name] - nodes.requested[name]) for name in wanted])
    parts = short / np.array(list(wanted.values()))[:, None]
    place = int(parts.max(axis=0).argmin())
    lacks = sorted(
        (
            (float(parts[i, place]), name, int(short[i, place]))
            for i, name in enumerate(wanted)
            if short[i, place] > 0
        ),
        reverse=True,
    )
    if not lacks:
        return {}
    (_, resource, units), *others = lacks
    also = {"also": {name: amount(name, units) for _, name, units in others}} if others else {}
    return {
        "node": nodes.info(place).name,
        "resource": resource,
        "short": amount(resource, units),
        **also,
    }


def written(taint: Taint) -> str:
    """`KEY=VALUE:EFFECT`, as kubectl writes it."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"
