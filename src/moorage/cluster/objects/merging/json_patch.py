"""JSON patches (RFC 6902), with the leniencies of the original API server.

Indices may count from the end, `replace` may add a field, and `add` without a value adds null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.cluster.base.errors import Refusal, bad_request
from moorage.cluster.base.go_text import json_type
from moorage.cluster.objects.merging.depth import refuses_depth

MOST_OPERATIONS = 10_000
MOST_COPIED = 3 * 1024 * 1024  # bytes of JSON that the copy operations of one patch may add

_INDEX = re.compile(r"[+-]?[0-9]{1,18}")
_MISSING = object()
_encode = msgspec.json.Encoder(order="sorted").encode


@refuses_depth
def json_patch(document: Any, operations: Any) -> Any:
    """The document after all operations; what does not change is shared with it."""
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
    if not isinstance(patched.root, dict):
        raise _rejected()
    return patched.root


def _rejected() -> Refusal:
    return Refusal(
        422, "Invalid", "the server rejected our request due to an error in our request", details={}
    )


def _decode(operations: Any) -> list[dict[str, Any]]:
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(operations, "Go value of type []handlers.jsonPatchOp")
    decoded = []
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            raise _undecodable(operation, "Go value of type handlers.jsonPatchOp")
        fields = operation or {}
        for name in ("op", "path", "from"):
            value = fields.get(name)
            if value is not None and not isinstance(value, str):
                raise _undecodable(value, f"Go struct field jsonPatchOp.{name} of type string")
        decoded.append(fields)
    return decoded


def _undecodable(value: Any, into: str) -> Refusal:
    return bad_request(f"error decoding patch: json: cannot unmarshal {json_type(value)} into {into}")


class _Patched:
    """A document being patched: containers are copied before they are first changed."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied_bytes = 0
        self._own: dict[int, Any] = {}
        """Containers made here, which may be changed in place, by identity."""

    def do(self, operation: dict[str, Any]) -> None:
        method: Callable[[dict[str, Any]], None] | None = {
            "add": self._add,
            "remove": self._remove,
            "replace": self._replace,
            "move": self._move,
            "copy": self._copy,
            "test": self._test,
        }.get(operation.get("op") or "")
        if method is None:
            raise _rejected()
        method(operation)

    def _add(self, operation: dict[str, Any]) -> None:
        self._put(_pointer(operation, "path"), operation.get("value"))

    def _remove(self, operation: dict[str, Any]) -> None:
        self._take(_pointer(operation, "path"))

    def _replace(self, operation: dict[str, Any]) -> None:
        pointer, value = _pointer(operation, "path"), operation.get("value")
        if not pointer:
            self.root = value
            return
        container, key = self._place(pointer)
        if isinstance(container, list):
            container[_index(key, len(container))] = value
        else:
            container[key] = value

    def _move(self, operation: dict[str, Any]) -> None:
        value = self._take(_pointer(operation, "from"))
        self._put(_pointer(operation, "path"), value)

    def _copy(self, operation: dict[str, Any]) -> None:
        value = self._get(_pointer(operation, "from"))
        text = _encode(None if value is _MISSING else value)
        self._copied_bytes += len(text)
        if self._copied_bytes > MOST_COPIED:
            raise _rejected()
        self._put(_pointer(operation, "path"), msgspec.json.decode(text))

    def _test(self, operation: dict[str, Any]) -> None:
        pointer = _pointer(operation, "path")
        found = self._get(pointer) if pointer else self.root
        expected = operation.get("value")
        if found is _MISSING or found is None:
            if expected is not None:
                raise _rejected()
        elif _encode(found) != _encode(expected):
            raise _rejected()

    def _get(self, pointer: list[str]) -> Any:
        """The value there, or _MISSING if only the last step leads nowhere in an object."""
        if not pointer:
            raise _rejected()
        value = self.root
        for position, key in enumerate(pointer):
            if isinstance(value, list):
                value = value[_index(key, len(value))]
            elif not isinstance(value, dict):
                raise _rejected()
            elif key in value:
                value = value[key]
            elif position == len(pointer) - 1:
                return _MISSING
            else:
                raise _rejected()
        return value

    def _take(self, pointer: list[str]) -> Any:
        container, key = self._place(pointer)
        if isinstance(container, list):
            return container.pop(_index(key, len(container)))
        if key not in container:
            raise _rejected()
        return container.pop(key)

    def _put(self, pointer: list[str], value: Any) -> None:
        container, key = self._place(pointer)
        if not isinstance(container, list):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            container.insert(_index(key, len(container) + 1), value)

    def _place(self, pointer: list[str]) -> tuple[Any, str]:
        """The container that has or gets what the pointer means, ready to be changed, and the last step."""
        if not pointer:
            raise _rejected()
        self.root = container = self._changeable(self.root)
        for key in pointer[:-1]:
            if isinstance(container, list):
                step: int | str = _index(key, len(container))
            elif key in container:
                step = key
            else:
                raise _rejected()
            container[step] = container = self._changeable(container[step])
        return container, pointer[-1]

    def _changeable(self, value: Any) -> Any:
        if id(value) in self._own:
            return value
        if not isinstance(value, (dict, list)):
            raise _rejected()
        copied = value.copy()
        self._own[id(copied)] = copied
        return copied


def _pointer(operation: dict[str, Any], name: str) -> list[str]:
    """The steps of a JSON pointer; none for the whole document."""
    text = operation.get(name)
    if text is None or (text and "/" not in text):
        raise _rejected()
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def _index(text: str, length: int) -> int:
    if not _INDEX.fullmatch(text):
        raise _rejected()
    index = int(text)
    if not -length <= index < length:
        raise _rejected()
    return index + length if index < 0 else index
