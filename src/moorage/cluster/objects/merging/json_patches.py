"""The two patches of plain JSON: merge patches (RFC 7386) and lists of operations (RFC 6902).

Operations are done with the leniencies of the original API server: indices may count from the end, `replace`
may add a field, what is not there can be copied and tested as null, and `add` without a value adds null.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import msgspec

from moorage.cluster.base.errors import Refusal, bad_request, rejected
from moorage.cluster.base.go_text import mismatch

MOST_OPERATIONS = 10_000
MOST_COPIED = 3 * 1024 * 1024  # bytes of JSON that the copy operations of one patch may add

_INDEX = re.compile(r"[+-]?[0-9]{1,18}")
_encode = msgspec.json.Encoder(order="sorted").encode


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with a merge patch applied; what does not change is shared with the target.

    A patch of an API object has to be an object itself.
    """
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise _undecodable(patch, "value of type map[string]interface {}")
    try:
        return _merged(target, patch)
    except RecursionError:
        raise bad_request("exceeded max depth") from None


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged


def json_patch(document: Any, operations: Any) -> Any:
    """What a list of operations makes of the document, which stays as it is."""
    decoded = _decode(operations)
    if len(decoded) > MOST_OPERATIONS:
        raise Refusal(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MOST_OPERATIONS}, got {len(decoded)}",
        )
    patched = _Patched(document)
    for operation in decoded:
        patched.do(operation)
    if not isinstance(patched.root[""], dict):
        raise rejected()
    return patched.root[""]


def _decode(operations: Any) -> list[dict[str, Any]]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(operations, "value of type []handlers.jsonPatchOp")
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            raise _undecodable(operation, "value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            value = (operation or {}).get(name)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"struct field jsonPatchOp.{name} of type string")
    return [operation or {} for operation in operations]


def _undecodable(value: Any, wanted: str) -> Refusal:
    return bad_request(f"error decoding patch: {mismatch(value, wanted)}")


class _Patched:
    """A document being patched. It is the field "" of an object, so that all pointers are paths of fields."""

    def __init__(self, document: Any) -> None:
        self.root = {"": deepcopy(document)}
        self._copied_bytes = 0

    def do(self, operation: dict[str, Any]) -> None:
        value = deepcopy(operation.get("value"))
        path = _steps(operation, "path")
        match operation.get("op"):
            case "add":
                self._add(path, value)
            case "remove":
                self._remove(path)
            case "replace":
                container, key = self._place(path)
                container[key] = value
            case "move":
                self._add(path, self._remove(_steps(operation, "from")))
            case "copy":
                self._copy(_steps(operation, "from"), path)
            case "test":
                if _encode(self._get(path)) != _encode(value):
                    raise rejected()
            case _:
                raise rejected()

    def _add(self, path: list[str], value: Any) -> None:
        container, key = self._place(_inside(path), room=1)
        if isinstance(container, list):
            container.insert(key, value)
        else:
            container[key] = value

    def _remove(self, path: list[str]) -> Any:
        container, key = self._place(_inside(path))
        if isinstance(container, dict) and key not in container:
            raise rejected()
        return container.pop(key)

    def _copy(self, source: list[str], path: list[str]) -> None:
        text = _encode(self._get(_inside(source)))
        self._copied_bytes += len(text)
        if self._copied_bytes > MOST_COPIED:
            raise rejected()
        self._add(path, msgspec.json.decode(text))

    def _get(self, path: list[str]) -> Any:
        """The value there; null where only the last step leads nowhere in an object."""
        container, key = self._place(path)
        return container.get(key) if isinstance(container, dict) else container[key]

    def _place(self, path: list[str], *, room: int = 0) -> tuple[Any, Any]:
        """The object or list that has or gets what a path leads to, and the key or index there."""
        container: Any = self.root
        for step in path[:-1]:
            key = _key(container, step)
            if isinstance(container, dict) and key not in container:
                raise rejected()
            container = container[key]
            if not isinstance(container, (dict, list)):
                raise rejected()
        return container, _key(container, path[-1], room)


def _steps(operation: dict[str, Any], name: str) -> list[str]:
    """The steps of a JSON pointer, from the one to the document itself."""
    text = operation.get(name)
    if text is None or (text and "/" not in text):
        raise rejected()
    return ["", *(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])]


def _inside(path: list[str]) -> list[str]:
    """Refuses what can be done only inside a document for the whole of it."""
    if len(path) == 1:
        raise rejected()
    return path


def _key(container: Any, step: str, room: int = 0) -> str | int:
    if isinstance(container, dict):
        return step
    length = len(container) + room
    if room and step == "-":
        return length
    index = int(step) if _INDEX.fullmatch(step) else length
    if not -length <= index < length:
        raise rejected()
    return index % length
