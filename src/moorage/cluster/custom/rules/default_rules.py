"""Whether the defaults in a definition keep its rules."""

from __future__ import annotations

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.custom.rules.object_rules import BUDGET, ObjectRules
from moorage.cluster.custom.rules.tree import rule_tree
from moorage.cluster.schema.model import Schema


class DefaultRules:
    """Checks the defaults of one schema, which may cost together what an object may."""

    def __init__(self) -> None:
        self._budget = BUDGET

    @property
    def is_exhausted(self) -> bool:
        return self._budget < 0

    def problems(self, open_api: Document, schema: Schema, path: str) -> list[Cause]:
        """As a value that was there before, and if that is fine, as one that was not."""
        node = rule_tree(open_api, schema)
        if node is None:
            return []
        value = open_api["default"]
        kept = ObjectRules(self._budget)
        kept.check(node, value, value, path=path)
        remaining, causes = kept.budget, kept.causes
        if not causes:
            new = ObjectRules(self._budget)
            new.check(node, value, path=path)
            remaining, causes = min(remaining, new.budget), new.causes
        self._budget = remaining
        return causes
