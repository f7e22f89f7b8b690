"""Node selectors asked about all nodes at once.

A mask is an array with one bool per row of the node table. Labels are matched by their codes, so that the
work depends on the number of distinct values at most, never on the number of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from moorage.api.pods import NodeAffinity, Pod
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
from moorage.state.columns import Bools, Int32s
from moorage.state.node_table import NodeTable


class RequiredAffinity(NamedTuple):
    """What a pod demands of its node: the `nodeSelector` map and the required node affinity."""

    labels: tuple[tuple[str, str], ...]
    selector: NodeSelector | None

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        return self._labels_match(labels) and (
            self.selector is None or self.selector.matches(labels, node_name)
        )

    def is_in_doubt(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether the answer is no and an invalid term has a part in it."""
        if self.selector is None or not self._labels_match(labels):
            return False
        invalid = any(term.problem() is not None for term in self.selector.node_selector_terms)
        return invalid and not self.selector.matches(labels, node_name)

    def mask(self, table: NodeTable) -> Bools:
        matched = np.ones(len(table), dtype=np.bool_)
        for key, value in self.labels:
            matched &= _has_one_of(table, key, (value,))
        if self.selector is not None:
            matched &= selector_mask(table, self.selector)
        return matched

    def _labels_match(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(key) == value for key, value in self.labels)


def node_affinity_of(pod: Pod) -> NodeAffinity | None:
    affinity = pod.spec.affinity
    return None if affinity is None else affinity.node_affinity


def required_affinity_of(pod: Pod) -> RequiredAffinity:
    affinity, labels = node_affinity_of(pod), pod.spec.node_selector
    return RequiredAffinity(
        tuple(labels.items()) if labels else (), None if affinity is None else affinity.required
    )


def selector_mask(table: NodeTable, selector: NodeSelector) -> Bools:
    """The nodes that some term matches; without a usable term there are none."""
    matched = np.zeros(len(table), dtype=np.bool_)
    for term in selector.node_selector_terms:
        matched |= term_mask(table, term)
    return matched


def term_mask(table: NodeTable, term: NodeSelectorTerm) -> Bools:
    """The nodes that satisfy all of a term; none if it is empty or invalid."""
    if term.empty or term.problem() is not None:
        return np.zeros(len(table), dtype=np.bool_)
    matched = np.ones(len(table), dtype=np.bool_)
    for requirement in term.match_expressions:
        matched &= _requirement_mask(table, requirement)
    for field in term.match_fields:
        matched &= _field_mask(table, field)
    return matched


def _requirement_mask(table: NodeTable, requirement: Requirement) -> Bools:
    key, operator = requirement.key, requirement.operator
    if operator == IN:
        return _has_one_of(table, key, requirement.values)
    if operator == NOT_IN:
        return ~_has_one_of(table, key, requirement.values)
    label = table.label(key)
    codes: Int32s = label.column.data[: len(table)]
    if operator in (EXISTS, DOES_NOT_EXIST):
        exists: Bools = codes != 0
        return exists if operator == EXISTS else ~exists
    by_code = [value is not None and requirement.matches({key: value}) for value in label.codes.values]
    return np.array(by_code, dtype=np.bool_)[codes]


def _has_one_of(table: NodeTable, key: str, values: tuple[str, ...]) -> Bools:
    label = table.label(key)
    codes: Int32s = label.column.data[: len(table)]
    wanted = [code for code in map(label.codes.get, values) if code != 0]
    if not wanted:
        return np.zeros(len(table), dtype=np.bool_)
    if len(wanted) == 1:
        equal: Bools = codes == wanted[0]
        return equal
    by_code = np.zeros(len(label.codes), dtype=np.bool_)
    by_code[wanted] = True
    return by_code[codes]


def _field_mask(table: NodeTable, field: Requirement) -> Bools:
    """One node may differ from all others: the one with the wanted name."""
    others = matches_field(field, "") if field.key != "metadata.name" else field.operator != IN
    matched = np.full(len(table), others, dtype=np.bool_)
    named = table.by_name.get(field.values[0]) if field.key == "metadata.name" else None
    if named is not None:
        matched[named.row] = not others
    return matched
