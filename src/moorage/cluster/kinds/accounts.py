"""ServiceAccounts."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Strategy


class ServiceAccountStrategy(Strategy):
    def prepare_create(self, document: Document) -> None:
        _only_names(document)

    def prepare_update(self, new: Document, old: Document) -> None:
        _only_names(new)


def _only_names(document: Document) -> None:
    """Of the secrets an account refers to, nothing but the name counts."""
    if document.get("secrets"):
        document["secrets"] = [
            {"name": secret["name"]} if secret.get("name") else {} for secret in document["secrets"]
        ]
