"""Reading Kubernetes manifests: files, folders and streams of YAML or JSON documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml

from moorage.api.decoding import DecodeError, from_document
from moorage.api.meta import Object
from moorage.cli.setup import BadInput, read_input
from moorage.contrib.objects import kind_of

Document = dict[str, Any]
T = TypeVar("T", bound=Object)

_ENDINGS = (".yaml", ".yml", ".json")
_MAX_DEPTH = 500
_OF_KIND: dict[str, Document] = {"StorageClass": {"volumeBindingMode": "Immediate"}}


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: dates stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_manifests(path: str, also: Iterable[type[Object]] = ()) -> list[Object]:
    """The objects in a file, in all files of a folder, or on standard input (`-`).

    Lists are opened, and Deployments and the like left out; only kinds a scheduler looks at are kept, and
    those that are asked for `also`.
    """
    others_by_name = {(kind.api_version(), kind.kind): kind for kind in also}
    objects: list[Object] = []
    others: set[str] = set()
    for place, document in documents_in(path):
        kind = kind_of(document) or others_by_name.get((document.get("apiVersion", ""), document["kind"]))
        if kind is not None:
            objects.append(read_object(kind, document, place))
        else:
            others.add(document["kind"])
    if not objects:
        found = f"nothing a scheduler looks at, only {', '.join(sorted(others))}" if others else "no object"
        raise BadInput(f"{path}: holds {found}; give manifests of nodes and pods")
    return objects


def check_unique(given: Iterable[tuple[str, Object]]) -> None:
    """Refuses an object that is given twice: by name, or by a uid that was copied along."""
    seen: dict[tuple[str, str], tuple[str, Object]] = {}
    for place, item in given:
        for what, value in (("name", item.key), ("uid", item.uid)):
            first, known = seen.setdefault((f"{item.kind} {what}", value), (place, item))
            if known is not item:
                also = "" if first == place else f" in {first}"
                what = "is given twice" if what == "name" else f"has the uid of {known.key}"
                raise BadInput(f"{place}: {item.kind} {item.key} {what}{also}; leave one out or change it")


def read_object(kind: type[T], document: Document, place: str) -> T:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise BadInput(f"{place}: this {kind.kind} has no name; give it a `metadata` with a `name`")
    try:
        return from_document(kind, with_defaults(document, kind))
    except (DecodeError, RecursionError) as error:
        raise BadInput(f"{place}: {error}") from None


def with_defaults(document: Document, of_kind: type[Object] | None = None) -> Document:
    """What a cluster would have filled in: namespace, uid, requests from limits, the phase of a volume."""
    metadata = dict(document.get("metadata") or {})
    kind, known = str(document.get("kind")), of_kind or kind_of(document)
    if known is not None and known.namespaced:
        metadata.setdefault("namespace", "default")
    metadata.setdefault("uid", f"{kind}/{metadata.get('namespace', '')}/{metadata.get('name', '')}")
    completed = {**_OF_KIND.get(kind, {}), **document, "metadata": metadata}
    spec = document.get("spec")
    if kind == "PersistentVolume" and isinstance(spec, dict) and not document.get("status"):
        completed["status"] = {"phase": "Bound" if spec.get("claimRef") else "Available"}
    if kind == "Pod" and isinstance(spec, dict):
        completed["spec"] = {
            **spec,
            **{
                part: [_with_requests(container) for container in spec[part]]
                for part in ("containers", "initContainers")
                if isinstance(spec.get(part), list)
            },
        }
    return completed


def _with_requests(container: Any) -> Any:
    resources = container.get("resources") if isinstance(container, dict) else None
    if not isinstance(resources, dict):
        return container
    limits, requests = resources.get("limits"), resources.get("requests") or {}
    if not isinstance(limits, dict) or not isinstance(requests, dict):
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **requests}}}


def documents_in(path: str) -> Iterator[tuple[str, Document]]:
    """The documents of a file, a folder or standard input, each with the place to report it under."""
    folder = Path(path)
    if path != "-" and folder.is_dir():
        files = sorted(file for file in folder.rglob("*") if file.suffix in _ENDINGS and file.is_file())
        if not files:
            raise BadInput(f"{path}: no manifests in this folder; put files ending in .yaml or .json there")
        for file in files:
            yield from _in_file(str(file))
    else:
        yield from _in_file(path)


def _in_file(path: str) -> Iterator[tuple[str, Document]]:
    text, name = read_input(path)
    try:
        _check_depth(text, name)
        for number, document in enumerate(yaml.load_all(text, Loader=_Loader), 1):
            if document is not None:
                yield from _opened(document, name if number == 1 else f"{name}, document {number}")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BadInput(f"{name}:{where} not YAML: {problem}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name}: not YAML: {str(error).splitlines()[0]}") from None


def _check_depth(text: bytes, name: str) -> None:
    """Refuses what the loader, which is written in C, would not survive."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                mark = event.start_mark
                where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"
                raise BadInput(f"{name}: {where}: not YAML: nested deeper than {_MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _opened(document: Any, place: str) -> Iterator[tuple[str, Document]]:
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or not kind:
        raise BadInput(f"{place}: not a Kubernetes object; give it an `apiVersion` and a `kind`")
    if not kind.endswith("List"):
        yield place, document
        return
    items = document.get("items") or []
    if not isinstance(items, list):
        raise BadInput(f"{place}: `items` of this {kind} is not a list")
    version = {key: document[key] for key in ("apiVersion",) if key in document}
    for number, item in enumerate(items):
        # Lists of one kind, as the API server sends them, leave it out in their items.
        if isinstance(item, dict) and kind != "List":
            item = {**version, "kind": kind.removesuffix("List"), **item}
        yield from _opened(item, f"{place}, items[{number}]")
