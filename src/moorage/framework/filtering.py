"""PreFilter and Filter: which nodes can run a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework.calls import FAILURES, failure, named, timed
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import (
    FilterPlugin,
    PreFilterPlugin,
    WrongAnswer,
    checked_status,
    shown,
)
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Code, Status
from moorage.framework.verdicts import Verdicts
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from moorage.framework.profile import Profile

Rows = NDArray[np.intp]


class PreFiltered(NamedTuple):
    """`status` is None if the pod may go on; `names` are the nodes it was narrowed to, None for all."""

    status: Status | None
    names: set[str] | None = None
    narrowed_by: tuple[str, ...] = ()

    @property
    def rejecting_plugins(self) -> set[str]:
        """The plugins to hold responsible if PreFilter rejected the pod."""
        status = self.status
        if status is None or not status.plugin:
            return set(self.narrowed_by)
        if status.code is Code.UNSCHEDULABLE:
            return {status.plugin, *self.narrowed_by}
        return {status.plugin}


def pre_filter(profile: Profile, cycle: CycleState, pod: Pod) -> PreFiltered:
    """Asks every PreFilter plugin once. An Error status ends the attempt, a rejection ends the search."""
    names: set[str] | None = None
    narrowed_by: list[str] = []
    remembered: Status | None = None
    for plugin in profile.pre_filter:
        status: Status | None = None
        try:
            answer = timed(profile, cycle, plugin, "PreFilter", plugin.pre_filter, cycle, pod)
            if isinstance(answer, (set, frozenset)):
                narrowed_by.append(plugin.name)
                profile.observer.plugin_evaluated(plugin.name, "PreFilter", profile.name)
                names = set(answer) if names is None else names & answer
                if not names:
                    return PreFiltered(_nothing_left(narrowed_by), names, tuple(narrowed_by))
                continue
            status = checked_status(answer, "pre_filter", "None, a set of node names or a Status")
        except FAILURES as error:
            status = failure(error)
        if status is not None and status.code is Code.SKIP:
            cycle.skip_filter.add(plugin.name)
            continue
        profile.observer.plugin_evaluated(plugin.name, "PreFilter", profile.name)
        if status is None or status.code is Code.SUCCESS:
            continue
        if status.code is Code.UNSCHEDULABLE:
            remembered = named(status, plugin)
        elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return PreFiltered(named(status, plugin), names, tuple(narrowed_by))
        else:
            text = f'running PreFilter plugin "{plugin.name}": {status.message}'
            return PreFiltered(Status(Code.ERROR, text, plugin=plugin.name))
    return PreFiltered(remembered, names, tuple(narrowed_by))


def _nothing_left(narrowed_by: list[str]) -> Status:
    if len(narrowed_by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {narrowed_by[0]}")
    listed = " ".join(sorted(narrowed_by))
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{listed}] simultaneously")


def outside_status(narrowed_by: Iterable[str]) -> Status:
    """What the nodes get that PreFilter left out."""
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowed_by))}]")


def ask(plugin: FilterPlugin, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
    """One filter's verdicts; what goes wrong in it becomes an Error for every node asked about."""
    try:
        verdicts = plugin.filter_nodes(cycle, pod, nodes)
        if not isinstance(verdicts, Verdicts):
            raise WrongAnswer(f"filter_nodes returned {type(verdicts).__name__}, use Verdicts")
        codes = verdicts.codes
        if codes is not None:
            if not isinstance(codes, np.ndarray) or codes.shape != (len(nodes),):
                raise WrongAnswer(f"filter_nodes returned verdicts that are not one per node ({len(nodes)})")
            if codes.dtype.kind not in "iub":
                raise WrongAnswer(f"filter_nodes returned verdicts of {codes.dtype}, use whole numbers")
            if not isinstance(verdicts.statuses, (list, tuple)):
                raise WrongAnswer(
                    f"filter_nodes returned verdicts with {shown(verdicts.statuses)}, use a list"
                )
        return verdicts
    except FAILURES as error:
        return Verdicts(np.ones(len(nodes), dtype=np.int8), (None, failure(error)))


def filter_nodes(
    profile: Profile, cycle: CycleState, pod: Pod, nodes: Nodes, statuses: NodeStatuses
) -> NDArray[np.bool_] | None:
    """Runs all filters on a stretch of nodes and records the first rejection of each.

    Returns which nodes passed, or None if all did. Filters in the easy form are only asked about nodes that
    the ones before them left.
    """
    left: NDArray[np.bool_] | None = None
    table, observer = nodes.table, profile.observer
    if table.problems:
        left = _without_broken(nodes, statuses)
    for plugin, is_fast in profile.filter:
        if plugin.name in cycle.skip_filter:
            continue
        asked = nodes
        if not is_fast and left is not None:
            places = np.flatnonzero(left)
            asked = nodes.subset(places)
        count = len(nodes) if left is None else int(np.count_nonzero(left))
        observer.plugin_evaluated(plugin.name, "Filter", profile.name, count)
        verdicts = timed(profile, cycle, plugin, "Filter", ask, plugin, cycle, pod, asked)
        if verdicts.codes is None:
            continue
        codes = verdicts.codes
        if asked is not nodes:
            codes = np.zeros(len(nodes), dtype=codes.dtype)
            codes[places] = verdicts.codes
        rejected = codes != 0
        if left is not None:
            rejected &= left
        if not rejected.any():
            continue
        _record(statuses, nodes, codes, rejected, verdicts, plugin)
        left = ~rejected if left is None else left & ~rejected
        if not left.any():
            break
    return left


def _record(
    statuses: NodeStatuses,
    nodes: Nodes,
    codes: NDArray[np.integer],
    rejected: NDArray[np.bool_],
    verdicts: Verdicts,
    plugin: FilterPlugin,
) -> None:
    rows = nodes.row_numbers()
    # As unsigned numbers negative ones are huge: there is one code, and it has a status.
    if len(verdicts.statuses) == 2 and codes.view(f"u{codes.itemsize}").max() == 1:
        statuses.set_rows(rows[rejected], statuses.add_status(rejection(verdicts.statuses[1], plugin)))
        return
    for code in np.unique(codes[rejected]).tolist():
        place = statuses.add_status(rejection(verdicts.of(code), plugin))
        statuses.set_rows(rows[rejected & (codes == code)], place)


def rejection(status: object, plugin: FilterPlugin) -> Status:
    """A filter's answer as the node's status: rejections as they are, everything else an Error."""
    if not isinstance(status, Status) or status.code is Code.SUCCESS:
        status = Status.error("filter_nodes returned a code that stands for no rejection")
    if status.rejected:
        return named(status, plugin)
    return Status(Code.ERROR, f'running "{plugin.name}" filter plugin: {status.message}', plugin=plugin.name)


def _without_broken(nodes: Nodes, statuses: NodeStatuses) -> NDArray[np.bool_] | None:
    left = np.ones(len(nodes), dtype=np.bool_)
    for name, problem in nodes.table.problems.items():
        place = nodes.index(name)
        if place is not None:
            left[place] = False
            statuses.set_row(nodes.info(place).row, Status.unresolvable(problem))
    return left


def filter_one(profile: Profile, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
    """All filters on one node as its row stands now; the first rejection, or None."""
    nodes = Nodes(profile.state.table, slice(node.row, node.row + 1))
    problem = profile.state.table.problems.get(node.name)
    if problem is not None:
        return Status.unresolvable(problem)
    for plugin, _ in profile.filter:
        if plugin.name not in cycle.skip_filter:
            verdicts = timed(profile, cycle, plugin, "Filter", ask, plugin, cycle, pod, nodes)
            if verdicts.codes is not None and verdicts.codes[0]:
                return rejection(verdicts.at(0), plugin)
    return None


def filter_with_rivals(profile: Profile, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
    """The pod must fit the node as it is and also with the pods nominated to it that are as important."""
    rivals = [
        other
        for other in profile.services.nominations.on(node.name)
        if other.priority >= pod.priority and other.uid != pod.uid
    ]
    if rivals:
        status = filter_among(profile, cycle, pod, node, rivals)
        if status is not None:
            return status
    return filter_one(profile, cycle, pod, node)


def filter_among(
    profile: Profile, cycle: CycleState, pod: Pod, node: NodeInfo, rivals: Iterable[Pod]
) -> Status | None:
    """All filters on a node as it would be with `rivals` on it."""
    state = profile.state
    trial_cycle = cycle.clone()
    with state.what_if(node) as trial:
        for rival in rivals:
            trial.add(state.pod_info(rival))
            status = add_pod(profile, trial_cycle, pod, rival, node)
            if status is not None:
                return status
        return filter_one(profile, trial_cycle, pod, node)


def add_pod(profile: Profile, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
    """Carries "as if `other` were on the node" to the plugins that keep state of their own."""
    calls = ((plugin, plugin.add_pod) for plugin in profile.with_add_pod)
    return _carry(profile, "AddPod", "add_pod", calls, cycle, pod, other, node)


def remove_pod(profile: Profile, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
    """Carries "as if `other` were gone from the node" to the plugins that keep state of their own."""
    calls = ((plugin, plugin.remove_pod) for plugin in profile.with_remove_pod)
    return _carry(profile, "RemovePod", "remove_pod", calls, cycle, pod, other, node)


def _carry(
    profile: Profile,
    title: str,
    method: str,
    calls: Iterable[tuple[PreFilterPlugin, Callable[[CycleState, Pod, Pod, NodeInfo], Status | None]]],
    cycle: CycleState,
    pod: Pod,
    other: Pod,
    node: NodeInfo,
) -> Status | None:
    """Calls all but the skipped plugins; the Error status of the first that fails."""
    for plugin, call in calls:
        if plugin.name in cycle.skip_filter:
            continue
        try:
            point = f"PreFilterExtension{title}"
            answer = timed(profile, cycle, plugin, point, call, cycle, pod, other, node)
            status = checked_status(answer, method)
        except FAILURES as error:
            status = failure(error)
        if status is not None and status.code is not Code.SUCCESS:
            text = f'running {title} on PreFilter plugin "{plugin.name}": {status.message}'
            return Status(Code.ERROR, text, plugin=plugin.name)
    return None
