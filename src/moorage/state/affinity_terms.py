"""Pod affinity terms in the form in which they are matched."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from moorage.api.pods import Affinity, Pod, PodAffinity, PodAffinityTerm
from moorage.api.selectors import Selector, SelectorError, parse_selector

NO_LABELS: Mapping[str, str] = {}


class Term:
    """Which pods a term speaks of, and the topology in which it does."""

    __slots__ = (
        "_hash",
        "anchor",
        "any_namespace",
        "namespace_selector",
        "namespaces",
        "selector",
        "topology_key",
    )

    def __init__(
        self, topology_key: str, namespaces: frozenset[str], namespace_selector: Selector, selector: Selector
    ) -> None:
        self.topology_key = topology_key
        self.namespaces = namespaces
        self.namespace_selector = namespace_selector
        self.selector = selector
        # Once the names are expanded, the selector is only ever asked about a namespace without labels.
        self.any_namespace = namespace_selector.matches(NO_LABELS)
        self.anchor = anchor_of(selector)
        self._hash = hash((topology_key, namespaces, namespace_selector, selector))

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Whether the term speaks of a pod with these labels in this namespace."""
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)

    def with_namespaces(self, more: frozenset[str]) -> Term:
        return Term(self.topology_key, self.namespaces | more, self.namespace_selector, self.selector)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Term) and self._fields() == other._fields()

    def _fields(self) -> tuple[str, frozenset[str], Selector, Selector]:
        return self.topology_key, self.namespaces, self.namespace_selector, self.selector

    def __repr__(self) -> str:
        return f"<Term {self.topology_key} {sorted(self.namespaces)} {self.selector}>"


class WeightedTerm(NamedTuple):
    weight: int
    term: Term


class AffinityTerms(NamedTuple):
    """All terms of a pod. `errors` tells why a list was dropped."""

    affinity: tuple[Term, ...] = ()
    anti_affinity: tuple[Term, ...] = ()
    preferred_affinity: tuple[WeightedTerm, ...] = ()
    preferred_anti_affinity: tuple[WeightedTerm, ...] = ()
    errors: tuple[str, ...] = ()


NO_TERMS = AffinityTerms()


def terms_of(pod: Pod) -> AffinityTerms:
    """The terms of a pod; a list with an invalid selector is left out as a whole, with the error."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    cached: AffinityTerms | None = pod.__dict__.get("_affinity_terms")
    if cached is None:
        cached = pod.__dict__["_affinity_terms"] = _parse(affinity, pod.metadata.namespace)
    return cached


@lru_cache(maxsize=4096)
def _parse(affinity: Affinity, namespace: str) -> AffinityTerms:
    near = affinity.pod_affinity or PodAffinity()
    far = affinity.pod_anti_affinity or PodAffinity()
    errors: list[str] = []
    return AffinityTerms(
        affinity=_required(near, namespace, errors),
        anti_affinity=_required(far, namespace, errors),
        preferred_affinity=_preferred(near, namespace, errors),
        preferred_anti_affinity=_preferred(far, namespace, errors),
        errors=tuple(errors),
    )


def _required(affinity: PodAffinity, namespace: str, errors: list[str]) -> tuple[Term, ...]:
    try:
        return tuple(_term(term, namespace) for term in affinity.required)
    except SelectorError as error:
        errors.append(str(error))
        return ()


def _preferred(affinity: PodAffinity, namespace: str, errors: list[str]) -> tuple[WeightedTerm, ...]:
    try:
        return tuple(
            WeightedTerm(preferred.weight, _term(preferred.pod_affinity_term, namespace))
            for preferred in affinity.preferred
        )
    except SelectorError as error:
        errors.append(str(error))
        return ()


def _term(term: PodAffinityTerm, namespace: str) -> Term:
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((namespace,))
    everywhere = parse_selector(term.namespace_selector)
    return Term(term.topology_key, namespaces, everywhere, parse_selector(term.label_selector))


def anchor_of(selector: Selector) -> tuple[str, str] | None:
    """A label that every match must have, to find selectors by label; None where there is no such label."""
    for requirement in selector.requirements:
        if requirement.operator == "In" and len(requirement.values) == 1:
            return requirement.key, requirement.values[0]
    return None
