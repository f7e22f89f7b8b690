"""Leases."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.fields import not_negative
from moorage.cluster.schema.definitions import Strategy


class LeaseStrategy(Strategy):
    """Leases that elect a leader among several by a strategy are not served."""

    created_by_update = True
    updates_name_version = True
    qualified_finalizers = False

    def prepare_create(self, document: Document) -> None:
        _drop_strategy(document)

    def prepare_update(self, new: Document, old: Document) -> None:
        _drop_strategy(new)

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = part(document, "spec")
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            yield invalid_value("spec.leaseDurationSeconds", duration, "must be greater than 0")
        if transitions is not None:
            yield from not_negative("spec.leaseTransitions", transitions)


def _drop_strategy(document: Document) -> None:
    spec = own_part(document, "spec")
    spec.pop("strategy", None)
    spec.pop("preferredHolder", None)
