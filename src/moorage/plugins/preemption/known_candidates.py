"""Victims that were found for pods of one template, kept for every node until something changes there."""

from __future__ import annotations

from collections.abc import Hashable

from moorage.api.likeness import likeness
from moorage.api.pods import Pod
from moorage.plugins.preemption.candidates import Candidate
from moorage.state.lru import Lru
from moorage.state.node_info import NodeInfo
from moorage.state.node_table import NodeTable
from moorage.state.nominations import Nominations

_TEMPLATES = 16


class OfTemplate:
    """What is known for pods of one template, by row."""

    def __init__(self, table: NodeTable, nominations: Nominations, budgets: Hashable) -> None:
        self._table = table
        self._nominations = nominations
        self.budgets = budgets
        self.order = table.order_version
        self._position = table.pod_changes.end
        self._by_row: dict[int, tuple[int, Candidate]] = {}

    def catch_up(self) -> None:
        changes = self._table.pod_changes
        rows = changes.since(self._position)
        self._position = changes.end
        if rows is None:
            self._by_row.clear()
        else:
            for row in rows:
                self._by_row.pop(row, None)

    def get(self, node: NodeInfo) -> Candidate | None:
        found = self._by_row.get(node.row)
        if found is None or found[0] != self._nominations.version_of(node.name):
            return None
        return found[1]

    def put(self, node: NodeInfo, candidate: Candidate) -> None:
        self._by_row[node.row] = self._nominations.version_of(node.name), candidate


class KnownCandidates:
    """What is known, by template. `budgets` changes with the disruption budgets."""

    def __init__(self, table: NodeTable, nominations: Nominations) -> None:
        self._table = table
        self._nominations = nominations
        self._known = Lru[bytes, OfTemplate](_TEMPLATES)

    def of(self, pod: Pod, budgets: Hashable) -> OfTemplate | None:
        """None for a pod that is like no other, or has a nomination of its own."""
        key = likeness(pod)
        if key is None or self._nominations.node_of(pod.uid):
            return None
        found = self._known.get(key)
        if found is None or found.order != self._table.order_version or found.budgets != budgets:
            found = self._known.put(key, OfTemplate(self._table, self._nominations, budgets))
        found.catch_up()
        return found
