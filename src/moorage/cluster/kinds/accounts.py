"""ServiceAccounts."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy


class ServiceAccountStrategy(KindStrategy):
    type_name = "core.v1.ServiceAccount"

    def prepare_create(self, document: Document) -> None:
        """Of the secrets an account refers to, nothing but the name counts."""
        if document.get("secrets"):
            document["secrets"] = [
                {"name": secret["name"]} if secret.get("name") else {} for secret in document["secrets"]
            ]

    def prepare_update(self, new: Document, old: Document) -> None:
        self.prepare_create(new)
