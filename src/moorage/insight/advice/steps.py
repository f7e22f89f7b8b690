"""Changes of documents: JSON Patch (RFC 6902) as far as advice needs it, and how one is found.

The operations are add, replace, remove and test.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

Document = dict[str, Any]
Operation = dict[str, Any]


class Address(NamedTuple):
    """Which object a step is about; `namespace` is empty for kinds that have none."""

    kind: str
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def document(self) -> Document:
        place = {"namespace": self.namespace} if self.namespace else {}
        return {"kind": self.kind, **place, "name": self.name}


class Patch(NamedTuple):
    """An object is changed."""

    address: Address
    operations: list[Operation]

    def document(self) -> Document:
        return {"patch": self.address.document(), "operations": self.operations}


class Create(NamedTuple):
    """An object is made."""

    object: Document

    @property
    def address(self) -> Address:
        metadata = self.object["metadata"]
        return Address(self.object["kind"], metadata.get("namespace", ""), metadata["name"])

    def document(self) -> Document:
        return {"create": self.object}


class Delete(NamedTuple):
    """An object goes."""

    address: Address

    def document(self) -> Document:
        return {"delete": self.address.document()}


Step = Patch | Create | Delete


class PatchError(ValueError):
    """An operation that cannot be carried out; the text names it."""


def patched(document: Document, operations: list[Operation]) -> Document:
    """The document after these operations; the one given stays as it is."""
    result: Any = copy.deepcopy(document)
    for operation in operations:
        *way, last = _parts(operation["path"])
        holder = result
        for part in way:
            holder = _inside(holder, part, operation)
        _carry_out(holder, last, operation)
    changed: Document = result
    return changed


def _parts(path: str) -> list[str]:
    if not path.startswith("/"):
        raise PatchError(f"path {path!r} does not begin with a slash")
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _inside(holder: Any, part: str, operation: Operation) -> Any:
    try:
        return holder[int(part)] if isinstance(holder, list) else holder[part]
    except (KeyError, IndexError, ValueError, TypeError):
        raise PatchError(f"{operation['op']} {operation['path']}: there is no such place") from None


def _carry_out(holder: Any, last: str, operation: Operation) -> None:
    kind = operation["op"]
    if kind == "add":
        value = copy.deepcopy(operation["value"])
        if isinstance(holder, list):
            holder.insert(len(holder) if last == "-" else int(last), value)
        else:
            holder[last] = value
        return
    old = _inside(holder, last, operation)
    place: Any = int(last) if isinstance(holder, list) else last
    if kind == "remove":
        del holder[place]
    elif kind == "replace":
        holder[place] = copy.deepcopy(operation["value"])
    elif kind != "test":
        raise PatchError(f"{kind} {operation['path']}: use add, replace, remove or test")
    elif old != operation["value"]:
        raise PatchError(f"test {operation['path']}: the value is another")


def difference(before: Any, after: Any, path: str = "") -> list[Operation]:
    """Operations that make `after` of `before`, as few and small as is easy to tell."""
    if isinstance(before, dict) and isinstance(after, dict):
        return _of_objects(before, after, path)
    if isinstance(before, list) and isinstance(after, list):
        return _of_lists(before, after, path)
    if type(before) is type(after) and before == after:
        return []
    return [{"op": "replace", "path": path, "value": copy.deepcopy(after)}]


def _of_objects(before: Document, after: Document, path: str) -> list[Operation]:
    gone = (key for key in before if key not in after)
    operations: list[Operation] = [{"op": "remove", "path": f"{path}/{_escaped(key)}"} for key in gone]
    for key, value in after.items():
        place = f"{path}/{_escaped(key)}"
        if key in before:
            operations += difference(before[key], value, place)
        else:
            operations.append({"op": "add", "path": place, "value": copy.deepcopy(value)})
    return operations


def _of_lists(before: list[Any], after: list[Any], path: str) -> list[Operation]:
    if len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [operation for i, (old, new) in pairs for operation in difference(old, new, f"{path}/{i}")]
    if len(after) > len(before) and after[: len(before)] == before:
        return [
            {"op": "add", "path": f"{path}/-", "value": copy.deepcopy(new)} for new in after[len(before) :]
        ]
    kept, gone = 0, []
    for place, old in enumerate(before):
        if kept < len(after) and after[kept] == old:
            kept += 1
        else:
            gone.append(place)
    if kept == len(after):
        # From the end on, so that the places before stay what they are.
        return [{"op": "remove", "path": f"{path}/{place}"} for place in reversed(gone)]
    return [{"op": "replace", "path": path, "value": copy.deepcopy(after)}]


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
