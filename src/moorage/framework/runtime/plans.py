"""Plans: which plugins have a say about pods of one template, and which of their answers are known.

Pods of one template differ in nothing that matters when a node is looked for. What an in-tree plugin answers
for all of them is found out with the first one; what it says about single nodes is kept, and corrected where
a node changed. Third-party plugins are asked every time, unless they `sign` their pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from moorage.api.likeness import shape, template
from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from moorage.framework.runtime.signed_answers import SignedAnswers
from moorage.framework.status import Code, Status
from moorage.state.kept_rows import ALL_ZERO, KeptRawScores, KeptScores, KeptVerdicts, RowScores
from moorage.state.lru import Lru
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

_ONE_ZERO = np.zeros(1, dtype=np.int64)
_TEMPLATES = 1024
_SUMS = 64

UNKNOWN, PASSES, SKIPS = "unknown", "passes", "skips"
"""What is known of the answer to `pre_filter` or `pre_score`."""


class Finding(NamedTuple):
    """What is known in advance of a plugin, for pods of one template."""

    pre_filter: str = UNKNOWN
    pre_filter_writes: Mapping[str, Any] = {}
    verdicts: KeptVerdicts | None = None
    pre_score: str = UNKNOWN
    pre_score_writes: Mapping[str, Any] = {}
    scores: RowScores | None = None


_NOTHING = Finding()


class FilterStep(NamedTuple):
    plugin: FilterPlugin
    is_fast: bool
    is_ours: bool
    kept: KeptVerdicts | None
    """What is known; None if the plugin is to be asked."""
    signed: SignedAnswers | None


class ScoreStep(NamedTuple):
    plugin: ScorePlugin
    weight: int
    normalizes: bool
    kept: KeptRawScores | None
    """What is known before it is normalized; None if the plugin is to be asked."""
    if_all_zero: int
    """What normalizing makes of that if it is 0 everywhere."""
    signed: SignedAnswers | None


class Plan:
    """How pods of one template are judged. Without findings, every plugin is asked."""

    def __init__(self, profile: Profile, findings: Mapping[str, Finding], plans: Plans, pod: Pod) -> None:
        self._profile = profile
        self._findings = findings
        self._pre_filter_writes: dict[str, Any] = {}
        self._pre_score_writes: dict[str, Any] = {}
        for finding in findings.values():
            self._pre_filter_writes |= finding.pre_filter_writes
            self._pre_score_writes |= finding.pre_score_writes

        def of(plugin: Plugin) -> Finding:
            return findings.get(plugin.name, _NOTHING)

        self.pre_filter = [plugin for plugin in profile.pre_filter if of(plugin).pre_filter is UNKNOWN]
        """Those to be asked."""
        self.passed_pre_filter = [each.name for each in profile.pre_filter if of(each).pre_filter is PASSES]
        self._skip_filter = {each.name for each in profile.pre_filter if of(each).pre_filter is SKIPS}
        self.filter = [
            FilterStep(
                plugin, is_fast, plugin in profile.ours, of(plugin).verdicts, plans.signed.get(plugin.name)
            )
            for plugin, is_fast in profile.filter
            if plugin.name not in self._skip_filter
        ]
        self.pre_score = [plugin for plugin in profile.pre_score if of(plugin).pre_score is UNKNOWN]
        """Those to be asked."""
        self.passed_pre_score = [each.name for each in profile.pre_score if of(each).pre_score is PASSES]
        self._skip_score = {each.name for each in profile.pre_score if of(each).pre_score is SKIPS}
        self.sum: KeptScores | None = None
        """The scores of the plugins in `summed`, weighted."""
        self.summed: tuple[str, ...] = ()
        self.gives_nothing: tuple[str, ...] = ()
        """The plugins that score every node 0."""
        self.score: list[ScoreStep] = []
        """The other plugins that score."""
        self._plan_scores(plans, pod)
        self.may_look_ahead = all(step.is_ours for step in self.filter)
        """Whether nobody notices about how many nodes more than needed the filters are asked."""
        self.fitting = 0.9
        """Which part of the nodes that were looked at for the last pod fit."""
        self.layout: Any = None
        """What a journal keeps for the pods of the plan."""

    def _plan_scores(self, plans: Plans, pod: Pod) -> None:
        summed: list[tuple[RowScores, int]] = []
        for entry in self._profile.score:
            plugin, weight, normalizes = entry
            scores = self._findings.get(plugin.name, _NOTHING).scores
            if plugin.name in self._skip_score:
                continue
            if scores is ALL_ZERO and not normalizes:
                self.gives_nothing += (plugin.name,)
            elif scores is not None and not normalizes:
                summed.append((scores, weight))
                self.summed += (plugin.name,)
            else:
                kept = None if scores is None else plans.raw_scores(scores)
                all_zero = (
                    0 if kept is None else int(plugin.normalize_scores(CycleState(), pod, _ONE_ZERO)[0])
                )
                step = ScoreStep(plugin, weight, normalizes, kept, all_zero, plans.signed.get(plugin.name))
                self.score.append(step)
        if summed:
            self.sum = plans.weighted_sum(tuple(summed))

    def begin(self) -> CycleState:
        """The state with which an attempt begins."""
        return CycleState(self._pre_filter_writes, self._skip_filter)

    def end_after(self, plugin: PreFilterPlugin, cycle: CycleState) -> None:
        """PreFilter ended with this plugin: those that come later were not there, it must seem."""
        listed = self._profile.pre_filter
        place = listed.index(plugin)
        before = [earlier.name for earlier in listed[:place] if earlier.name in self.passed_pre_filter]
        self._profile.observer.plugins_evaluated(before, "PreFilter", self._profile.name)
        for later in listed[place + 1 :]:
            cycle.skip_filter.discard(later.name)
            for key in self._findings.get(later.name, _NOTHING).pre_filter_writes:
                cycle.delete(key)

    def begin_scoring(self, cycle: CycleState) -> None:
        cycle.write_all(self._pre_score_writes)
        cycle.skip_score |= self._skip_score


class Plans:
    """The plans of a profile, by template."""

    def __init__(self, profile: Profile, *, are_used: bool) -> None:
        self._profile = profile
        self._table = profile.state.table
        self._are_used = are_used
        signing = (plugin for plugin in profile.plugins.values() if type(plugin).sign is not Plugin.sign)
        self.signed = {plugin.name: SignedAnswers(profile, plugin) for plugin in signing} if are_used else {}
        self._raw_scores = Lru[RowScores, KeptRawScores](_SUMS)
        self._sums = Lru[tuple[tuple[RowScores, int], ...], KeptScores](_SUMS)
        self._plans = Lru[bytes, Plan](_TEMPLATES)
        self._shapes = Lru[bytes, tuple[dict[str, Finding], Plan]](_TEMPLATES)
        self._seen = Lru[bytes, bool](_TEMPLATES)
        self._by_shape = [plugin for plugin in profile.ours if not plugin.looks_at_particulars]
        self._by_particulars = [plugin for plugin in profile.ours if plugin.looks_at_particulars]
        self.general = Plan(profile, {}, self, Pod())
        """By which every plugin is asked, for single questions beside the search."""

    def of(self, pod: Pod) -> Plan:
        """The plan for a pod; where its template does not decide, the one by which every plugin is asked."""
        if not self._are_used or self._table.has_extreme_amounts:
            return self.general
        key = template(pod)
        if key is None:
            return self.general
        return self._plans.get(key) or self._make(key, pod)

    def _make(self, key: bytes, pod: Pod) -> Plan:
        """The plan of a template that has none; the first of its pods has to do with that of its shape.

        Where no two pods are alike, what is known of one pod alone serves nobody.
        """
        kind = shape(pod)
        base = self._shapes.get(kind)
        if base is None:
            findings = {plugin.name: self._find(plugin, pod) for plugin in self._by_shape}
            # Finding out may have asked for labels that nobody had asked for: then the keys are others now.
            base = self._shapes.put(shape(pod), (findings, Plan(self._profile, findings, self, pod)))
            key = template(pod) or key
        if not self._seen.get(key):
            self._seen.put(key, True)
            return base[1]
        particulars = {plugin.name: self._find(plugin, pod) for plugin in self._by_particulars}
        return self._plans.put(key, Plan(self._profile, {**base[0], **particulars}, self, pod))

    def _find(self, plugin: Plugin, pod: Pod) -> Finding:
        """What an in-tree plugin says about every pod like this one. One that raises is asked, and tells."""
        pre_filters, pre_scores = self._profile.pre_filter, self._profile.pre_score
        filtering, scoring = CycleState(), CycleState()
        pre_filter = pre_score = UNKNOWN
        verdicts: KeptVerdicts | None = None
        scores: RowScores | None = None
        try:
            if (
                isinstance(plugin, PreFilterPlugin)
                and plugin in pre_filters
                and plugin.pre_filters_alike(pod)
            ):
                pre_filter = _known(plugin.pre_filter(filtering, pod))
            if isinstance(plugin, PreScorePlugin) and plugin in pre_scores and plugin.pre_scores_alike(pod):
                pre_score = _known(plugin.pre_score(scoring, pod, Nodes(self._table, slice(0, 0))))
            # Where its earlier point is not enabled a plugin may fail at the later one; let it.
            is_prepared = not isinstance(plugin, PreFilterPlugin) or plugin in pre_filters
            if isinstance(plugin, FilterPlugin) and is_prepared and pre_filter is not SKIPS:
                verdicts = plugin.kept_verdicts(pod)
            is_prepared &= not isinstance(plugin, PreScorePlugin) or plugin in pre_scores
            if isinstance(plugin, ScorePlugin) and is_prepared and pre_score is not SKIPS:
                scores = plugin.row_scores(pod)
        except Exception:
            return _NOTHING
        return Finding(
            pre_filter,
            filtering.written() if pre_filter is not UNKNOWN else {},
            verdicts,
            pre_score,
            scoring.written() if pre_score is not UNKNOWN else {},
            scores,
        )

    def raw_scores(self, scores: RowScores) -> KeptRawScores:
        table = self._table
        return self._raw_scores.get(scores) or self._raw_scores.put(
            scores, KeptRawScores(table, table.node_changes, scores)
        )

    def weighted_sum(self, weighted: tuple[tuple[RowScores, int], ...]) -> KeptScores:
        table = self._table
        return self._sums.get(weighted) or self._sums.put(
            weighted, KeptScores(table, table.usage_changes, weighted)
        )


def _known(answer: Status | set[str] | None) -> str:
    if answer is None:
        return PASSES
    if isinstance(answer, Status):
        return {Code.SUCCESS: PASSES, Code.SKIP: SKIPS}.get(answer.code, UNKNOWN)
    return UNKNOWN
