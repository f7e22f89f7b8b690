"""Cluster roles that are put together from others show the rules they have."""

from __future__ import annotations

from moorage.cluster.access.rules import CLUSTER_ROLES, stale_aggregations
from moorage.cluster.base.store import Document
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Key

_ALL: Key = ("", "")


class ClusterRoles(Controller):
    """Writes the rules of aggregated roles whenever some role changes."""

    name = "cluster role aggregation"

    def _begin(self) -> None:
        self._listen(CLUSTER_ROLES, lambda change: self._queue.add(_ALL))
        self._queue.add(_ALL)

    async def _reconcile(self, key: Key) -> None:
        for role, wanted in stale_aggregations(self._store):

            def change(document: Document, rules: list[Document] = wanted["rules"]) -> None:
                document["rules"] = rules or None

            self._writer.change(CLUSTER_ROLES, role, change)
