"""ClusterRoles that are made of other ClusterRoles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from moorage.cluster.access.rules import CLUSTER_ROLES
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.schema.selecting import selector_of


def is_aggregated(role: Document) -> bool:
    return role.get("aggregationRule") is not None


def aggregated_rules(role: Document, roles: Iterable[Document]) -> list[Document]:
    """The rules of all roles that an aggregated one selects.

    Selected roles may be aggregated themselves: what counts is what they select, not what is written in them.
    """
    known = sorted(roles, key=lambda each: each["metadata"]["name"])
    rules: dict[bytes, Document] = {}
    for found in _selected(role, known, {role["metadata"]["name"]}):
        for rule in found.get("rules") or ():
            rules.setdefault(msgspec.json.encode(rule, order="deterministic"), rule)
    return list(rules.values())


def stale_aggregations(store: Store) -> list[tuple[Stored, Document]]:
    """The aggregated roles whose own rules are not what they should be, each with how it should be."""
    stored = store.objects(CLUSTER_ROLES)
    documents = [role.document for role in stored]
    found = []
    for role in stored:
        if is_aggregated(role.document):
            rules = aggregated_rules(role.document, documents)
            if rules != (role.document.get("rules") or []):
                found.append((role, {**role.document, "rules": rules}))
    return found


def _selected(role: Document, roles: list[Document], seen: set[str]) -> Iterator[Document]:
    """The roles with rules of their own that are selected, however many aggregated ones are between."""
    for document in role["aggregationRule"].get("clusterRoleSelectors") or ():
        selector = selector_of(document)
        for other in roles:
            name = other["metadata"]["name"]
            if name in seen or not selector.matches(other["metadata"].get("labels") or {}):
                continue
            seen.add(name)
            if is_aggregated(other):
                yield from _selected(other, roles, seen)
            else:
                yield other
