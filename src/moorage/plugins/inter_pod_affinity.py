"""InterPodAffinity: puts pods near to, or away from, other pods."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import Namespace
from moorage.config.args import InterPodAffinityArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin, PreScorePlugin, ScorePlugin
from moorage.framework.handle import Handle
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.cycle_reads import read
from moorage.plugins.fresh import FreshByTemplate
from moorage.state.affinity_terms import NO_LABELS, NO_TERMS, Term, WeightedTerm, terms_of
from moorage.state.columns import Int64s
from moorage.state.counts import PodClass
from moorage.state.lru import Lru
from moorage.state.node_info import NodeInfo
from moorage.state.node_table import NodeTable
from moorage.state.nodes import Nodes

_NOT_NEAR = Status.unresolvable("node(s) didn't match pod affinity rules")
_TOO_NEAR = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
_UNWELCOME = Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
_REQUIRED_STATE = "PreFilterInterPodAffinity"
_PREFERRED_STATE = "PreScoreInterPodAffinity"
_KNOWN_TEMPLATES = 1024


class Sums:
    """Pods per topology key and domain, with what `add_pod` and `remove_pod` changed since."""

    __slots__ = ("_base", "_changes")

    def __init__(self, base: dict[str, Int64s]) -> None:
        self._base = base
        self._changes: dict[str, dict[int, int]] = {}

    def clone(self) -> Sums:
        copy = Sums(self._base)
        copy._changes = {key: dict(change) for key, change in self._changes.items()}
        return copy

    def change(self, key: str, domain: int, delta: int) -> None:
        if domain:
            change = self._changes.setdefault(key, {})
            change[domain] = change.get(domain, 0) + delta

    def keys(self) -> Iterable[str]:
        return self._base.keys() | self._changes.keys() if self._changes else self._base.keys()

    def of(self, table: NodeTable, key: str) -> Int64s:
        base = self._base.get(key)
        change = self._changes.get(key)
        if not change and base is not None:
            return base
        sums = np.zeros(len(table.label(key).codes), dtype=np.int64) if base is None else base.copy()
        for domain, delta in (change or {}).items():
            sums[domain] += delta
        return sums

    def empty(self, table: NodeTable) -> bool:
        return not any(self.of(table, key).any() for key in self.keys())


class RequiredState:
    """What PreFilter knows: the pod's own terms and, per topology, the pods that terms speak of."""

    __slots__ = ("affinity", "affinity_terms", "anti_affinity", "anti_affinity_terms", "existing_anti")

    def __init__(
        self,
        affinity_terms: tuple[Term, ...],
        anti_affinity_terms: tuple[Term, ...],
        affinity: Sums,
        anti_affinity: Sums,
        existing_anti: Sums,
    ) -> None:
        self.affinity_terms = affinity_terms
        self.anti_affinity_terms = anti_affinity_terms
        self.affinity = affinity
        self.anti_affinity = anti_affinity
        self.existing_anti = existing_anti

    def clone(self) -> RequiredState:
        return RequiredState(
            self.affinity_terms,
            self.anti_affinity_terms,
            self.affinity.clone(),
            self.anti_affinity.clone(),
            self.existing_anti.clone(),
        )


class Question(NamedTuple):
    """What pods are asked to weigh, to be added up per domain of a topology key."""

    topology_key: str
    key: tuple[object, ...]
    weigh: Callable[[PodClass], int]


class Required(NamedTuple):
    """What pods of one template require, as long as terms and namespaces are what they are."""

    errors: tuple[str, ...]
    affinity: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    of_affinity: list[Question]
    of_anti_affinity: list[Question]
    of_existing: list[Question]


class InterPodAffinity(PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
    """Puts pods near to, or away from, other pods."""

    treats_like_pods_alike = True
    args_type = InterPodAffinityArgs

    def __init__(self, args: InterPodAffinityArgs | None, handle: Handle) -> None:
        super().__init__(args or InterPodAffinityArgs(), handle)
        self._state = handle.state
        handle.lister("", "v1", "namespaces", Namespace)
        self._namespaces = handle.state.objects.of(Namespace)
        self._expanded = Lru[tuple[Term, int], Term](1024)
        self._required = FreshByTemplate(_KNOWN_TEMPLATES, self._find_required)
        self._preferred = FreshByTemplate(_KNOWN_TEMPLATES, self._find_preferred)

    def _expand(self, term: Term) -> Term:
        """The term with the names of all namespaces that its selector matches now."""
        selector = term.namespace_selector
        if selector.empty or selector.nothing:
            return term
        key = (term, self._namespaces.version)
        found = self._expanded.get(key)
        if found is None:
            names = frozenset(item.name for item in self._namespaces.list() if selector.matches(item.labels))
            found = self._expanded.put(key, term.with_namespaces(names))
        return found

    def _sum(self, question: Question) -> Int64s:
        """What pods weigh, per domain of a topology key; nodes without the key count nowhere."""
        key, count_key, weigh = question
        return self._state.counts.sums(count_key, weigh, self._state.table, key, labelled=True)

    def _sums(self, questions: Iterable[Question]) -> Sums:
        return Sums({question.topology_key: self._sum(question) for question in questions})

    @property
    def _version(self) -> Hashable:
        """Changes with the terms of placed pods, and with namespaces."""
        return self._state.counts.terms.version, self._namespaces.version

    # Required terms

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        if not self._state.counts.terms.any_anti_affinity and terms_of(pod) is NO_TERMS:
            return Status.skip()
        required = self._required.get(pod, self._version)
        if required.errors:
            return Status.unresolvable(f"parsing pod: {'; '.join(required.errors)}")
        existing_anti = self._sums(required.of_existing)
        if not required.affinity and not required.anti_affinity and existing_anti.empty(self._state.table):
            return Status.skip()
        state = RequiredState(
            required.affinity,
            required.anti_affinity,
            self._sums(required.of_affinity),
            self._sums(required.of_anti_affinity),
            existing_anti,
        )
        cycle.write(_REQUIRED_STATE, state)
        return None

    def _find_required(self, pod: Pod) -> Required:
        terms = terms_of(pod)
        affinity = tuple(self._expand(term) for term in terms.affinity)
        anti_affinity = tuple(self._expand(term) for term in terms.anti_affinity)
        return Required(
            terms.errors,
            affinity,
            anti_affinity,
            _matching_all(affinity),
            _matching_each(anti_affinity),
            self._existing_anti(pod),
        )

    def _existing_anti(self, pod: Pod) -> list[Question]:
        """About pods whose required anti-affinity speaks of the incoming pod."""
        existing = self._state.counts.terms
        if not existing.any_anti_affinity:
            return []
        matched = existing.matching(pod, self._labels_around(pod), self._namespaces.version).anti_affinity
        questions: list[Question] = []
        for key in {term.topology_key for term in matched}:
            wanted = frozenset(term for term in matched if term.topology_key == key)

            def weigh(pod_class: PodClass, wanted: frozenset[Term] = wanted) -> int:
                return sum(term in wanted for term in pod_class.terms.anti_affinity)

            questions.append(Question(key, ("existing anti", key, wanted), weigh))
        return questions

    def _labels_around(self, pod: Pod) -> Mapping[str, str]:
        return self._state.objects.namespace_labels(pod.metadata.namespace)

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        self._change(cycle, pod, other, node, +1)

    def remove_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        self._change(cycle, pod, other, node, -1)

    def _change(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo, delta: int) -> None:
        state: RequiredState = read(cycle, _REQUIRED_STATE, "error reading")
        table = self._state.table

        def change(sums: Sums, term: Term) -> None:
            sums.change(term.topology_key, table.label(term.topology_key).column[node.row], delta)

        around = self._labels_around(pod)
        for term in terms_of(other).anti_affinity:
            if term.matches(pod.namespace, pod.labels, around):
                change(state.existing_anti, term)
        if state.affinity_terms and _matches_all(state.affinity_terms, other):
            for term in {term.topology_key: term for term in state.affinity_terms}.values():
                change(state.affinity, term)
        for term in state.anti_affinity_terms:
            if term.matches(other.namespace, other.labels, NO_LABELS):
                change(state.anti_affinity, term)

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        state: RequiredState = read(cycle, _REQUIRED_STATE, "error reading")
        codes = self._not_near(state, pod, nodes)
        for code, sums in ((np.int8(2), state.anti_affinity), (np.int8(3), state.existing_anti)):
            for key in sums.keys():  # noqa: SIM118 - Sums is not a mapping
                near = sums.of(nodes.table, key).take(nodes.take(nodes.table.label(key).column)) > 0
                if codes is not None:
                    near &= codes == 0
                if near.any():
                    found = near.view(np.int8) * code
                    codes = found if codes is None else codes + found
        if codes is None:
            return Verdicts.passed()
        return Verdicts(codes, (None, _NOT_NEAR, _TOO_NEAR, _UNWELCOME))

    def _not_near(self, state: RequiredState, pod: Pod, nodes: Nodes) -> NDArray[np.int8] | None:
        """1 for every node that fails the pod's required affinity; None if it has none."""
        if not state.affinity_terms:
            return None
        present: Any = True
        near: Any = True
        for key in {term.topology_key for term in state.affinity_terms}:
            places = nodes.label(key).codes
            present = present & (places != 0)
            near = near & (state.affinity.of(nodes.table, key)[places] > 0)
        # The first pod of a group that wants to be together may go anywhere.
        if _matches_all(state.affinity_terms, pod) and state.affinity.empty(nodes.table):
            near = True
        rejected: NDArray[np.int8] = (~(present & near)).view(np.int8)
        return rejected

    # Preferred terms

    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        own = terms_of(pod)
        has_own = bool(own.preferred_affinity or own.preferred_anti_affinity)
        if self.args.ignore_preferred_terms_of_existing_pods and not has_own:
            return Status.skip()
        if own.errors:
            return Status.error(f"failed to parse pod: {'; '.join(own.errors)}")
        if not has_own and not self._state.counts.terms.any:
            return Status.skip()
        sums = {
            preferred.topology_key: self._sum(preferred)
            for concerned, preferred in self._preferred.get(pod, self._version)
            if self._sum(concerned).any()
        }
        if not sums:
            return Status.skip()
        cycle.write(_PREFERRED_STATE, sums)
        return None

    def _find_preferred(self, pod: Pod) -> list[tuple[Question, Question]]:
        """For each topology key: about how many pods are concerned at all, and what the terms add up to."""
        own = terms_of(pod)
        wanted = [WeightedTerm(weight, self._expand(term)) for weight, term in own.preferred_affinity]
        wanted += [WeightedTerm(-weight, self._expand(term)) for weight, term in own.preferred_anti_affinity]
        offered = self._offered(pod)
        keys = {term.topology_key for _, term in wanted} | {term.topology_key for term, _ in offered}
        return [
            _preferences(
                key,
                tuple(pair for pair in wanted if pair.term.topology_key == key),
                {pair: weight for pair, weight in offered.items() if pair[0].topology_key == key},
            )
            for key in keys
        ]

    def _offered(self, pod: Pod) -> dict[tuple[Term, str], int]:
        """The terms of placed pods that speak of the incoming pod, by kind, with the weight each adds."""
        existing = self._state.counts.terms
        if not existing.any:
            return {}
        matched = existing.matching(pod, self._labels_around(pod), self._namespaces.version)
        offered: dict[tuple[Term, str], int] = {}
        if self.args.hard_pod_affinity_weight > 0:
            offered.update(
                ((term, "required"), self.args.hard_pod_affinity_weight) for term in matched.affinity
            )
        offered.update(((term, f"+{weight}"), weight) for weight, term in matched.preferred_affinity)
        offered.update(((term, f"-{weight}"), -weight) for weight, term in matched.preferred_anti_affinity)
        return offered

    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Int64s:
        sums: dict[str, Int64s] = read(cycle, _PREFERRED_STATE, "failed to read")
        scores = np.zeros(len(nodes), dtype=np.int64)
        for key, per_domain in sums.items():
            scores += per_domain[nodes.label(key).codes]
        return scores

    def normalize_scores(self, cycle: CycleState, pod: Pod, scores: Int64s) -> Int64s:
        smallest = scores.min()
        spread = scores.max() - smallest
        if not spread:
            return np.zeros(len(scores), dtype=np.int64)
        normalized: Int64s = (100.0 * ((scores - smallest) / spread)).astype(np.int64)
        return normalized

    # Hints

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, self._after_pod),
            ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self._after_node),
        ]

    def _after_pod(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        if old is not None and new is not None and new.uid == pod.uid:
            return Hint.QUEUE
        if not all(_placed(other) for other in (old, new) if other is not None):
            return Hint.SKIP
        terms = terms_of(pod)
        if old is not None and new is not None:
            came_near = not _matches_all(terms.affinity, old) and _matches_all(terms.affinity, new)
            went_away = _matches_all(terms.anti_affinity, old) and not _matches_all(terms.anti_affinity, new)
            helps = came_near or went_away
        elif new is not None:
            helps = _matches_all(terms.affinity, new)
        else:
            assert old is not None
            objected = _matches_all(terms_of(old).anti_affinity, pod)
            helps = _matches_all(terms.anti_affinity, old) or objected
        return Hint.QUEUE if helps else Hint.SKIP

    def _after_node(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        terms = terms_of(pod)

        def value(node: Node | None, term: Term) -> str | None:
            return None if node is None else node.labels.get(term.topology_key)

        for term in terms.affinity:
            now = value(new, term)
            if now is not None and now != value(old, term):
                return Hint.QUEUE
        for term in terms.anti_affinity:
            before = value(old, term)
            if old is None or (before is not None and before != value(new, term)):
                return Hint.QUEUE
        return Hint.SKIP


def _matching_all(terms: tuple[Term, ...]) -> list[Question]:
    """About pods that match all of the terms, in the domains of each."""

    def weigh(pod_class: PodClass) -> int:
        return int(all(_matches_class(term, pod_class) for term in terms))

    return [Question(key, ("affinity", terms), weigh) for key in {term.topology_key for term in terms}]


def _matching_each(terms: tuple[Term, ...]) -> list[Question]:
    """About pods that match some term, in the domains of that term."""
    questions: list[Question] = []
    for key in {term.topology_key for term in terms}:
        wanted = tuple(term for term in terms if term.topology_key == key)

        def weigh(pod_class: PodClass, wanted: tuple[Term, ...] = wanted) -> int:
            return sum(_matches_class(term, pod_class) for term in wanted)

        questions.append(Question(key, ("anti", wanted), weigh))
    return questions


def _preferences(
    key: str, wanted: tuple[WeightedTerm, ...], offered: dict[tuple[Term, str], int]
) -> tuple[Question, Question]:
    """How many terms with this topology key concern a pod at all, and what they add up to."""

    def concerned(pod_class: PodClass) -> list[int]:
        weights = [weight for weight, term in wanted if _matches_class(term, pod_class)]
        if offered:
            terms = pod_class.terms
            weights += [offered[term, "required"] for term in terms.affinity if (term, "required") in offered]
            for sign, listed in (("+", terms.preferred_affinity), ("-", terms.preferred_anti_affinity)):
                held = ((term, f"{sign}{weight}") for weight, term in listed)
                weights += [offered[pair] for pair in held if pair in offered]
        return weights

    about = (key, wanted, frozenset(offered.items()))
    return (
        Question(key, ("concerned", *about), lambda pod_class: len(concerned(pod_class))),
        Question(key, ("preferred", *about), lambda pod_class: sum(concerned(pod_class))),
    )


def _matches_class(term: Term, pod_class: PodClass) -> bool:
    return (pod_class.namespace in term.namespaces or term.any_namespace) and term.selector.matches(
        pod_class.labels
    )


def _matches_all(terms: tuple[Term, ...], pod: Pod) -> bool:
    """Whether a pod matches every term; no terms match nothing."""
    return bool(terms) and all(term.matches(pod.namespace, pod.labels, NO_LABELS) for term in terms)


def _placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)
