"""NodeAffinity: node selectors and node affinity, required and preferred."""

from __future__ import annotations

import numpy as np

from moorage.api.nodes import Node
from moorage.api.pods import Pod, PreferredSchedulingTerm, parse_preferred
from moorage.api.selectors import IN, NodeSelector, SelectorError
from moorage.config.args import NodeAffinityArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from moorage.framework.handle import Handle
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.fresh import Fresh
from moorage.plugins.node_matching import (
    RequiredAffinity,
    node_affinity_of,
    required_affinity_of,
    selector_mask,
    term_mask,
)
from moorage.plugins.normalize import default_normalize
from moorage.state.columns import Bools, Int64s
from moorage.state.kept_rows import KeptVerdicts, RowScores
from moorage.state.lru import Lru
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes

Preferred = tuple[PreferredSchedulingTerm, ...]

_REQUIRED = "PreFilterNodeAffinity"
_PREFERRED = "PreScoreNodeAffinity"
_ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
_UNMATCHED = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
_CONFLICT = Status.unresolvable("pod affinity terms conflict")
_KNOWN_AFFINITIES = 256
_FEW = 4


class NodeAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Keeps pods to the nodes that their node selector and node affinity ask for; heeds preferences."""

    treats_like_pods_alike = True
    looks_at_particulars = True
    args_type = NodeAffinityArgs
    reads_usage_only = True

    def __init__(self, args: NodeAffinityArgs | None, handle: Handle) -> None:
        super().__init__(args or NodeAffinityArgs(), handle)
        self._table = handle.state.table
        self._added, self._added_preferred = _added_affinity(self.args)
        added = self.args.added_affinity
        self._prefers_always = added is not None and bool(added.preferred)
        self._added_masks = Fresh(1, self._added_mask)
        self._masks = Fresh(_KNOWN_AFFINITIES, self._mask)
        self._sums = Fresh(_KNOWN_AFFINITIES, self._sum_of_weights)
        self._kept_verdicts = Lru[RequiredAffinity, KeptVerdicts](_KNOWN_AFFINITIES)
        self._row_scores = Lru[Preferred, RowScores](_KNOWN_AFFINITIES)

    def _added_mask(self, added: NodeSelector) -> Bools:
        return selector_mask(self._table, added)

    def _mask(self, required: RequiredAffinity) -> Bools:
        return required.mask(self._table)

    def _sum_of_weights(self, preferred: Preferred) -> Int64s:
        """For every row of the table, the weights of the terms that match."""
        total = np.zeros(len(self._table), dtype=np.int64)
        for term in preferred:
            total += term.weight * term_mask(self._table, term.preference)
        total.flags.writeable = False
        return total

    def pre_filters_alike(self, pod: Pod) -> bool:
        return True

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | set[str] | None:
        affinity = node_affinity_of(pod)
        required = None if affinity is None else affinity.required
        if required is None and self._added is None and pod.spec.node_selector is None:
            return Status.skip()
        cycle.write(_REQUIRED, required_affinity_of(pod))
        names = None if required is None else _named_nodes(required)
        return _CONFLICT if names is not None and not names else names

    def kept_verdicts(self, pod: Pod) -> KeptVerdicts:
        required = required_affinity_of(pod)
        return self._kept_verdicts.get(required) or self._kept_verdicts.put(
            required,
            KeptVerdicts(
                self._table,
                self._table.node_changes,
                lambda nodes: self._rejected(required, nodes),
                lambda row: self._rejects(required, self._table.infos[row]),
            ),
        )

    def _rejected(self, required: RequiredAffinity, nodes: Nodes) -> Bools:
        version = self._table.static_version
        rejected: Bools = ~self._masks.get(required, version)[nodes.rows]
        if self._added is not None:
            rejected |= ~self._added_masks.get(self._added, version)[nodes.rows]
        return rejected

    def _rejects(self, required: RequiredAffinity, node: NodeInfo) -> bool:
        labels, name = node.labels, node.name
        if self._added is not None and not self._added.matches(labels, name):
            return True
        return not required.matches(labels, name)

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        required: RequiredAffinity = cycle.get(_REQUIRED) or required_affinity_of(pod)
        version = self._table.static_version
        if len(nodes) <= _FEW:
            # A pod that names its node is not worth a look at all the others.
            few = [not required.matches(node.labels, node.name) for node in nodes]
            if self._added is None and True not in few:
                return Verdicts.passed()
            unmatched = np.array(few)
        else:
            unmatched = ~self._masks.get(required, version)[nodes.rows]
        if self._added is None:
            return Verdicts.where(unmatched, _UNMATCHED)
        refused: Bools = ~self._added_masks.get(self._added, version)[nodes.rows]
        codes = np.where(refused, np.int8(1), unmatched * np.int8(2))
        return Verdicts(codes, (None, _ENFORCED, _UNMATCHED))

    def pre_scores_alike(self, pod: Pod) -> bool:
        return True

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        preferred = _preferred_of(pod)
        if not preferred and not self._prefers_always:
            return Status.skip()
        cycle.write(_PREFERRED, parse_preferred(preferred))
        return None

    def row_scores(self, pod: Pod) -> RowScores:
        preferred = self._added_preferred + parse_preferred(_preferred_of(pod))
        return self._row_scores.get(preferred) or self._row_scores.put(
            preferred,
            RowScores(
                lambda nodes: self._sums.get(preferred, self._table.static_version)[nodes.rows],
                lambda row: _weights(preferred, self._table.infos[row]),
            ),
        )

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        preferred: Preferred | None = cycle.get(_PREFERRED)
        if preferred is None:
            preferred = parse_preferred(_preferred_of(pod))
        return self._sums.get(self._added_preferred + preferred, self._table.static_version)[nodes.rows]

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        return default_normalize(scores)

    def events(self) -> list[ClusterEvent]:
        return [ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._node_changed)]

    def _node_changed(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        if self._added is not None and not self._added.matches(new.labels, new.name):
            return Hint.SKIP
        required = required_affinity_of(pod)
        if not required.matches(new.labels, new.name):
            return Hint.QUEUE if required.is_in_doubt(new.labels, new.name) else Hint.SKIP
        matched_before = old is not None and required.matches(old.labels, old.name)
        return Hint.SKIP if matched_before else Hint.QUEUE


def _weights(preferred: Preferred, node: NodeInfo) -> int:
    labels, name = node.labels, node.name
    return sum(term.weight for term in preferred if term.preference.matches(labels, name))


def _preferred_of(pod: Pod) -> Preferred:
    affinity = node_affinity_of(pod)
    return () if affinity is None else affinity.preferred


def _added_affinity(args: NodeAffinityArgs) -> tuple[NodeSelector | None, Preferred]:
    """What the configuration demands and prefers for every pod; an invalid term is an error at start."""
    added = args.added_affinity
    if added is None:
        return None, ()
    for term in added.required.node_selector_terms if added.required else ():
        problem = term.problem()
        if problem is not None:
            path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            raise PluginLoadError(f"args.{path}: {problem}")
    try:
        return added.required, parse_preferred(added.preferred)
    except SelectorError as error:
        path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
        raise PluginLoadError(f"args.{path}: {error}") from None


def _named_nodes(required: NodeSelector) -> set[str] | None:
    """The nodes that a pod names; None if some term leaves the name open."""
    names: set[str] = set()
    for term in required.node_selector_terms:
        listed = [
            set(field.values)
            for field in term.match_fields
            if field.key == "metadata.name" and field.operator == IN
        ]
        if not listed:
            return None
        names |= set.intersection(*listed)
    return names if required.node_selector_terms else None
