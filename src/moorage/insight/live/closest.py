"""The node that lacks least of what a pod asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from moorage.api.pods import Pod
from moorage.api.quantities import QuantityError
from moorage.state.node_table import NodeTable

Document = dict[str, Any]


def closest(table: NodeTable, pod: Pod) -> Document | None:
    """The node with the smallest shortfall of a single resource, relative to what is asked for.

    None if some node has room for the pod, or if all lack more than one resource.
    """
    size = len(table)
    try:
        requests = {name: amount for name, amount in pod.requests.items() if amount > 0}
    except QuantityError:
        return None
    if not size or table.has_extreme_amounts:
        return None
    requests["pods"] = 1
    names = list(requests)
    lacks = np.empty((len(names), size), dtype=np.int64)
    for place, name in enumerate(names):
        if name == "pods":
            free = table.allowed_pods.data[:size] - table.pod_count.data[:size]
        else:
            allocatable, requested = table.allocatable.find(name), table.requested.find(name)
            free = np.zeros(size, dtype=np.int64) if allocatable is None else allocatable.data[:size].copy()
            if requested is not None:
                free -= requested.data[:size]
        np.maximum(requests[name] - free, 0, out=lacks[place])
    short_of = np.count_nonzero(lacks, axis=0)
    if not short_of.all():
        return None
    parts = (lacks / np.array([requests[name] for name in names])[:, None]).sum(axis=0)
    parts[short_of > 1] = np.inf
    row = int(parts.argmin())
    if not np.isfinite(parts[row]):
        return None
    place = int(lacks[:, row].argmax())
    return {
        "node": table.infos[row].name,
        "resource": names[place],
        "short": _quantity(names[place], int(lacks[place, row])),
    }


def _quantity(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    for unit, size in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount % size == 0 and amount:
            return f"{amount // size}{unit}"
    return str(amount)
