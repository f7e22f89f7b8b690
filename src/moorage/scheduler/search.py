"""The search for nodes that fit: in list order from a rotating start, until enough are found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.filtering import filter_among, filter_nodes, nominated_usage, usage_decides
from moorage.framework.runtime.plans import Plan
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes
from moorage.state.nominated_usage import NominatedUsage

Rows = NDArray[np.intp]

_FEW_RIVALS = 4
_ALWAYS_ALL_BELOW = 100
_FEWEST = 100
_LEAST_PERCENTAGE = 5
_LEAST_FITTING = 0.02


def how_many_to_find(nodes: int, percentage: int, *, scores: bool = True) -> int:
    """How many fitting nodes are enough; `percentage` 0 adapts to the size of the cluster."""
    if not scores:
        return min(nodes, 1)
    if nodes < _ALWAYS_ALL_BELOW:
        return nodes
    if percentage == 0:
        percentage = max(_LEAST_PERCENTAGE, 50 - nodes // 125)
    return min(nodes, max(_FEWEST, nodes * percentage // 100))


class Found(NamedTuple):
    """The nodes that fit, in the order of the search. `error` ends the attempt."""

    nodes: Nodes
    looked_at: int
    error: Status | None = None


def search(
    profile: Profile,
    plan: Plan,
    cycle: CycleState,
    pod: Pod,
    statuses: NodeStatuses,
    *,
    names: set[str] | None,
    start: int,
    limit: int,
) -> Found:
    """Filters stretch by stretch of the table, so that no more nodes are looked at than needed."""
    table = profile.state.table
    rows = None if names is None else rows_of(profile, names)
    first, total = 0, len(table) if rows is None else len(rows)
    if rows is not None and total == 1:
        # A pod that names its node: one row is a stretch, too, and takes no array to tell.
        first = int(rows[0])
        rows = None
    rivals = profile.services.nominations.rivals(pod) if len(profile.services.nominations) else {}
    found: list[Nodes] = []
    missing, looked_at, growth = limit, 0, 1
    while looked_at < total and missing > 0:
        begin = (start + looked_at) % total
        stretch = total if limit >= total else growth * (int(missing / plan.fitting) + missing // 8 + 16)
        end = min(begin + min(stretch, total - looked_at), total)
        nodes = Nodes(table, slice(first + begin, first + end) if rows is None else rows[begin:end])
        left = filter_nodes(profile, plan, cycle, pod, nodes, statuses)
        if rivals:
            left = _with_rivals(profile, cycle, pod, nodes, left, rivals, statuses)
        error = statuses.first_error()
        if error is not None:
            return Found(Nodes(table, slice(0, 0)), looked_at + len(nodes), error)
        fitting, used = _first(nodes, left, missing)
        found.append(fitting)
        missing -= len(fitting)
        looked_at += used
        if end < total:
            # Where nothing fits so far, there will hardly be enough soon.
            growth *= 2 if missing < limit else 8
    if looked_at and plan.may_look_ahead:
        plan.fitting = max((limit - missing) / looked_at, _LEAST_FITTING)
    return Found(_joined(table, found), looked_at)


def rows_of(profile: Profile, names: set[str]) -> Rows:
    """The rows of those named nodes that exist, in list order."""
    by_name = profile.state.table.by_name
    found = [by_name[name].row for name in names if name in by_name]
    return np.array(sorted(found), dtype=np.intp)


def _first(nodes: Nodes, left: NDArray[np.bool_] | None, most: int) -> tuple[Nodes, int]:
    """At most so many fitting nodes, and how many nodes had to be looked at for them."""
    if left is None or left.all():
        if len(nodes) <= most:
            return nodes, len(nodes)
        return _head(nodes, most), most
    places = left.nonzero()[0]
    if len(places) < most:
        return nodes.subset(places), len(nodes)
    places = places[:most]
    return nodes.subset(places), int(places[-1]) + 1


def _head(nodes: Nodes, size: int) -> Nodes:
    rows = nodes.rows
    if isinstance(rows, slice):
        return Nodes(nodes.table, slice(rows.start, rows.start + size))
    return Nodes(nodes.table, rows[:size])


def _joined(table: NodeTable, parts: list[Nodes]) -> Nodes:
    parts = [part for part in parts if len(part)]
    if not parts:
        return Nodes(table, slice(0, 0))
    if len(parts) == 1:
        return parts[0]
    return Nodes(table, np.concatenate([part.row_numbers() for part in parts]))


def _with_rivals(
    profile: Profile,
    cycle: CycleState,
    pod: Pod,
    nodes: Nodes,
    left: NDArray[np.bool_] | None,
    rivals: Mapping[str, list[Pod]],
    statuses: NodeStatuses,
) -> NDArray[np.bool_] | None:
    """Nodes to which others are nominated must fit with these on them, too; that rejection comes first."""
    if len(rivals) > _FEW_RIVALS and usage_decides(profile, cycle):
        usage = nominated_usage(profile, cycle, pod)
        if usage.is_whole:
            return _with_usage(profile, cycle, pod, nodes, left, usage, statuses)
    for name, others in rivals.items():
        place = nodes.index(name)
        if place is None:
            continue
        node = nodes.info(place)
        status = filter_among(profile, cycle, pod, node, others)
        if status is not None:
            statuses.set_row(node.row, status)
            left = np.ones(len(nodes), dtype=np.bool_) if left is None else left
            left[place] = False
    return left


def _with_usage(
    profile: Profile,
    cycle: CycleState,
    pod: Pod,
    nodes: Nodes,
    left: NDArray[np.bool_] | None,
    usage: NominatedUsage,
    statuses: NodeStatuses,
) -> NDArray[np.bool_] | None:
    """The same for all of them at once, where usage is all that the others change."""
    rows = usage.rows
    places = np.isin(nodes.row_numbers(), rows).nonzero()[0]
    if not len(places):
        return left
    statuses.set_now()
    with usage:
        fitting = filter_nodes(profile, profile.plans.general, cycle, pod, nodes.subset(places), statuses)
    if fitting is None:
        return left
    left = np.ones(len(nodes), dtype=np.bool_) if left is None else left.copy()
    left[places[~fitting]] = False
    return left
