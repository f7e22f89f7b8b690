"""What is measured in a replay: pods that wait, what is used and of no use, nodes, cost."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.api.nodes import Node
from moorage.state.cluster import ClusterState
from moorage.what_if.replay.fragmentation import TypicalPods
from moorage.what_if.replay.jobs import History
from moorage.what_if.replay.pods import PodInReplay
from moorage.what_if.replay.series import Series

Floats = NDArray[np.float64]
Prices = Sequence[tuple[str, float]]

_MANY_ROWS = 64
"""With more rows that changed, all are computed anew."""
_PENDING, _NODES_IN_USE, _COST = range(3)
_FIXED = 3


class Measures:
    """Follows the pods of a replay, and reads the columns of the node table whenever time is about to pass.

    Pods count that came from `since` on, and the time after it.
    """

    def __init__(
        self,
        state: ClusterState,
        typical: TypicalPods,
        prices: Prices,
        *,
        since: float,
        end: float,
    ) -> None:
        self.pods = 0
        self.placed = 0
        self.preemptions = 0
        self.waiting: dict[str, PodInReplay] = {}
        """All pods without a node, by uid."""
        self._waits = array("d")
        self._typical = typical
        self._since = since
        self._usage = _Usage(state, typical, prices)
        self._resources = self._usage.resources
        self._series: Series | None = None
        self._end = end
        self._now = since

    # What happens to pods

    def pod_came(self, pod: PodInReplay) -> None:
        if pod.is_foreign:
            return
        self.waiting[pod.pod.uid] = pod
        if self._counts(pod) and not pod.came_again:
            self.pods += 1

    def pod_bound(self, pod: PodInReplay, now: float, node_name: str) -> None:
        if pod.is_of_node:
            self._usage.count_of_node(node_name, 1)
        waited = self.waiting.pop(pod.pod.uid, None) is not None
        if waited and self._counts(pod) and not pod.came_again:
            self.placed += 1
            self._waits.append(now - pod.came)

    def pod_left(self, pod: PodInReplay, node_name: str) -> None:
        if node_name and pod.is_of_node:
            self._usage.count_of_node(node_name, -1)
        if self.waiting.pop(pod.pod.uid, None) is not None and self._counts(pod) and not pod.came_again:
            self._waits.append(self._now - pod.came)

    def pod_preempted(self, pod: PodInReplay) -> None:
        if self._now >= self._since:
            self.preemptions += 1

    def _counts(self, pod: PodInReplay) -> bool:
        return pod.came >= self._since

    # What happens over time

    def now(self, time: float) -> None:
        self._now = time

    def pass_time(self, until: float) -> None:
        """Things are as they are now until another time."""
        if until > self._since:
            values = self._usage.values(len(self.waiting))
            if self._series is None:
                self._series = Series(self._since, self._end, len(values))
            self._series.add(self._now, until, values)
        self._now = until

    def history(self) -> History:
        """The figures over time."""
        if self._series is None:
            return History()
        times, values = self._series.points()
        count = len(self._resources)
        usage = values[:, _FIXED : _FIXED + count]
        useless = values[:, _FIXED + count :]
        return History(
            times=tuple(times.tolist()),
            pending=tuple(values[:, _PENDING].tolist()),
            nodes_in_use=tuple(values[:, _NODES_IN_USE].tolist()),
            cost_per_hour=tuple(values[:, _COST].tolist()),
            utilisation={name: tuple(usage[:, place].tolist()) for place, name in enumerate(self._resources)},
            fragmentation={
                name: tuple(useless[:, place].tolist()) for place, name in enumerate(self._typical.resources)
            },
        )

    # Figures

    def waits(self) -> Floats:
        """How long each pod that counts has waited; those without a node, until now."""
        still = [
            self._now - pod.came for pod in self.waiting.values() if self._counts(pod) and not pod.came_again
        ]
        return np.sort(np.concatenate([np.array(self._waits, dtype=np.float64), np.array(still)]))

    @property
    def seconds(self) -> float:
        """For how long was measured."""
        return 0.0 if self._series is None else self._series.seconds

    def mean_nodes_in_use(self) -> float:
        return self._mean(_NODES_IN_USE)

    def cost(self) -> float:
        return 0.0 if self._series is None else float(self._series.totals()[_COST]) / 3600

    def utilisation(self) -> dict[str, float]:
        return {name: self._mean(_FIXED + place) for place, name in enumerate(self._resources)}

    def fragmentation(self) -> dict[str, float]:
        first = _FIXED + len(self._resources)
        return {name: self._mean(first + place) for place, name in enumerate(self._typical.resources)}

    def _mean(self, place: int) -> float:
        return 0.0 if self._series is None else float(self._series.means()[place])


class _Usage:
    """Sums over all nodes, kept up to date by the rows that changed."""

    def __init__(self, state: ClusterState, typical: TypicalPods, prices: Prices) -> None:
        self._state = state
        self._table = state.table
        self._typical = typical
        self._prices = tuple((*label.partition("=")[::2], price) for label, price in prices)
        self.resources = [*typical.resources, "pods"]
        self._of_nodes = state.table.columns.create()
        """How many of a node's pods are there because the node is."""
        self._order = -1
        self._seen = 0
        self._rows = np.zeros((0, 0))
        self._sums = np.zeros(0)

    def count_of_node(self, node_name: str, change: int) -> None:
        """A pod came or went that is there because its node is."""
        info = self._state.node(node_name)
        if info is not None:
            self._of_nodes.data[info.row] += change

    def values(self, pending: int) -> Floats:
        self._catch_up()
        count, resources = len(self._typical.resources), len(self.resources)
        sums = self._sums
        allocatable, requested = sums[2 : 2 + resources], sums[2 + resources : 2 + 2 * resources]
        free, useless = sums[2 + 2 * resources : 2 + 2 * resources + count], sums[2 + 2 * resources + count :]
        values = np.empty(_FIXED + resources + count)
        values[_PENDING] = pending
        values[_NODES_IN_USE], values[_COST] = sums[0], sums[1]
        values[_FIXED : _FIXED + resources] = _shares(requested, allocatable)
        values[_FIXED + resources :] = _shares(useless, free)
        return values

    def _catch_up(self) -> None:
        table = self._table
        changed = table.usage_changes.since(self._seen)
        is_same_order = table.order_version == self._order and len(self._rows) == len(table)
        if is_same_order and changed is not None and len(changed) <= _MANY_ROWS:
            if changed:
                rows = np.array(list(set(changed)), dtype=np.intp)
                new = self._compute(rows)
                self._sums += (new - self._rows[rows]).sum(axis=0)
                self._rows[rows] = new
        else:
            self._rows = self._compute(np.arange(len(table), dtype=np.intp))
            self._sums = self._rows.sum(axis=0)
            self._order = table.order_version
        self._seen = table.usage_changes.end

    def _compute(self, rows: NDArray[np.intp]) -> Floats:
        """For each row: whether it is in use, and its price then; of each resource, what there is and what is
        requested; of those that pods ask for, what is free and what of that is of no use.
        """
        table, names = self._table, self._typical.resources
        count, resources = len(names), len(self.resources)
        found = np.zeros((len(rows), 2 + 2 * resources + 2 * count))
        for columns, first in ((table.allocatable, 2), (table.requested, 2 + resources)):
            for place, name in enumerate(names, first):
                column = columns.find(name)
                if column is not None:
                    found[:, place] = column.data[rows]
        pods, most_pods = table.pod_count.data[rows], table.allowed_pods.data[rows]
        found[:, 1 + resources], found[:, 1 + 2 * resources] = most_pods, pods
        in_use = pods > self._of_nodes.data[rows]
        found[:, 0] = in_use
        if self._prices:
            found[:, 1] = in_use * self._price(rows)
        free = found[:, 2 + 2 * resources : 2 + 2 * resources + count]
        np.maximum(found[:, 2 : 2 + count] - found[:, 2 + resources : 2 + resources + count], 0.0, out=free)
        found[:, 2 + 2 * resources + count :] = self._typical.useless(free, most_pods - pods)
        return found

    def _price(self, rows: NDArray[np.intp]) -> Floats:
        prices: Floats = self._table.fact("moorage/price", self._price_of, np.float64).data[rows]
        return prices

    def _price_of(self, node: Node) -> float:
        labels = node.metadata.labels
        return next((price for key, value, price in self._prices if labels.get(key) == value), 0.0)


def _shares(parts: Floats, wholes: Floats) -> Floats:
    return np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes > 0)
