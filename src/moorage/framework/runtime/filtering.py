"""PreFilter and Filter: which nodes can run a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.node_statuses import NodeStatuses, Reasons, Rejections
from moorage.framework.runtime.answers import nodes_or_status, status_of, verdicts_for
from moorage.framework.runtime.calls import Question, ask, ask_often
from moorage.framework.status import Code, Status
from moorage.framework.verdicts import Verdicts
from moorage.state.columns import Bools
from moorage.state.kept_rows import KeptReasons
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.state.nominated_usage import NominatedUsage

if TYPE_CHECKING:
    from moorage.framework.runtime.plans import FilterStep, Plan
    from moorage.framework.runtime.profile import Profile
    from moorage.framework.runtime.signed_answers import SignedVerdicts

_NOMINATED_USAGE = "moorage.io/nominated-usage"
_PRE_FILTER = Question("PreFilter", nodes_or_status)
_ADD_POD = Question("PreFilterExtensionAddPod", status_of("add_pod"))
_REMOVE_POD = Question("PreFilterExtensionRemovePod", status_of("remove_pod"))


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


def pre_filter(profile: Profile, plan: Plan, cycle: CycleState, pod: Pod) -> PreFiltered:
    """Asks every PreFilter plugin once whose answer is not known.

    An Error status ends the attempt, a rejection ends the search.
    """
    names: set[str] | None = None
    narrowed_by: list[str] = []
    remembered: Status | None = None
    for plugin in plan.pre_filter:
        answer = ask_often(_PRE_FILTER, profile, plugin, cycle.is_timed, plugin.pre_filter, cycle, pod)
        if isinstance(answer, Status) and answer.code is Code.SKIP:
            cycle.skip_filter.add(plugin.name)
            continue
        profile.observer.plugin_evaluated(plugin.name, "PreFilter", profile.name)
        if isinstance(answer, (set, frozenset)):
            narrowed_by.append(plugin.name)
            names = set(answer) if names is None else names & answer
            if not names:
                plan.end_after(plugin, cycle)
                return PreFiltered(diagnosis.nothing_left(narrowed_by), names, tuple(narrowed_by))
        elif answer is None or answer.code is Code.SUCCESS:
            continue
        elif answer.code is Code.UNSCHEDULABLE:
            remembered = answer.by(plugin.name)
        elif answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            plan.end_after(plugin, cycle)
            return PreFiltered(answer.by(plugin.name), names, tuple(narrowed_by))
        else:
            plan.end_after(plugin, cycle)
            return PreFiltered(diagnosis.failed("PreFilter", plugin.name, answer))
    profile.observer.plugins_evaluated(plan.passed_pre_filter, "PreFilter", profile.name)
    return PreFiltered(remembered, names, tuple(narrowed_by))


def about(nodes: Nodes) -> Question[Verdicts]:
    """What a filter is asked about these nodes."""
    return _about_so_many(len(nodes))


@lru_cache(maxsize=4096)
def _about_so_many(size: int) -> Question[Verdicts]:
    return Question("Filter", verdicts_for(size))


def filter_nodes(
    profile: Profile, plan: Plan, cycle: CycleState, pod: Pod, nodes: Nodes, statuses: NodeStatuses
) -> Bools | None:
    """Runs all filters on a stretch of nodes and records the first rejection of each.

    Returns which nodes passed, or None if all did. Filters in the easy form are only asked about nodes that
    the ones before them left.
    """
    left: Bools | None = None
    count, evaluated = len(nodes), profile.observer.plugin_evaluated
    if nodes.table.problems:
        left = _without_broken(nodes, statuses)
        count = int(np.count_nonzero(left))
    for step in plan.filter:
        name = step.plugin.name
        if name in cycle.skip_filter:
            continue
        evaluated(name, "Filter", profile.name, count)
        if step.kept is not None:
            rejected = step.kept.rejected(nodes)
            if rejected is not None and left is not None:
                rejected = rejected & left
            if rejected is None or not rejected.any():
                continue
            why = partial(_ask_why, profile, cycle, pod, step, step.kept.reasons)
            statuses.put_off.append(Rejections(nodes, rejected, why))
        else:
            rejected = _ask_about(profile, cycle, pod, nodes, left, step, statuses)
            if rejected is None:
                continue
        left = ~rejected if left is None else left & ~rejected
        count = int(np.count_nonzero(left))
        if not count:
            break
    return left


def _ask_about(
    profile: Profile,
    cycle: CycleState,
    pod: Pod,
    nodes: Nodes,
    left: Bools | None,
    step: FilterStep,
    statuses: NodeStatuses,
) -> Bools | None:
    """Which of the nodes that are left a plugin rejects, and records why; None if it rejects none."""
    asked, places = nodes, None
    # While something is tried out, rows are not what they are.
    signed = None if step.signed is None or profile.trials else step.signed.verdicts(pod)
    if left is not None and (signed is not None or not step.is_fast):
        places = np.flatnonzero(left)
        asked = nodes.subset(places)
    verdicts = _verdicts_of(profile, cycle, pod, asked, step, signed)
    if verdicts.codes is None:
        return None
    codes = verdicts.codes
    if places is not None:
        codes = np.zeros(len(nodes), dtype=codes.dtype)
        codes[places] = verdicts.codes
    rejected: Bools = codes != 0
    if left is not None:
        rejected &= left
    if not rejected.any():
        return None
    if step.is_ours and all(status is not None and status.rejected for status in verdicts.statuses[1:]):
        why = partial(_known_why, step.plugin, codes, verdicts.statuses)
        statuses.put_off.append(Rejections(nodes, rejected, why))
    else:
        _record(nodes, codes, rejected, verdicts, step.plugin, statuses)
    return rejected


def _verdicts_of(
    profile: Profile,
    cycle: CycleState,
    pod: Pod,
    nodes: Nodes,
    step: FilterStep,
    signed: SignedVerdicts | None = None,
) -> Verdicts:
    plugin = step.plugin

    def ask_about(some: Nodes) -> Verdicts | Status:
        return ask_often(about(some), profile, plugin, cycle.is_timed, plugin.filter_nodes, cycle, pod, some)

    verdicts = ask_about(nodes) if signed is None else signed.of(nodes, ask_about)
    if isinstance(verdicts, Status):
        return Verdicts(np.ones(len(nodes), dtype=np.int8), (None, verdicts))
    return verdicts


def _ask_why(
    profile: Profile,
    cycle: CycleState,
    pod: Pod,
    step: FilterStep,
    reasons: KeptReasons,
    rows: NDArray[np.intp],
    rejected: Bools,
) -> Reasons:
    """Finds out why a plugin rejects nodes of which that much was known."""

    def ask(unknown: NDArray[np.intp]) -> list[Status | None]:
        verdicts = _verdicts_of(profile, cycle, pod, Nodes(profile.state.table, unknown), step)
        if verdicts.codes is None:
            return [None] * len(unknown)
        said = [diagnosis.rejected_by_filter(step.plugin.name, status) for status in verdicts.statuses[1:]]
        if not all(status.rejected for status in said):
            reasons.forget()  # it failed, and may not the next time
        return [None if code == 0 else said[code - 1] for code in verdicts.codes.tolist()]

    return reasons.of(rows, ask), reasons.said


def _known_why(
    plugin: FilterPlugin,
    codes: NDArray[np.integer],
    said: Sequence[Status | None],
    rows: NDArray[np.intp],
    rejected: Bools,
) -> Reasons:
    return codes[rejected], [diagnosis.rejected_by_filter(plugin.name, status) for status in said[1:]]


def _record(
    nodes: Nodes,
    codes: NDArray[np.integer],
    rejected: Bools,
    verdicts: Verdicts,
    plugin: FilterPlugin,
    statuses: NodeStatuses,
) -> None:
    rows = nodes.row_numbers()
    # As unsigned numbers negative ones are huge: there is one code, and it has a status.
    if len(verdicts.statuses) == 2 and codes.view(f"u{codes.itemsize}").max() == 1:
        statuses.set_rows(
            rows[rejected],
            statuses.add_status(diagnosis.rejected_by_filter(plugin.name, verdicts.statuses[1])),
        )
        return
    for code in np.unique(codes[rejected]).tolist():
        place = statuses.add_status(diagnosis.rejected_by_filter(plugin.name, verdicts.of(code)))
        statuses.set_rows(rows[rejected & (codes == code)], place)


def _without_broken(nodes: Nodes, statuses: NodeStatuses) -> Bools:
    left = np.ones(len(nodes), dtype=np.bool_)
    for name, problem in nodes.table.problems.items():
        place = nodes.index(name)
        if place is not None:
            left[place] = False
            statuses.set_row(nodes.info(place).row, Status.unresolvable(problem))
    return left


def usage_decides(profile: Profile, cycle: CycleState) -> bool:
    """Whether the filters that take part look at nothing of pods but their number and what they request."""
    return all(plugin.reads_usage_only or plugin.name in cycle.skip_filter for plugin, _ in profile.filter)


def nominated_usage(profile: Profile, cycle: CycleState, pod: Pod) -> NominatedUsage:
    """The usage of nodes with the pods nominated to them that are as important; once for each attempt."""
    found: NominatedUsage | None = cycle.get(_NOMINATED_USAGE)
    if found is None:
        rivals = profile.services.nominations.rivals(pod)
        found = NominatedUsage(profile.state.table, rivals, profile.trials)
        cycle.write(_NOMINATED_USAGE, found)
    return found


def filter_one(profile: Profile, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
    """All filters on one node as its row stands now; the first rejection, or None."""
    nodes = Nodes(profile.state.table, slice(node.row, node.row + 1))
    problem = profile.state.table.problems.get(node.name)
    if problem is not None:
        return Status.unresolvable(problem)
    question = about(nodes)
    evaluated = profile.observer.plugin_evaluated
    for plugin, _ in profile.filter:
        if plugin.name in cycle.skip_filter:
            continue
        evaluated(plugin.name, "Filter", profile.name)
        answer = ask_often(question, profile, plugin, cycle.is_timed, plugin.filter_nodes, cycle, pod, nodes)
        if isinstance(answer, Status):
            return diagnosis.rejected_by_filter(plugin.name, answer)
        if answer.codes is not None and answer.codes[0]:
            return diagnosis.rejected_by_filter(plugin.name, answer.at(0))
    return None


def filter_with_rivals(profile: Profile, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
    """The pod must fit the node as it is and also with the pods nominated to it that are as important."""
    rivals = [
        other
        for other in profile.services.nominations.on(node.name)
        if other.priority >= pod.priority and other.uid != pod.uid and not node.has(other)
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
    return _carry(_ADD_POD, "AddPod", profile, calls, cycle, pod, other, node)


def remove_pod(profile: Profile, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> Status | None:
    """Carries "as if `other` were gone from the node" to the plugins that keep state of their own."""
    calls = ((plugin, plugin.remove_pod) for plugin in profile.with_remove_pod)
    return _carry(_REMOVE_POD, "RemovePod", profile, calls, cycle, pod, other, node)


def _carry(
    question: Question[Status | None],
    doing: str,
    profile: Profile,
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
        status = ask(question, profile, plugin, cycle.is_timed, call, cycle, pod, other, node)
        if status is not None and status.code is not Code.SUCCESS:
            return diagnosis.failed(f"{doing} on PreFilter", plugin.name, status)
    return None
