"""One scheduling cycle: from a pod to the node it should go to, or to the reasons why there is none.

Nothing in here awaits, so nothing changes while a cycle runs: the live state is the snapshot. A cycle
that asks extenders is suspended meanwhile, and what would change the state waits
(`framework/extenders/suspension.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.extenders.asking import EXTENDER
from moorage.framework.logger import Logger
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.filtering import PreFiltered, filter_with_rivals, pre_filter
from moorage.framework.runtime.plans import Plan
from moorage.framework.runtime.post_filtering import PostFiltered, post_filter
from moorage.framework.runtime.profile import Profile
from moorage.framework.runtime.scoring import Scores, first_of, one_at_random, pre_score, score, tied
from moorage.framework.status import Code, Status
from moorage.scheduler.journal import Entry
from moorage.scheduler.search import how_many_to_find, search
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

log = Logger(__name__)


@dataclass
class Decision:
    """What a cycle found out. Either `node_name` or `failure` is set."""

    plan: Plan
    cycle: CycleState
    statuses: NodeStatuses
    pre_filtered: PreFiltered | None = None
    node_name: str = ""
    feasible: Nodes | None = None
    narrowed_by_extenders: bool = False
    began_at: int = 0
    """The row at which the search began, where PreFilter did not narrow it."""
    looked_at: int = 0
    scores: Scores | None = None
    total: int | None = None
    """The highest, if nodes were scored."""
    ties: int = 0
    """How many nodes have it."""
    nominated_first: bool = False
    post_filtered: PostFiltered | None = None
    failure: diagnosis.Failure | None = None
    entry: Entry = None
    """What the journal knows it by."""

    def take(self, nodes: Nodes, scores: Scores, place: int, tied: NDArray[np.intp]) -> None:
        """Chooses one of several nodes that are equally good."""
        self.node_name, self.total, self.ties = nodes.info(place).name, scores.totals.item(place), len(tied)


class NodeChooser:
    """Decides for one pod after the other; remembers where the last search ended."""

    def __init__(
        self, percentage_of_nodes_to_score: int = 0, *, find_all: bool = False, preempts: bool = True
    ) -> None:
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.find_all = find_all
        self.preempts = preempts
        """Whether PostFilter is asked where nothing fits."""
        self.within: frozenset[str] | None = None
        """The names of the nodes to which the search is narrowed; None for all."""
        self.is_for_gang = False
        self.counts_others = True
        """Whether what is told of a pod counts the nodes, too, to which the search is not narrowed."""
        self.start = 0

    @contextmanager
    def for_gang(
        self, within: frozenset[str] | None, *, preempts: bool = False, counts_others: bool = True
    ) -> Iterator[None]:
        """Nobody makes room for single members of a gang; it may have to stay within some nodes."""
        before = self.preempts, self.within, self.counts_others, self.is_for_gang
        self.preempts, self.within, self.counts_others, self.is_for_gang = (
            preempts,
            within,
            counts_others,
            True,
        )
        try:
            yield
        finally:
            self.preempts, self.within, self.counts_others, self.is_for_gang = before

    def decide(self, profile: Profile, pod: Pod) -> Decision:
        table = profile.state.table
        profile.state.settle()
        profile.services.took.clear()
        table.refresh()
        plan = profile.plans.of(pod)
        cycle = plan.begin()
        cycle.is_timed = profile.observer.samples_plugins()
        decision = Decision(plan, cycle, NodeStatuses(table))
        if not len(table):
            decision.failure = diagnosis.no_nodes()
            return decision
        started = time.perf_counter()
        pre = decision.pre_filtered = pre_filter(profile, plan, cycle, pod)
        observe(profile, "PreFilter", pre.status, started)
        if pre.status is not None and not pre.status.rejected:
            decision.failure = diagnosis.attempt_failed(pre.status, "PreFilter")
            return decision
        if pre.status is not None:
            decision.statuses = NodeStatuses(table, pre.status)
            return self._nothing_fits(profile, pod, decision)
        if self.within is not None:
            names = set(self.within) if pre.names is None else pre.names & self.within
            by = () if profile.gangs is None or not self.counts_others else (profile.gangs.name,)
            pre = decision.pre_filtered = pre._replace(
                names=names, narrowed_by=tuple({*pre.narrowed_by, *by})
            )
        if pre.names is not None and pre.narrowed_by:
            decision.statuses = NodeStatuses(table, diagnosis.outside_status(pre.narrowed_by))
        if self.within is not None and not self.counts_others:
            self._leave_out_others(decision.statuses, table)
        self._find(profile, pod, decision)
        if decision.failure is None:
            self._choose(profile, pod, decision)
        return decision

    def _leave_out_others(self, statuses: NodeStatuses, table: NodeTable) -> None:
        """Gives the nodes to which the search is not narrowed a status that says nothing."""
        assert self.within is not None
        others = [info.row for info in table.infos if info.name not in self.within]
        nothing = statuses.add_status(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE))
        statuses.set_rows(np.array(others, dtype=np.intp), nothing)

    def _find(self, profile: Profile, pod: Pod, decision: Decision) -> None:
        """Sets `feasible`, or `failure` if a plugin failed."""
        assert decision.pre_filtered is not None
        table, names = profile.state.table, decision.pre_filtered.names
        early = self._nominated(profile, pod, decision)
        if early is not None:
            decision.feasible, decision.nominated_first, decision.looked_at = early, True, 1
            return
        total = len(table) if names is None else sum(name in table.by_name for name in names)
        started = time.perf_counter()
        found = search(
            profile,
            decision.plan,
            decision.cycle,
            pod,
            decision.statuses,
            names=names,
            start=self.start,
            limit=self._limit(profile, total),
        )
        observe(profile, "Filter", found.error, started)
        decision.began_at = self.start
        self.skip(profile, found.looked_at)
        decision.feasible, decision.looked_at = found.nodes, found.looked_at
        if found.error is not None:
            decision.failure = diagnosis.attempt_failed(found.error, "Filter")
            return
        left = profile.services.extenders.filter(pod, found.nodes, decision.statuses)
        if isinstance(left, Status):
            decision.failure = diagnosis.attempt_failed(left, "Filter")
            decision.feasible = Nodes(table, slice(0, 0))
            return
        decision.feasible, decision.narrowed_by_extenders = left, len(left) != len(found.nodes)

    def skip(self, profile: Profile, looked_at: int) -> None:
        """The next search starts so many nodes on."""
        self.start = (self.start + looked_at) % len(profile.state.table)

    def _limit(self, profile: Profile, total: int) -> int:
        if self.find_all:
            return total
        percentage = profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.percentage_of_nodes_to_score
        extenders = profile.services.extenders
        choosy = bool(profile.score) or extenders.prioritize_any or extenders.filter_any
        return how_many_to_find(total, percentage, scores=choosy)

    def _nominated(self, profile: Profile, pod: Pod, decision: Decision) -> Nodes | None:
        """The node the pod is nominated to, if it fits; a failure here counts as "does not fit"."""
        name = pod.status.nominated_node_name
        is_outside = self.within is not None and name not in self.within
        pre = decision.pre_filtered
        if pre is not None and pre.names is not None and profile.gangs is not None:
            # Other plugins that narrow reject the nominated node themselves.
            is_outside |= profile.gangs.name in pre.narrowed_by and name not in pre.names
        node = profile.state.node(name) if name and not is_outside else None
        if node is None:
            return None
        started = time.perf_counter()
        status = filter_with_rivals(profile, decision.cycle, pod, node)
        failed = None if status is None or status.rejected else status
        observe(profile, "Filter", failed, started)
        if status is not None:
            if status.rejected:
                self._note_rejected_nomination(decision, node.row, status)
            else:
                said = diagnosis.for_log(profile, status)
                log.error(said, "Evaluation failed on nominated node", pod=pod, node=name)
            return None
        nodes = Nodes(profile.state.table, slice(node.row, node.row + 1))
        left = profile.services.extenders.filter(pod, nodes, decision.statuses)
        if isinstance(left, Status):
            log.error(left.message, "Evaluation failed on nominated node", pod=pod, node=name)
            return None
        return left if len(left) else None

    def _note_rejected_nomination(self, decision: Decision, row: int, status: Status) -> None:
        decision.statuses.set_row(row, status)
        pre = decision.pre_filtered
        if pre is not None and pre.names is not None and status.plugin:
            # kube-scheduler's text names who rejected the nominated node among those who narrowed.
            decision.statuses.absent = diagnosis.outside_status({*pre.narrowed_by, status.plugin})

    def _choose(self, profile: Profile, pod: Pod, decision: Decision) -> None:
        nodes = decision.feasible
        if nodes is None or not len(nodes):
            self._nothing_fits(profile, pod, decision)
            return
        if len(nodes) == 1:
            decision.node_name = nodes.info(0).name
            return
        extenders = profile.services.extenders
        if not profile.score and not extenders:
            decision.node_name = nodes.info(0).name
            return
        scores = rank(profile, decision.plan, decision.cycle, pod, nodes)
        if scores.status is not None:
            decision.failure = diagnosis.attempt_failed(scores.status, "Score")
            return
        decision.scores = scores
        if not extenders:
            equals = tied(scores.totals)
            decision.take(nodes, scores, first_of(equals, len(nodes)), equals)
            return
        scores.by_extender, given = extenders.prioritize(pod, nodes, profile.observer)
        for added in scores.by_extender.values():
            scores.totals = scores.totals + added
        equals = tied(scores.totals)
        decision.take(nodes, scores, one_at_random(equals, given), equals)

    def look_at_all(self, profile: Profile, pod: Pod, decision: Decision) -> NodeStatuses:
        """The statuses of all nodes, where the cycle itself stopped at the nominated one."""
        statuses = NodeStatuses(profile.state.table, decision.statuses.absent)
        names = decision.pre_filtered.names if decision.pre_filtered else None
        limit = len(profile.state.table)
        search(profile, decision.plan, decision.cycle, pod, statuses, names=names, start=0, limit=limit)
        return statuses

    def _nothing_fits(self, profile: Profile, pod: Pod, decision: Decision) -> Decision:
        pre = decision.pre_filtered
        assert pre is not None
        post: PostFiltered | None = None
        if profile.post_filter and self.preempts:
            started = time.perf_counter()
            post = decision.post_filtered = post_filter(profile, decision.cycle, pod, decision.statuses)
            observe(profile, "PostFilter", post.status, started)
            if post.status.cause is not None:
                profile.observer.plugin_failed(post.status.plugin, profile.name)
                failed = diagnosis.running("PostFilter", post.status.plugin, post.status)
                log.error(diagnosis.for_log(profile, post.status, failed), "Preemption failed", pod=pod)
        total = len(profile.state.table)
        if self.within is not None and not self.counts_others:
            total = len(self.within)
        rejected_by = (EXTENDER,) if decision.narrowed_by_extenders else ()
        decision.failure = diagnosis.nothing_fits(
            total, decision.statuses, pre, post, rejected_by=rejected_by
        )
        return decision


def rank(profile: Profile, plan: Plan, cycle: CycleState, pod: Pod, nodes: Nodes) -> Scores:
    """PreScore and Score over the nodes that fit."""
    started = time.perf_counter()
    status = pre_score(profile, plan, cycle, pod, nodes)
    observe(profile, "PreScore", status, started)
    if status is not None:
        return Scores.failed(status)
    started = time.perf_counter()
    scores = score(profile, plan, cycle, pod, nodes)
    observe(profile, "Score", scores.status, started)
    return scores


def observe(profile: Profile, point: str, status: Status | None, started: float) -> None:
    """Tells how long an extension point took that began at `started`, by the performance counter."""
    label = "Success" if status is None else status.code.label
    profile.observer.extension_point(profile.name, point, label, time.perf_counter() - started)
