"""What tests give a cluster: objects, documents, YAML texts and files, as documents one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from moorage.api.custom_resources.definitions import custom_resource_definition, is_protected
from moorage.api.meta import Object
from moorage.client.resource_client import document_of

__tracebackhide__ = True  # pytest shows the line of the test instead

Document: TypeAlias = dict[str, Any]
Given: TypeAlias = Object | type[Object] | Mapping[str, Any] | str | Path
"""An object, a class for its definition, a document, a YAML text, or a file or folder of YAML files."""

_OF_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: dates stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents_of(given: Given | Iterable[Given]) -> Iterator[Document]:
    """All documents that were meant, without what only a server says about them; lists are opened."""
    if isinstance(given, Object):
        yield _without_server_fields(document_of(given))
    elif isinstance(given, type):
        yield _definition_of(given)
    elif isinstance(given, Mapping):
        yield from _opened(dict(given), "the document")
    elif isinstance(given, str):
        yield from _in_text(given, "the YAML text")
    elif isinstance(given, Path):
        files = sorted(each for each in given.rglob("*") if each.suffix in (".yaml", ".yml", ".json"))
        for file in files if given.is_dir() else [given]:
            yield from _in_text(file.read_text(), str(file))
    else:
        for each in given:
            yield from documents_of(each)


def _definition_of(kind: type[Object]) -> Document:
    approval = kind.api_approved or ("unapproved, for tests only" if is_protected(kind.group) else "")
    return custom_resource_definition(kind, api_approved=approval)


def _in_text(text: str, place: str) -> Iterator[Document]:
    try:
        found = [each for each in yaml.load_all(text, Loader=_Loader) if each is not None]
    except yaml.YAMLError as error:
        raise ValueError(f"{place}: not YAML: {error}") from None
    if not found:
        raise ValueError(f"{place}: holds no object")
    for each in found:
        yield from _opened(each, place)


def _opened(document: Any, place: str) -> Iterator[Document]:
    if not isinstance(document, dict) or not document.get("kind") or not document.get("apiVersion"):
        shown = repr(document)
        hint = "; a file is given as a pathlib.Path" if isinstance(document, str) else ""
        raise ValueError(f"{place}: {shown[:80]} is no object: give it an `apiVersion` and a `kind`{hint}")
    if document["kind"] == "List":
        for item in document.get("items") or ():
            yield from _opened(item, place)
    else:
        yield _without_server_fields(document)


def _without_server_fields(document: Document) -> Document:
    metadata = dict(document.get("metadata") or {})
    return {**document, "metadata": {key: metadata[key] for key in metadata if key not in _OF_SERVER}}
