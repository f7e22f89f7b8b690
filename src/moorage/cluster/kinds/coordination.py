"""Leases. Those that elect a leader among several by a strategy are not served."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, own_part


class LeaseStrategy(KindStrategy):
    type_name = "coordination.v1.Lease"
    qualified_finalizers = False

    def prepare_create(self, document: Document) -> None:
        spec = own_part(document, "spec")
        spec.pop("strategy", None)
        spec.pop("preferredHolder", None)

    def prepare_update(self, new: Document, old: Document) -> None:
        self.prepare_create(new)
