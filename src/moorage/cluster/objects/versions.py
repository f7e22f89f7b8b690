"""One object under several addresses: as it is stored, and as each of them shows it."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.events import core_to_new, new_to_core
from moorage.cluster.schema.definitions import Definition

_NEW_EVENTS = "events.k8s.io"


def is_stored_form(definition: Definition, document: Document) -> bool:
    """Whether the definition shows the document just as it is stored."""
    return bool(document["apiVersion"] == definition.api_version)


def from_stored(definition: Definition, document: Document) -> Document:
    """The document as the definition's version shows it."""
    if document["apiVersion"] == definition.api_version:
        return document
    if definition.group == _NEW_EVENTS and not definition.custom:
        return core_to_new(document)
    # Versions of a custom resource differ in nothing but their name.
    return {**document, "apiVersion": definition.api_version}


def before_write(definition: Definition, document: Document) -> Document:
    """The stored document as one that is written under the definition's version compares with it."""
    return from_stored(definition, document) if definition.custom else document


def to_stored(definition: Definition, document: Document) -> Document:
    """The document as it is stored. Custom objects get their form when they are in order."""
    if definition.group == _NEW_EVENTS and not definition.custom:
        return new_to_core(document)
    return document
