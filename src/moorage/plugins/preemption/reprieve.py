"""Who may stay, on many nodes at once.

On every node the pods that could go are put back one after the other, and whoever leaves no room goes. Where
the filters look at nothing but usage this is done round by round for all nodes together: first each node's
most important pod, then each node's second. One question to the filters then serves for thousands of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.state.columns import Bools, Column, Int64s
from moorage.state.node_info import PodInfo
from moorage.state.node_table import NodeTable

Rows = NDArray[np.intp]


def those_who_go(
    table: NodeTable,
    rows: Rows,
    in_order: Sequence[Sequence[PodInfo]],
    fits: Callable[[Rows], Bools | None],
) -> list[list[PodInfo]]:
    """For each row, those of its pods that cannot stay; `in_order` are the pods to be put back.

    None of them is on its row when this is called, and the rows are left as they are. `fits` says on which
    rows the pod that needs room would fit now, None for all.
    """
    going: list[list[PodInfo]] = [[] for _ in in_order]
    requests = _Requests(table, in_order)
    lengths = np.array([len(pods) for pods in in_order], dtype=np.intp)
    for turn in range(int(lengths.max(initial=0))):
        places = np.flatnonzero(lengths > turn)
        pods = [in_order[place][turn] for place in places.tolist()]
        asked, numbers = rows[places], requests.numbers(pods)
        requests.add(asked, numbers)
        left = fits(asked)
        if left is None:
            continue
        refused = np.flatnonzero(~left)
        requests.take_off(asked[refused], numbers[refused])
        for each in refused.tolist():
            going[places[each]].append(pods[each])
    return going


class _Requests:
    """What pods request, as rows of numbers; pods of one template share one."""

    def __init__(self, table: NodeTable, in_order: Sequence[Sequence[PodInfo]]) -> None:
        distinct = {id(pod.request): pod.request for pods in in_order for pod in pods}
        self._numbers = {identity: number for number, identity in enumerate(distinct)}
        self._pod_count = table.pod_count
        self._columns: list[tuple[Column, Int64s]] = []
        for name in dict.fromkeys(name for request in distinct.values() for name in request):
            column = table.requested.find(name)
            assert column is not None, name
            amounts = [request.get(name, 0) for request in distinct.values()]
            self._columns.append((column, np.array(amounts, dtype=np.int64)))

    def numbers(self, pods: Sequence[PodInfo]) -> Rows:
        return np.array([self._numbers[id(pod.request)] for pod in pods], dtype=np.intp)

    def add(self, rows: Rows, numbers: Rows) -> None:
        """One more pod on each of these rows."""
        self._pod_count.data[rows] += 1
        for column, amounts in self._columns:
            column.data[rows] += amounts[numbers]

    def take_off(self, rows: Rows, numbers: Rows) -> None:
        self._pod_count.data[rows] -= 1
        for column, amounts in self._columns:
            column.data[rows] -= amounts[numbers]
