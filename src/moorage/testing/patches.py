"""Patches on documents, for the API server that tests have in memory."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import msgspec

from moorage.client.errors import BadRequest, Invalid

Document = dict[str, Any]

_encode = msgspec.json.Encoder(order="sorted").encode

_MERGE_KEYS = {
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""By which field a strategic merge tells the entries of a list apart; other lists are replaced."""


def merge(target: Any, patch: Any) -> Any:
    """A JSON merge patch: null removes, lists are replaced."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def strategic(target: Any, patch: Any) -> Any:
    """A strategic merge patch: as a merge patch, but the lists above are merged entry by entry."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if key.startswith("$"):
            raise _unknown(f"the directive {key} of strategic merge patches")
        if value is None:
            merged.pop(key, None)
        elif key in _MERGE_KEYS and isinstance(value, list):
            merged[key] = _merged_lists(merged.get(key) or [], value, _MERGE_KEYS[key])
        else:
            merged[key] = strategic(merged.get(key), value)
    return merged


def _merged_lists(target: list[Any], patch: list[Any], key: str) -> list[Any]:
    merged = list(target)
    for entry in patch:
        if "$patch" in entry:
            raise _unknown("the directive $patch of strategic merge patches")
        places = [place for place, known in enumerate(merged) if known.get(key) == entry.get(key)]
        if places:
            merged[places[0]] = strategic(merged[places[0]], entry)
        else:
            merged.append(entry)
    return merged


def json_patch(target: Any, operations: Iterable[Any]) -> Any:
    """A JSON patch: operations one after the other, all or none of them."""
    changed = {"": deepcopy(target)}  # the whole is a field itself, so that every path leads into something
    for operation in operations:
        if not isinstance(operation, dict) or "op" not in operation or "path" not in operation:
            raise BadRequest(
                400, "BadRequest", f"a JSON patch operation needs op and path: {operation!r:.80}"
            )
        try:
            _operate(changed, operation)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError):
            # That is all an API server says.
            said = "the server rejected our request due to an error in our request"
            raise Invalid(422, "Invalid", said) from None
    return changed[""]


def _operate(target: Any, operation: Document) -> None:
    name = operation["op"]
    parent, key = _place(target, operation["path"])
    if name == "add":
        _insert(parent, key, deepcopy(operation.get("value")))
    elif name == "replace":
        parent[key if isinstance(parent, dict) else _index(parent, key)] = deepcopy(operation.get("value"))
    elif name == "remove":
        _take_out(parent, key)
    elif name == "test":
        if _encode(_get(parent, key)) != _encode(operation.get("value")):
            raise ValueError("not what the test expects")
    elif name == "copy":
        _insert(parent, key, deepcopy(_get(*_place(target, operation["from"]))))
    elif name == "move":
        value = _take_out(*_place(target, operation["from"]))
        _insert(*_place(target, operation["path"]), value)
    else:
        raise ValueError("unknown operation")


def _place(target: Any, path: str) -> tuple[Any, str]:
    """What holds the value at a path, and under which key."""
    *parts, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    for part in parts:
        target = target[part] if isinstance(target, dict) else target[_index(target, part)]
    if not isinstance(target, dict | list):
        raise TypeError("nothing is in there")
    return target, last


def _index(items: list[Any], key: str) -> int:
    index = int(key)
    if not -len(items) <= index < len(items):
        raise IndexError(key)
    return index


def _get(parent: Any, key: str) -> Any:
    return parent.get(key) if isinstance(parent, dict) else parent[_index(parent, key)]


def _insert(parent: Any, key: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[key] = value
    else:
        place = len(parent) if key == "-" else int(key)
        place = place if place >= 0 else place + len(parent) + 1
        if not 0 <= place <= len(parent):
            raise IndexError(key)
        parent.insert(place, value)


def _take_out(parent: Any, key: str) -> Any:
    return parent.pop(key) if isinstance(parent, dict) else parent.pop(_index(parent, key))


def _unknown(what: str) -> BadRequest:
    return BadRequest(400, "BadRequest", f"{what}: the API server of tests does not know it")
