"""Cluster roles that are put together from others show the rules they have."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.access.aggregation import stale_aggregations
from moorage.cluster.access.rules import CLUSTER_ROLES
from moorage.cluster.base.store import Document
from moorage.cluster.life.controllers.queue import Key, Queue
from moorage.cluster.life.controllers.writer import Writer

_ALL: Key = ("", "")


class ClusterRoles:
    """Writes the rules of aggregated roles whenever some role changes."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._queue = Queue("cluster role aggregation", self._reconcile)
        self._silence: Callable[[], None] = lambda: None

    def start(self) -> None:
        self._silence = self._writer.store.listen(CLUSTER_ROLES, lambda change: self._queue.add(_ALL))
        self._queue.add(_ALL)
        self._queue.start()

    async def stop(self) -> None:
        self._silence()
        await self._queue.stop()

    async def _reconcile(self, key: Key) -> None:
        for role, wanted in stale_aggregations(self._writer.store):

            def change(document: Document, rules: list[Document] = wanted["rules"]) -> None:
                document["rules"] = rules or None

            self._writer.change(CLUSTER_ROLES, role, change)
