"""The rules of roles: what they allow, and which of them are contained in others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import Any

from moorage.cluster.access.attributes import Attributes
from moorage.cluster.base.quoting import quoted_list
from moorage.cluster.base.store import Document

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
        verbs = self.verbs
        if attributes.verb not in verbs and ANY not in verbs:
            return False
        path = attributes.path
        if path is not None:
            return path in self.urls or path.startswith(self.prefixes)
        groups, resources, subresource = self.groups, self.resources, attributes.subresource
        if attributes.group not in groups and ANY not in groups:
            return False
        return (
            ANY in resources
            or attributes.combined_resource in resources
            or (subresource != "" and f"{ANY}/{subresource}" in resources)
        )

    def covers(self, atom: Atom) -> bool:
        """Whether all that the atom allows is allowed by this rule alone."""
        verb, group, resource, name, url = atom
        if verb not in self.verbs and ANY not in self.verbs:
            return False
        if url is not None:
            return not self.names and (url in self.urls or url.startswith(self.prefixes))
        if group not in self.groups and ANY not in self.groups:
            return False
        if self.names and name not in self.names:
            return False
        subresource = resource.partition("/")[2]
        resources = self.resources
        return (
            ANY in resources
            or resource in resources
            or ("/" in resource and f"{ANY}/{subresource}" in resources)
        )

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


def rules_of(document: Document) -> tuple[Rule, ...]:
    return tuple(map(Rule, document.get("rules") or ()))


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
