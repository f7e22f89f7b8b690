"""A change in the making: edited documents, objects that are made and objects that go."""

from __future__ import annotations

import copy

from moorage.api.meta import Object
from moorage.insight.advice.steps import Address, Create, Delete, Document, Patch, Step, difference


def address_of(item: Object) -> Address:
    return Address(item.kind, item.namespace if item.namespaced else "", item.name)


class Draft:
    """What remedies edit. The objects themselves stay as they are."""

    def __init__(self) -> None:
        self._before: dict[Address, Object] = {}
        self._after: dict[Address, Document] = {}
        self._created: list[Document] = []
        self._gone: dict[Address, Object] = {}

    def edit(self, item: Object) -> Document:
        """The document of an object, to be changed in place."""
        address = address_of(item)
        if address not in self._after:
            self._before[address] = item
            self._after[address] = copy.deepcopy(item.raw)
        return self._after[address]

    def create(self, document: Document) -> None:
        self._created.append(document)

    def delete(self, item: Object) -> None:
        self._gone[address_of(item)] = item

    def steps(self) -> list[Step]:
        """The change as steps, those of the pod itself and of other objects before what is made or goes."""
        patches = [
            Patch(address, operations)
            for address, document in self._after.items()
            if (operations := difference(self._before[address].raw, document))
        ]
        return [*patches, *map(Create, self._created), *map(Delete, self._gone)]

    def touches(self, item: Object) -> bool:
        """Whether the object is changed."""
        address = address_of(item)
        return address in self._after and self._after[address] != self._before[address].raw


def part(document: Document, *names: str) -> Document:
    """A part of a document that is an object, made where it is missing or null."""
    for name in names:
        if not isinstance(document.get(name), dict):
            document[name] = {}
        document = document[name]
    return document


def items(document: Document, name: str) -> list[Document]:
    """A list in a document; an empty one, which is not kept, where it is missing or null."""
    found = document.get(name)
    return found if isinstance(found, list) else []


def drop_if_empty(document: Document, name: str, *further: str) -> None:
    """Takes out what a change left empty, from the inside out."""
    inside = document.get(name)
    if further and isinstance(inside, dict):
        drop_if_empty(inside, *further)
    if inside in ({}, []):
        del document[name]
