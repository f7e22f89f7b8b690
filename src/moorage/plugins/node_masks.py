"""Which nodes match a pod's node selector, affinity and tolerations: masks over the whole node table.

They depend on static facts of nodes only, so they are computed once per template and kept until such a fact
changes. Selectors are evaluated on label columns, not node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from moorage.api.pods import Pod
from moorage.api.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    matches_field,
)
from moorage.api.taints import Toleration, untolerated
from moorage.state.columns import Bools
from moorage.state.lru import Lru
from moorage.state.node_table import NodeTable

T = TypeVar("T")

_CACHED = 512


class StaticCache:
    """Values that hold until a static fact of some node changes."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._version = table.static_version
        self._values = Lru[Hashable, Any](_CACHED)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        if self._version != self._table.static_version:
            self._values.clear()
            self._version = self._table.static_version
        found: T | None = self._values.get(key)
        return self._values.put(key, make()) if found is None else found


_caches: WeakKeyDictionary[NodeTable, StaticCache] = WeakKeyDictionary()


def static_cache(table: NodeTable) -> StaticCache:
    """The cache that all plugins share for one table."""
    cache = _caches.get(table)
    if cache is None:
        cache = _caches[table] = StaticCache(table)
    return cache


def affinity_key(pod: Pod) -> Hashable:
    """What of a pod decides `affinity_mask`; None if every node matches."""
    selector = pod.spec.node_selector
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if not selector and required is None:
        return None
    return frozenset(selector.items()) if selector else None, required


def affinity_mask(table: NodeTable, pod: Pod) -> Bools | None:
    """The nodes that match the pod's node selector and required node affinity; None stands for all."""
    key = affinity_key(pod)
    if key is None:
        return None
    return static_cache(table).get(("affinity", key), lambda: _affinity(table, pod))


def _affinity(table: NodeTable, pod: Pod) -> Bools:
    mask = np.ones(len(table), dtype=np.bool_)
    for key, value in (pod.spec.node_selector or {}).items():
        mask &= requirement_mask(table, Requirement(key, IN, (value,)))
    affinity = pod.spec.affinity
    if affinity and affinity.node_affinity and affinity.node_affinity.required is not None:
        mask &= selector_mask(table, affinity.node_affinity.required)
    return mask


def selector_mask(table: NodeTable, selector: NodeSelector) -> Bools:
    mask = np.zeros(len(table), dtype=np.bool_)
    for term in selector.node_selector_terms:
        mask |= term_mask(table, term)
    return mask


def term_mask(table: NodeTable, term: NodeSelectorTerm) -> Bools:
    """The nodes that match one term; an empty or invalid one matches none."""
    if term.empty or term.problem() is not None:
        return np.zeros(len(table), dtype=np.bool_)
    mask = np.ones(len(table), dtype=np.bool_)
    for requirement in term.match_expressions:
        mask &= requirement_mask(table, requirement)
    for field in term.match_fields:
        mask &= _field_mask(table, field)
    return mask


def requirement_mask(table: NodeTable, requirement: Requirement) -> Bools:
    label = table.label(requirement.key)
    codes = label.column.data[: len(table)]
    operator = requirement.operator
    if operator == EXISTS:
        return codes != 0
    if operator == DOES_NOT_EXIST:
        return codes == 0
    lookup = np.zeros(len(label.codes), dtype=np.bool_)
    if operator in (IN, NOT_IN):
        lookup[[label.codes.get(value) for value in requirement.values]] = True
        lookup[0] = False
        return ~lookup[codes] if operator == NOT_IN else lookup[codes]
    for code, value in enumerate(label.codes.values):
        lookup[code] = value is not None and requirement.matches({requirement.key: value})
    return lookup[codes]


def _field_mask(table: NodeTable, field: Requirement) -> Bools:
    if field.key != "metadata.name":
        return np.full(len(table), matches_field(field, ""), dtype=np.bool_)
    mask = np.zeros(len(table), dtype=np.bool_)
    named = table.by_name.get(field.values[0])
    if named is not None:
        mask[named.row] = True
    return mask if field.operator == IN else ~mask


def toleration_mask(table: NodeTable, tolerations: tuple[Toleration, ...]) -> Bools | None:
    """The nodes whose NoSchedule and NoExecute taints are all tolerated; None stands for all."""
    if len(table.taint_sets) == 1:
        return None

    def compute() -> Bools:
        tolerated = [untolerated(taints or (), tolerations) is None for taints in table.taint_sets.values]
        return np.array(tolerated, dtype=np.bool_)[table.taint_code.data[: len(table)]]

    return static_cache(table).get(("taints", tolerations), compute)
