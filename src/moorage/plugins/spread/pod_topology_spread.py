"""PodTopologySpread: spreads pods evenly over zones, hosts and other domains."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.selectors import Selector, SelectorError
from moorage.api.taints import Toleration, untolerated
from moorage.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.config.args import PodTopologySpreadArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.cycle_reads import read
from moorage.plugins.fresh import Fresh, FreshByTemplate
from moorage.plugins.node_matching import RequiredAffinity, required_affinity_of
from moorage.plugins.spread.constraints import (
    HARD,
    HOSTNAME,
    SOFT,
    SYSTEM_DEFAULTS,
    Belonging,
    Constraint,
    as_constraint,
    own_constraints,
)
from moorage.state.affinity_terms import anchor_of
from moorage.state.columns import Bools, Int64s
from moorage.state.counts import PodClass
from moorage.state.node_info import NodeInfo
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

_MISSING_LABEL = Status.unresolvable(
    "node(s) didn't match pod topology spread constraints (missing required label)"
)
_TOO_SKEWED = Status.unschedulable("node(s) didn't match pod topology spread constraints")
_HARD_STATE = "PreFilterPodTopologySpread"
_SOFT_STATE = "PreScorePodTopologySpread"
_CACHED_DOMAINS = 512
_KNOWN_TEMPLATES = 1024
_FEW_DOMAINS = 16


class DomainsKey(NamedTuple):
    """What decides where the pods of a constraint are counted."""

    topology_key: str
    needed_keys: tuple[str, ...]
    """A node without one of these labels does not count."""
    affinity: RequiredAffinity | None
    tolerations: tuple[Toleration, ...] | None


class Domains(NamedTuple):
    """Where the pods of one constraint are counted: per domain code, whether it takes part."""

    included: Bools | None
    """The nodes that count; None stands for all."""
    registered: Bools
    codes: list[int]
    """Of the domains that are registered."""
    everywhere: bool
    """Whether all nodes, those that do not count included, have the label."""


class Hard(NamedTuple):
    """The hard constraints of pods of one template."""

    constraints: tuple[Constraint, ...]
    keys: list[DomainsKey]
    own: list[int]
    """By constraint: 1 if the pod itself counts."""


class HardState:
    """Matching pods per domain and constraint, with what `add_pod` and `remove_pod` changed since."""

    def __init__(self, hard: Hard, domains: list[Domains], counts: list[Int64s]) -> None:
        self.hard = hard
        self.constraints = hard.constraints
        self.domains = domains
        self.counts = counts
        self.changes: tuple[dict[int, int], ...] = tuple({} for _ in hard.constraints)

    def clone(self) -> HardState:
        copy = HardState(self.hard, self.domains, self.counts)
        copy.changes = tuple(dict(change) for change in self.changes)
        return copy

    def change(self, index: int, domain: int, delta: int) -> None:
        change = self.changes[index]
        change[domain] = change.get(domain, 0) + delta

    def counts_now(self, index: int) -> Int64s:
        if not self.changes[index]:
            return self.counts[index]
        counts = self.counts[index].copy()
        for domain, delta in self.changes[index].items():
            counts[domain] += delta
        return counts

    def excess(self, index: int, node: NodeInfo, table: NodeTable) -> int | None:
        """How far above the maximum a pod more would bring the skew of a node; None if it has no domain."""
        constraint, domains = self.constraints[index], self.domains[index]
        label = table.label(constraint.topology_key)
        domain = int(label.column[node.row])
        if not domain:
            return None
        counts = self.counts_now(index)
        enough = bool(domains.codes) and len(domains.codes) >= constraint.min_domains
        fewest = int(counts[domains.registered].min()) if enough else 0
        return int(counts[domain]) + self.hard.own[index] - fewest - constraint.max_skew


def skews_in(cycle: CycleState, node: NodeInfo, table: NodeTable) -> list[int | None]:
    """By hard constraint: how far above its maximum the skew would be with the pod of an attempt on a node.

    None where the node lacks the label; nothing at all if nobody found out.
    """
    state: HardState | None = cycle.get(_HARD_STATE)
    return (
        [] if state is None else [state.excess(index, node, table) for index in range(len(state.constraints))]
    )


def hard_constraints_in(cycle: CycleState) -> tuple[Constraint, ...]:
    """The hard constraints of the pod of an attempt; none if nobody found out."""
    state: HardState | None = cycle.get(_HARD_STATE)
    return () if state is None else state.constraints


class SoftState(NamedTuple):
    constraints: tuple[Constraint, ...]
    ignored: Bools | None
    weights: list[float]
    counts: list[Int64s | None]
    """Matching pods per domain code; None for the hostname key, which is counted per node."""


class PodTopologySpread(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Spreads pods evenly over zones, hosts and other domains."""

    treats_like_pods_alike = True
    args_type = PodTopologySpreadArgs

    def __init__(self, args: PodTopologySpreadArgs | None, handle: Handle) -> None:
        super().__init__(args or PodTopologySpreadArgs(), handle)
        self._state = handle.state
        for kind in (Service, ReplicationController, ReplicaSet, StatefulSet):
            handle.lister(kind.group, kind.version, kind.resource, kind)
        self._system_defaults = self.args.defaulting_type != "List"
        defaults = SYSTEM_DEFAULTS if self._system_defaults else tuple(self.args.default_constraints)
        self._defaults = {
            action: tuple(each for each in defaults if each.when_unsatisfiable == action)
            for action in (HARD, SOFT)
        }
        self._belonging = Belonging(self._state.objects)
        self._hard = FreshByTemplate(_KNOWN_TEMPLATES, lambda pod: _hard(pod, own_constraints(pod, HARD)))
        self._own = {
            action: FreshByTemplate(_KNOWN_TEMPLATES, partial(own_constraints, action=action))
            for action in (HARD, SOFT)
        }
        self._domains = Fresh[DomainsKey, Domains](_CACHED_DOMAINS, self._find_domains)

    def _constraints(self, pod: Pod, action: str) -> tuple[Constraint, ...]:
        """Raises SelectorError if a selector of the pod is invalid."""
        if pod.spec.topology_spread_constraints:
            return self._own[action].get(pod)
        wanted = self._defaults[action]
        if not wanted:
            return ()
        selector = self._belonging.of(pod)
        return () if selector.empty else tuple(as_constraint(each, selector) for each in wanted)

    def _pods_per_node(self, pod: Pod, selector: Selector) -> NDArray[Any] | None:
        """How many pods of the namespace each node has that match and are not terminating; None for zero."""
        if selector.empty or selector.nothing:
            return None
        key, weigh, where = _matching(pod.metadata.namespace, selector)
        return self._state.counts.count(key, weigh, **where).data[: len(self._state.table)]

    def _domains_of(self, key: DomainsKey) -> Domains:
        """What of the domains depends on static facts of nodes, kept until one of these changes."""
        return self._domains.get(key, self._state.table.static_version)

    def _find_domains(self, key: DomainsKey) -> Domains:
        table = self._state.table
        included = np.ones(len(table), dtype=np.bool_)
        for needed in key.needed_keys:
            included &= table.label(needed).column.data[: len(table)] != 0
        if key.affinity is not None:
            included &= key.affinity.mask(table)
        if key.tolerations is not None:
            tolerated = [
                untolerated(taints or (), key.tolerations) is None for taints in table.taint_sets.values
            ]
            included &= np.array(tolerated, dtype=np.bool_)[table.taint_code.data[: len(table)]]
        label = table.label(key.topology_key)
        registered = np.zeros(len(label.codes), dtype=np.bool_)
        registered[label.column.data[: len(table)][included]] = True
        everywhere = bool(label.column.data[: len(table)].all())
        return Domains(
            None if included.all() else included, registered, registered.nonzero()[0].tolist(), everywhere
        )

    def _sums(self, pod: Pod, selector: Selector, key: DomainsKey, domains: Domains) -> Int64s:
        """Matching pods per domain code over the nodes that count; not to be written to."""
        if selector.empty or selector.nothing:
            return np.zeros(len(domains.registered), dtype=np.int64)
        count_key, weigh, where = _matching(pod.metadata.namespace, selector)
        return self._state.counts.sums(
            count_key,
            weigh,
            self._state.table,
            key.topology_key,
            of=key,
            included=domains.included,
            **where,
        )

    # Hard constraints

    def pre_filters_alike(self, pod: Pod) -> bool:
        return not pod.spec.topology_spread_constraints and not self._defaults[HARD]

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        try:
            own = bool(pod.spec.topology_spread_constraints)
            hard = self._hard.get(pod) if own else _hard(pod, self._constraints(pod, HARD))
        except SelectorError as error:
            return Status.error(
                f"get constraints from pod: obtaining pod's hard topology spread constraints: {error}"
            )
        if not hard.constraints:
            return Status.skip()
        domains = [self._domains_of(key) for key in hard.keys]
        counts = [
            self._sums(pod, constraint.selector, key, found)
            for constraint, key, found in zip(hard.constraints, hard.keys, domains, strict=True)
        ]
        cycle.write(_HARD_STATE, HardState(hard, domains, counts))
        return None

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        self._change(cycle, pod, other, node, +1)

    def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        self._change(cycle, pod, other, node, -1)

    def _change(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo, delta: int) -> None:
        state: HardState = read(cycle, _HARD_STATE, "reading")
        if other.metadata.namespace != pod.metadata.namespace or node.row < 0:
            return
        if not all(constraint.topology_key in node.labels for constraint in state.constraints):
            return
        for index, constraint in enumerate(state.constraints):
            included = state.domains[index].included
            if (included is None or included[node.row]) and constraint.selector.matches(
                other.metadata.labels
            ):
                label = self._state.table.label(constraint.topology_key)
                state.change(index, label.column[node.row], delta)

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        state: HardState = read(cycle, _HARD_STATE, "reading")
        codes: NDArray[np.int8] | None = None
        for index, constraint in enumerate(state.constraints):
            domains = state.domains[index]
            # By domain first, of which there may be few; code 0 stands for no label.
            by_code = _too_many(state.counts_now(index), constraint, domains, state.hard.own[index])
            if by_code is None:
                continue
            verdict = by_code[nodes.take(self._state.table.label(constraint.topology_key).column)]
            codes = verdict if codes is None else np.where(codes == 0, verdict, codes)
        return Verdicts.passed() if codes is None else Verdicts(codes, (None, _MISSING_LABEL, _TOO_SKEWED))

    # Soft constraints

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        try:
            constraints = self._constraints(pod, SOFT)
        except SelectorError as error:
            text = f"calculating preScoreState: obtaining pod's soft topology spread constraints: {error}"
            return Status.error(text)
        if not constraints or not len(nodes):
            return Status.skip()
        require_all = bool(pod.spec.topology_spread_constraints) or not self._system_defaults
        keys = tuple(sorted({c.topology_key for c in constraints})) if require_all else ()
        ignored = self._ignored(nodes, keys)
        weights: list[float] = []
        counts: list[Int64s | None] = []
        for constraint in constraints:
            if constraint.topology_key == HOSTNAME:
                size = len(nodes) - (0 if ignored is None else int(np.count_nonzero(ignored)))
                counts.append(None)
            else:
                size, sums = self._soft_domains(pod, constraint, nodes, keys, ignored)
                counts.append(sums)
            weights.append(math.log(float(size + 2)))
        cycle.write(_SOFT_STATE, SoftState(constraints, ignored, weights, counts))
        return None

    def _ignored(self, nodes: Nodes, keys: tuple[str, ...]) -> Bools | None:
        """The nodes that lack one of the keys, where all are called for; None for none."""
        ignored: Bools | None = None
        for key in keys:
            missing = nodes.label(key).codes == 0
            if missing.any():
                ignored = missing if ignored is None else ignored | missing
        return ignored

    def _soft_domains(
        self, pod: Pod, constraint: Constraint, nodes: Nodes, keys: tuple[str, ...], ignored: Bools | None
    ) -> tuple[int, Int64s]:
        """How many domains the feasible nodes have, and the matching pods in every domain."""
        label = self._state.table.label(constraint.topology_key)
        seen = np.zeros(len(label.codes), dtype=np.bool_)
        codes = nodes.take(label.column)
        seen[codes if ignored is None else codes[~ignored]] = True
        key = _domains_key(pod, constraint, keys)
        sums = self._sums(pod, constraint.selector, key, self._domains_of(key))
        empty = label.codes.get("")
        if empty and not keys:
            # A node without the label belongs to the same domain as one with an empty value.
            sums = sums.copy()
            seen[0] = seen[empty] = seen[0] or seen[empty]
            sums[0] = sums[empty] = sums[0] + sums[empty]
            return int(np.count_nonzero(seen)) - int(seen[0]), sums
        return int(np.count_nonzero(seen)), sums

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        state: SoftState = read(cycle, _SOFT_STATE, "error reading")
        raw = np.zeros(len(nodes), dtype=np.float64)
        for constraint, weight, sums in zip(state.constraints, state.weights, state.counts, strict=True):
            codes = nodes.label(constraint.topology_key).codes
            if sums is not None:
                matching: NDArray[Any] | float = sums[codes]
            else:
                per_node = self._pods_per_node(pod, constraint.selector)
                matching = 0.0 if per_node is None else per_node[nodes.rows]
            term = matching * weight + float(constraint.max_skew - 1)
            raw += term if codes.all() else np.where(codes != 0, term, 0.0)
        whole = np.floor(raw)
        scores: Int64s = (whole + (raw - whole >= 0.5)).astype(np.int64)
        if state.ignored is not None:
            scores[state.ignored] = 0
        return scores

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        state: SoftState = read(cycle, _SOFT_STATE, "error reading")
        counted = scores if state.ignored is None else scores[~state.ignored]
        if not len(counted):
            return np.zeros(len(scores), dtype=np.int64)
        largest = max(int(counted.max()), 0)
        if largest == 0:
            normalized = np.full(len(scores), 100, dtype=np.int64)
        else:
            # Not negative: a score is at most the largest, and no constraint makes it less than 0.
            normalized = 100 * (largest + int(counted.min()) - scores) // largest
        if state.ignored is not None:
            normalized[state.ignored] = 0
        return normalized

    # Hints

    def events(self) -> list[ClusterEvent]:
        of_pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
        of_nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return [
            ClusterEvent(POD, of_pods, self._after_pod),
            ClusterEvent(NODE, of_nodes, self._after_node),
        ]

    def _after_pod(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        if any(other is not None and not _involved(pod, other) for other in (old, new)):
            return Hint.SKIP
        constraints = self._constraints(pod, HARD)
        if old is not None and new is not None:
            if (
                new.uid == pod.uid
                and old.spec.tolerations != new.spec.tolerations
                and any(constraint.honors_taints for constraint in constraints)
            ):
                return Hint.QUEUE
            if old.labels == new.labels:
                return Hint.SKIP
            changed = any(
                c.selector.matches(old.labels) != c.selector.matches(new.labels) for c in constraints
            )
        else:
            labels = (new or old or pod).labels
            changed = any(constraint.selector.matches(labels) for constraint in constraints)
        return Hint.QUEUE if changed else Hint.SKIP

    def _after_node(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        keys = [constraint.topology_key for constraint in self._constraints(pod, HARD)]

        def has_all(node: Node) -> bool:
            return all(key in node.labels for key in keys)

        if old is not None and new is not None:
            if has_all(old) != has_all(new):
                return Hint.QUEUE
            moved = any(old.labels.get(key) != new.labels.get(key) for key in keys)
            queue = has_all(new) and (moved or old.spec.taints != new.spec.taints)
        else:
            node = new or old
            queue = node is not None and has_all(node)
        return Hint.QUEUE if queue else Hint.SKIP


def _too_many(counts: Int64s, constraint: Constraint, domains: Domains, own: int) -> NDArray[np.int8] | None:
    """By domain code: 2 where one pod more would be too many, and 1 for no domain; None if no node minds."""
    enough = bool(domains.codes) and len(domains.codes) >= constraint.min_domains
    if len(counts) <= _FEW_DOMAINS:
        listed: list[int] = counts.tolist()
        most = constraint.max_skew + (min(listed[code] for code in domains.codes) if enough else 0) - own
        if domains.everywhere and all(count <= most for count in listed[1:]):
            return None
        return np.array([1, *(2 if count > most else 0 for count in listed[1:])], dtype=np.int8)
    most = constraint.max_skew + (int(counts[domains.registered].min()) if enough else 0) - own
    by_code = (counts > most).view(np.int8) * np.int8(2)
    by_code[0] = 1
    return by_code


def _hard(pod: Pod, constraints: tuple[Constraint, ...]) -> Hard:
    needed = tuple(sorted({constraint.topology_key for constraint in constraints}))
    return Hard(
        constraints,
        [_domains_key(pod, constraint, needed) for constraint in constraints],
        [int(constraint.selector.matches(pod.metadata.labels)) for constraint in constraints],
    )


def _domains_key(pod: Pod, constraint: Constraint, needed_keys: tuple[str, ...]) -> DomainsKey:
    return DomainsKey(
        constraint.topology_key,
        needed_keys,
        required_affinity_of(pod) if constraint.honors_affinity else None,
        pod.spec.tolerations if constraint.honors_taints else None,
    )


class _Where(TypedDict):
    namespace: str
    anchor: tuple[str, str] | None


def _matching(namespace: str, selector: Selector) -> tuple[Hashable, Callable[[PodClass], int], _Where]:
    """About pods of a namespace that match and are not terminating."""

    def weigh(pod_class: PodClass) -> int:
        counts = pod_class.namespace == namespace and not pod_class.terminating
        return int(counts and selector.matches(pod_class.labels))

    return ("spread", namespace, selector), weigh, {"namespace": namespace, "anchor": anchor_of(selector)}


def _involved(pod: Pod, other: Pod) -> bool:
    if other.uid == pod.uid:
        return True
    placed = bool(other.spec.node_name or other.status.nominated_node_name)
    return placed and other.namespace == pod.namespace
