"""The rules of roles: what they allow, which of them contain others, and roles that are made of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import Any

import msgspec

from moorage.cluster.access.users import Attributes
from moorage.cluster.base.go_text import quoted_list
from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Document, Store, Stored

ROLES = "roles.rbac.authorization.k8s.io"
CLUSTER_ROLES = "clusterroles.rbac.authorization.k8s.io"
BINDINGS = "rolebindings.rbac.authorization.k8s.io"
CLUSTER_BINDINGS = "clusterrolebindings.rbac.authorization.k8s.io"
ANY = "*"


class Rule:
    """A rule of a role in a form that is quick to ask."""

    __slots__ = ("document", "groups", "names", "prefixes", "resources", "urls", "verbs")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.verbs = _strings(document, "verbs")
        self.groups = _strings(document, "apiGroups")
        self.resources = _strings(document, "resources")
        self.names = _strings(document, "resourceNames")
        """Empty: of any name."""
        self.urls = _strings(document, "nonResourceURLs")
        self.prefixes = tuple(url.rstrip(ANY) for url in self.urls if url.endswith(ANY))

    def allows(self, attributes: Attributes) -> bool:
        """Whether the rule allows it; of a resource, if the name is right as well."""
        verb, resource = attributes.verb, attributes.combined_resource
        if attributes.path is not None:
            return self._is_about_url(verb, attributes.path)
        return self._is_about(verb, attributes.group, resource, attributes.subresource)

    def covers(self, atom: Atom) -> bool:
        """Whether all that the atom allows is allowed by this rule alone."""
        verb, group, resource, name, url = atom
        if url is not None:
            return not self.names and self._is_about_url(verb, url)
        if self.names and name not in self.names:
            return False
        return self._is_about(verb, group, resource, resource.partition("/")[2])

    def _is_about_url(self, verb: str, url: str) -> bool:
        return _has(self.verbs, verb) and (url in self.urls or url.startswith(self.prefixes))

    def _is_about(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        if not _has(self.verbs, verb) or not _has(self.groups, group):
            return False
        if subresource and f"{ANY}/{subresource}" in self.resources:
            return True
        return _has(self.resources, resource)

    @property
    def size(self) -> int:
        """How many atoms there are in it."""
        of_resources = prod((len(self.groups), len(self.resources), len(self.names) or 1))
        return len(self.verbs) * (of_resources + len(self.urls))

    def atoms(self) -> Iterator[Atom]:
        """The same as rules of one verb on one thing each, in the order in which they stand."""
        listed = self.document.get
        verbs = listed("verbs") or ()
        names = listed("resourceNames") or (None,)
        for group, resource, verb, name in product(
            listed("apiGroups") or (), listed("resources") or (), verbs, names
        ):
            yield verb, group, resource, name, None
        for url, verb in product(listed("nonResourceURLs") or (), verbs):
            yield verb, "", "", None, url


Atom = tuple[str, str, str, str | None, str | None]
"""Verb, group, resource, name (None: any), and for what is no resource the URL instead."""


def _has(words: frozenset[str], word: str) -> bool:
    return word in words or ANY in words


def rules_of(document: Document) -> tuple[Rule, ...]:
    return tuple(map(Rule, document.get("rules") or ()))


def all_rules(role: Document, roles: Iterable[Document]) -> tuple[Rule, ...]:
    """The rules of a role or, of one that is made of others, those of the others."""
    return rules_of({"rules": aggregated_rules(role, roles)} if is_aggregated(role) else role)


def described(atoms: Iterable[Atom]) -> list[str]:
    """The atoms as messages name them, those that differ only in the verb as one."""
    verbs_of: dict[tuple[str, str, str | None], list[str]] = {}
    texts = set()
    for verb, group, resource, name, url in atoms:
        if url is not None:
            texts.add(_described(NonResourceURLs=[url], Verbs=[verb]))
        else:
            verbs_of.setdefault((group, resource, name), []).append(verb)
    for (group, resource, name), verbs in verbs_of.items():
        named = {} if name is None else {"ResourceNames": [name]}
        texts.add(_described(APIGroups=[group], Resources=[resource], **named, Verbs=verbs))
    return sorted(texts)


def _described(**parts: list[str]) -> str:
    return f"{{{', '.join(f'{name}:{quoted_list(texts)}' for name, texts in parts.items())}}}"


def _strings(document: Document, name: str) -> frozenset[Any]:
    return frozenset(document.get(name) or ())


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
