"""Counts of pods per node, kept up to date as pods come and go.

Spread and inter-pod affinity ask "how many pods that match X does each node have?". A :class:`Count` is the
answer to one such question: a column that is filled once and then adjusted with every pod that is placed or
removed, so that no scheduling cycle walks over pods.

Pods that look alike to every such question (same namespace, labels, terms, and both or neither terminating)
form a :class:`PodClass`; questions are put to classes, not to pods.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from moorage.api.pods import Pod
from moorage.state.affinity_terms import NO_TERMS, AffinityTerms, Term, WeightedTerm, terms_of
from moorage.state.columns import Bools, Column, Columns, Int64s
from moorage.state.domain_sums import DomainSums
from moorage.state.lru import Lru

if TYPE_CHECKING:
    from moorage.state.node_info import NodeInfo
    from moorage.state.node_table import NodeTable

Labels = frozenset[tuple[str, str]]
ClassKey = tuple[str, Labels, AffinityTerms, bool]
Anchor = tuple[str, str] | None
AnyTerm = Term | WeightedTerm

_COUNTS = 512
_MATCHES = 4096
_SUMS_OF_A_COUNT = 16


class PodClass:
    """Pods that no count can tell apart, and on which nodes they are."""

    __slots__ = ("feeds", "key", "labels", "namespace", "pods", "rows", "terminating", "terms")

    def __init__(self, key: ClassKey, labels: Mapping[str, str]) -> None:
        self.key = key
        self.namespace, _, self.terms, self.terminating = key
        self.labels = labels
        self.rows: dict[NodeInfo, int] = {}
        self.pods = 0
        self.feeds: list[tuple[Count, int]] = []


Weigh = Callable[[PodClass], int]


class Count:
    """A number per node: over its pods, the sum of what each pod weighs."""

    __slots__ = ("anchor", "column", "namespace", "sums", "weigh")

    def __init__(self, column: Column, weigh: Weigh, namespace: str | None, anchor: Anchor) -> None:
        self.sums: dict[Hashable, DomainSums] = {}
        """The same per domain, by what tells them apart."""
        self.column = column
        self.weigh = weigh
        self.namespace = namespace
        self.anchor = anchor

    def add(self, row: int, weight: int) -> None:
        self.column.data[row] += weight
        for sums in self.sums.values():
            sums.add(row, weight)

    def could_weigh(self, pod_class: PodClass) -> bool:
        if self.namespace is not None and pod_class.namespace != self.namespace:
            return False
        return self.anchor is None or pod_class.labels.get(self.anchor[0]) == self.anchor[1]


class PodCounts:
    """All pod classes and all live counts."""

    def __init__(self, columns: Columns) -> None:
        self.terms = ExistingTerms()
        self._columns = columns
        self._classes: dict[str, dict[ClassKey, PodClass]] = {}
        self._counts = Lru[Hashable, Count](_COUNTS, self._forget)

    def class_of(self, pod: Pod) -> PodClass:
        """The class of a pod; it is remembered only while some placed pod belongs to it."""
        labels = pod.metadata.labels
        key = (pod.metadata.namespace, frozenset(labels.items()), terms_of(pod), pod.deleting)
        known = self._classes.get(key[0])
        found = known.get(key) if known else None
        return found or PodClass(key, labels)

    def place(self, info: NodeInfo, pod_class: PodClass) -> PodClass:
        """Counts one more pod of a class on a node; returns the class that stands for it from now on."""
        known = self._classes.setdefault(pod_class.namespace, {})
        found = known.get(pod_class.key)
        if found is None:
            found = known[pod_class.key] = pod_class
            self.terms.hold(pod_class.terms)
            found.feeds = [
                (count, weight)
                for count in self._counts
                if count.could_weigh(found) and (weight := count.weigh(found))
            ]
        found.rows[info] = found.rows.get(info, 0) + 1
        found.pods += 1
        for count, weight in found.feeds:
            count.add(info.row, weight)
        return found

    def remove(self, info: NodeInfo, pod_class: PodClass) -> None:
        for count, weight in pod_class.feeds:
            count.add(info.row, -weight)
        left = pod_class.rows[info] - 1
        if left:
            pod_class.rows[info] = left
        else:
            del pod_class.rows[info]
        pod_class.pods -= 1
        if not pod_class.pods:
            known = self._classes[pod_class.namespace]
            del known[pod_class.key]
            if not known:
                del self._classes[pod_class.namespace]
            self.terms.release(pod_class.terms)
            pod_class.feeds = []

    def count(
        self, key: Hashable, weigh: Weigh, *, namespace: str | None = None, anchor: Anchor = None
    ) -> Column:
        """The column for `key`, made on first use by asking `weigh` about every class.

        `namespace` and `anchor` (a label every match has) tell which classes cannot weigh anything.
        """
        return self._count(key, weigh, namespace, anchor).column

    def sums(
        self,
        key: Hashable,
        weigh: Weigh,
        table: NodeTable,
        topology_key: str,
        *,
        of: Hashable = None,
        included: Bools | None = None,
        labelled: bool = False,
        namespace: str | None = None,
        anchor: Anchor = None,
    ) -> Int64s:
        """The same per domain of a label, over the nodes that are `included`; `of` says which those are.

        With `labelled` nodes without the label count nowhere. Not to be written to, and not to be kept.
        """
        count = self._count(key, weigh, namespace, anchor)
        place = (topology_key, of, labelled)
        found = count.sums.get(place)
        if found is None:
            if len(count.sums) >= _SUMS_OF_A_COUNT:
                count.sums.clear()
            found = count.sums[place] = DomainSums(table, count.column, topology_key, labelled=labelled)
        return found.get(included)

    def _count(self, key: Hashable, weigh: Weigh, namespace: str | None, anchor: Anchor) -> Count:
        found = self._counts.get(key)
        if found is None:
            found = self._counts.put(key, Count(self._columns.create(), weigh, namespace, anchor))
            self._fill(found)
        return found

    def _fill(self, count: Count) -> None:
        if count.namespace is not None:
            groups: Iterable[dict[ClassKey, PodClass]] = (self._classes.get(count.namespace, {}),)
        else:
            groups = self._classes.values()
        data = count.column.data
        for group in groups:
            for pod_class in group.values():
                if count.could_weigh(pod_class) and (weight := count.weigh(pod_class)):
                    pod_class.feeds.append((count, weight))
                    for info, pods in pod_class.rows.items():
                        data[info.row] += weight * pods

    def _forget(self, count: Count) -> None:
        for group in self._classes.values():
            for pod_class in group.values():
                pod_class.feeds = [feed for feed in pod_class.feeds if feed[0] is not count]

    def __len__(self) -> int:
        """How many classes there are."""
        return sum(len(group) for group in self._classes.values())


class MatchedTerms:
    """The terms of placed pods that speak of one incoming pod."""

    __slots__ = ("affinity", "anti_affinity", "preferred_affinity", "preferred_anti_affinity")

    def __init__(
        self,
        affinity: frozenset[Term],
        anti_affinity: frozenset[Term],
        preferred_affinity: frozenset[WeightedTerm],
        preferred_anti_affinity: frozenset[WeightedTerm],
    ) -> None:
        self.affinity = affinity
        self.anti_affinity = anti_affinity
        self.preferred_affinity = preferred_affinity
        self.preferred_anti_affinity = preferred_anti_affinity


class ExistingTerms:
    """The distinct affinity terms of all placed pods, found by a label that their matches must have."""

    def __init__(self) -> None:
        self.version = 0
        self._lists: tuple[_TermList, ...] = (_TermList(), _TermList(), _TermList(), _TermList())
        self._matches = Lru[tuple[str, Labels], MatchedTerms](_MATCHES)
        self._matches_version: Hashable = None

    def hold(self, terms: AffinityTerms) -> None:
        """Counts the terms of one more class."""
        self._change(terms, _TermList.hold)

    def release(self, terms: AffinityTerms) -> None:
        self._change(terms, _TermList.release)

    def _change(self, terms: AffinityTerms, change: Callable[[_TermList, Iterable[AnyTerm]], bool]) -> None:
        if terms is NO_TERMS:
            return
        affinity, anti_affinity, preferred, preferred_anti, _ = terms
        kinds: tuple[Iterable[AnyTerm], ...] = (affinity, anti_affinity, preferred, preferred_anti)
        changed = [change(known, held) for known, held in zip(self._lists, kinds, strict=True)]
        if any(changed):
            self.version += 1

    @property
    def any_anti_affinity(self) -> bool:
        return bool(self._lists[1].holders)

    @property
    def any(self) -> bool:
        return any(known.holders for known in self._lists)

    def matching(
        self, pod: Pod, namespace_labels: Mapping[str, str], namespaces_version: Hashable
    ) -> MatchedTerms:
        """The terms that speak of `pod`, remembered until terms or namespaces change."""
        version = (self.version, namespaces_version)
        if version != self._matches_version:
            self._matches.clear()
            self._matches_version = version
        labels = pod.metadata.labels
        key = (pod.metadata.namespace, frozenset(labels.items()))
        found = self._matches.get(key)
        if found is None:
            lists = (known.matching(key[0], labels, namespace_labels) for known in self._lists)
            found = self._matches.put(key, MatchedTerms(*lists))
        return found


class _TermList:
    """Terms of one kind with the number of classes that hold each, bucketed by anchor."""

    def __init__(self) -> None:
        self.holders: dict[AnyTerm, int] = {}
        self._buckets: dict[Anchor, dict[AnyTerm, None]] = {}

    def hold(self, terms: Iterable[AnyTerm]) -> bool:
        new = False
        for term in terms:
            held = self.holders.get(term, 0)
            self.holders[term] = held + 1
            if not held:
                new = True
                self._buckets.setdefault(_plain(term).anchor, {})[term] = None
        return new

    def release(self, terms: Iterable[AnyTerm]) -> bool:
        gone = False
        for term in terms:
            self.holders[term] -= 1
            if not self.holders[term]:
                gone = True
                del self.holders[term]
                bucket = self._buckets[_plain(term).anchor]
                del bucket[term]
                if not bucket:
                    del self._buckets[_plain(term).anchor]
        return gone

    def matching(
        self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]
    ) -> frozenset[Any]:
        anchors: list[Anchor] = [None, *labels.items()]
        return frozenset(
            term
            for anchor in anchors
            for term in self._buckets.get(anchor, ())
            if _plain(term).matches(namespace, labels, namespace_labels)
        )


def _plain(term: AnyTerm) -> Term:
    return term if isinstance(term, Term) else term.term
