"""NodeResourcesFit: room for what a pod requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.requests import allocatable, request_summary, row_request
from moorage.api.resources import BASIC, PODS, is_extended
from moorage.config.args import NodeResourcesFitArgs
from moorage.config.args_checks import check_resources_fit
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import DEVICE_CLASS, NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from moorage.framework.handle import Handle
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.placements import PlacedGroup, PlacementScorePlugin
from moorage.framework.status import Code, Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.cycle_reads import read
from moorage.plugins.devices.extended_resources import ExtendedResources
from moorage.plugins.devices.resource_totals import ResourceTotals
from moorage.plugins.resource_scoring import (
    CountedResource,
    are_ordinary,
    counted_resources,
    make_strategy,
)
from moorage.plugins.workloads.fullness import fullness
from moorage.state.columns import Bools, Int64s
from moorage.state.kept_rows import KeptVerdicts, RowScores
from moorage.state.lru import Lru
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

_REQUEST = "PreFilterNodeResourcesFit"
_WANTED = "PreScoreNodeResourcesFit"
_KNOWN_REQUESTS = 64
_TOO_MANY_PODS = "Too many pods"
_IMPLICIT_CLASS = "deviceclass.resource.kubernetes.io/"


class Demand(NamedTuple):
    """An amount of a resource that a pod cannot do without."""

    name: str
    amount: int
    or_devices: bool = False
    """Whether devices serve it, which are not looked at here, on nodes that have none of the resource."""


def demands_in(cycle: CycleState) -> tuple[Demand, ...] | None:
    """What the pod of an attempt cannot do without; None if nobody found out."""
    found: tuple[Demand, ...] | None = cycle.get(_REQUEST)
    return found


class NodeResourcesFit(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin, PlacementScorePlugin):
    """Keeps pods off nodes without room for their requests; prefers by default the emptiest nodes."""

    treats_like_pods_alike = True
    looks_at_particulars = True
    args_type = NodeResourcesFitArgs
    reads_usage_only = True

    def __init__(self, args: NodeResourcesFitArgs | None, handle: Handle) -> None:
        args = args or NodeResourcesFitArgs()
        args.complete()
        problems = [str(problem) for problem in check_resources_fit(args)]
        if problems:
            raise PluginLoadError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
        super().__init__(args, handle)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._resources = args.scoring_strategy.resources
        self._strategy = make_strategy(args.scoring_strategy)
        self._table = handle.state.table
        handle.shared(ExtendedResources)
        self._totals = ResourceTotals.needed(handle, self._resources)
        self._kept_verdicts = Lru[tuple[Demand, ...], KeptVerdicts](_KNOWN_REQUESTS)
        self._row_scores = Lru[tuple[CountedResource, ...], RowScores](_KNOWN_REQUESTS)

    def score_placement(self, group: PlacedGroup) -> int:
        """Groups leave empty domains to others, whatever the strategy is for single pods."""
        return fullness(self._table, self._resources, group)

    # Filter

    def pre_filters_alike(self, pod: Pod) -> bool:
        return True

    def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
        cycle.write(_REQUEST, self._demands(pod))

    def _demands(self, pod: Pod) -> tuple[Demand, ...]:
        """What is checked on every node, in this order: cpu, memory, ephemeral storage, everything else."""
        requests, by_devices = request_summary(pod).filter, self._table.device_resources
        found = [Demand(name, amount) for name in BASIC if (amount := requests[name]) > 0]
        if len(found) < len(requests):
            found += [
                Demand(name, amount, name in by_devices)
                for name, amount in requests.items()
                if amount > 0 and name not in BASIC and not self._is_ignored(name)
            ]
        return tuple(found)

    def _is_ignored(self, name: str) -> bool:
        return is_extended(name) and (name in self._ignored or name.partition("/")[0] in self._ignored_groups)

    def kept_verdicts(self, pod: Pod) -> KeptVerdicts | None:
        demands = self._demands(pod)
        if not are_ordinary(demands):
            return None
        return self._kept_verdicts.get(demands) or self._kept_verdicts.put(
            demands,
            KeptVerdicts(
                self._table,
                self._table.usage_changes,
                lambda nodes: _lack_something(nodes, demands),
                lambda row: _lacks_something(self._table, row, demands),
            ),
        )

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        demands: tuple[Demand, ...] = read(cycle, _REQUEST, "error reading")
        if len(nodes) == 1 and self._has_room(nodes.info(0).row, demands):
            return Verdicts.passed()
        full: Bools = nodes.pod_count >= nodes.allowed_pods
        rejected = full
        lacking = []
        for demand in demands:
            lacks = _lacks(nodes, demand)
            rejected = rejected | lacks
            lacking.append(lacks)
        if not rejected.any():
            return Verdicts.passed()
        return _verdicts(nodes, full, list(zip(demands, lacking, strict=True)))

    def _has_room(self, row: int, demands: tuple[Demand, ...]) -> bool:
        """Whether it is plain to see that a row has room; for one row, arrays are too much."""
        return (
            not self._table.has_extreme_amounts
            and are_ordinary(demands)
            and not _lacks_something(self._table, row, demands)
        )

    # Score

    def pre_scores_alike(self, pod: Pod) -> bool:
        return True

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> None:
        cycle.write(_WANTED, self._wanted(pod))

    def _wanted(self, pod: Pod) -> tuple[CountedResource, ...]:
        return counted_resources(self._resources, request_summary(pod).scored)

    def row_scores(self, pod: Pod) -> RowScores | None:
        wanted = self._wanted(pod)
        if not are_ordinary(wanted) or any(each.name in self._table.device_resources for each in wanted):
            return None
        return self._row_scores.get(wanted) or self._row_scores.put(
            wanted,
            RowScores(
                lambda nodes: self._strategy(nodes, wanted),
                lambda row: self._strategy.of_row(self._table, row, wanted),
            ),
        )

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        wanted = cycle.get(_WANTED)
        if wanted is None:
            wanted = self._wanted(pod)
        if self._totals is not None:
            nodes = self._totals.with_devices(nodes, (each.name for each in wanted))
        return self._strategy(nodes, wanted)

    # Hints

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, _pod_changed),
            ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self._node_changed),
            ClusterEvent(DEVICE_CLASS, Action.ADD | Action.UPDATE, _device_class_changed),
        ]

    def _node_changed(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        """Whether the pod would fit if the node were empty. Ignored resources are not ignored here."""
        now = allocatable(new.status.allocatable)
        asked = {name: amount for name, amount in pod.requests.items() if amount > 0}
        by_devices = {name for name in asked if name in self._table.device_resources and now[name] <= 0}
        if now[PODS] < 1 or any(
            amount > now[name] and name not in by_devices for name, amount in asked.items()
        ):
            return Hint.SKIP
        if old is None or by_devices:
            return Hint.QUEUE
        before = allocatable(old.status.allocatable)
        grown = any(now[name] > before[name] for name in asked)
        return Hint.QUEUE if grown or now[PODS] > before[PODS] else Hint.SKIP


def _lack_something(nodes: Nodes, demands: Sequence[Demand]) -> Bools:
    rejected: Bools = nodes.pod_count >= nodes.allowed_pods
    for demand in demands:
        rejected |= _lacks(nodes, demand)
    return rejected


def _lacks(nodes: Nodes, demand: Demand) -> Bools:
    available = nodes.allocatable[demand.name]
    lacks: Bools = (available - nodes.requested[demand.name]) < demand.amount
    return lacks & (available > 0) if demand.or_devices else lacks


def _lacks_something(table: NodeTable, row: int, demands: Sequence[Demand]) -> bool:
    """The same for one row, as long as amounts are ordinary."""
    if table.pod_count.data.item(row) >= table.allowed_pods.data.item(row):
        return True
    for name, amount, or_devices in demands:
        column = table.allocatable.find(name)
        free = 0 if column is None else column.data.item(row)
        if or_devices and free <= 0:
            continue
        column = table.requested.find(name)
        if (free if column is None else free - column.data.item(row)) < amount:
            return True
    return False


def _verdicts(nodes: Nodes, full: Bools, checks: Sequence[tuple[Demand, Bools]]) -> Verdicts:
    """Every node gets all reasons that apply to it; nodes with the same reasons share a status."""
    reasons = [_TOO_MANY_PODS]
    # One bit per reason: where they are too many for 64 bits, Python's integers hold them.
    bits: Any = np.int64 if len(checks) < 62 else object
    failures = full.astype(bits)
    hopeless = np.zeros(len(nodes), dtype=np.bool_)
    for (name, amount, _), lacks in checks:
        if lacks.any():
            failures |= lacks.astype(bits) << len(reasons)
            hopeless |= lacks & (nodes.allocatable[name] < amount)
            reasons.append(f"Insufficient {name}")
    failures |= hopeless.astype(bits) << len(reasons)
    distinct = np.unique(np.append(failures, 0))
    statuses = [_status(found, reasons) for found in distinct.tolist()]
    return Verdicts(np.searchsorted(distinct, failures), statuses)


def _status(failures: int, reasons: Sequence[str]) -> Status | None:
    """The status for a set of failures: one bit per reason, and one above them if preemption cannot help."""
    if not failures:
        return None
    is_hopeless = failures >> len(reasons)
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if is_hopeless else Code.UNSCHEDULABLE
    return Status(code, *(reason for bit, reason in enumerate(reasons) if failures >> bit & 1))


def _pod_changed(pod: Pod, old: Pod, new: Pod | None) -> Hint:
    if new is None:
        helps = bool(old.spec.node_name or old.status.nominated_node_name)
    elif new.uid == pod.uid:
        helps = True
    elif not new.spec.node_name:
        helps = False
    else:
        before, after = row_request(old), row_request(new)
        helps = any(amount > 0 and before[name] > after[name] for name, amount in pod.requests.items())
    return Hint.QUEUE if helps else Hint.SKIP


def _device_class_changed(pod: Pod, old: Object | None, new: Object) -> Hint:
    name = _extended_resource_name(new)
    if old is None:
        helps = _IMPLICIT_CLASS + new.name in pod.requests or name in pod.requests
    else:
        helps = name != _extended_resource_name(old) and name in pod.requests
    return Hint.QUEUE if helps else Hint.SKIP


def class_resources(device_class: Object) -> tuple[str, ...]:
    """The extended resources that a DeviceClass offers: that of its own name, and the one it names."""
    named = _extended_resource_name(device_class)
    return (_IMPLICIT_CLASS + device_class.name, *((named,) if named else ()))


def _extended_resource_name(device_class: Object) -> str | None:
    name: str | None = device_class.raw.get("spec", {}).get("extendedResourceName")
    return name
