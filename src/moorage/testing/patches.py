"""Patches on documents, for the API server that tests have in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from moorage.client.errors import BadRequest, Invalid

Document = dict[str, Any]

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
    for operation in operations:
        if not isinstance(operation, dict) or "op" not in operation or "path" not in operation:
            raise BadRequest(
                400, "BadRequest", f"a JSON patch operation needs op and path: {operation!r:.80}"
            )
        target = _operated(target, operation)
    return target


def _operated(target: Any, operation: Document) -> Any:
    name, path = operation["op"], _parts(operation["path"])
    if name in ("add", "replace"):
        return _at(target, path, _put(operation.get("value"), inserts=name == "add"))
    if name == "remove":
        return _at(target, path, _without)
    if name == "test":
        if _found(target, path) != operation.get("value"):
            raise _impossible(f"testing value {operation['path']} failed")
        return target
    if name in ("copy", "move"):
        origin = _parts(operation.get("from", ""))
        value = _found(target, origin)
        if name == "move":
            target = _at(target, origin, _without)
        return _at(target, path, _put(value, inserts=True))
    raise BadRequest(400, "BadRequest", f"unknown JSON patch operation {name!r}")


def _parts(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _found(target: Any, path: list[str]) -> Any:
    for part in path:
        try:
            target = target[int(part) if isinstance(target, list) else part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise _impossible(f"there is nothing at /{'/'.join(path)}") from None
    return target


def _at(target: Any, path: list[str], change: Callable[[Any, str], Any]) -> Any:
    """A copy of the target in which the parent of the path is changed."""
    head, *rest = path or [""]
    if not rest:
        return change(target, head)
    inside = _at(_found(target, [head]), rest, change)
    if isinstance(target, list):
        return [inside if place == int(head) else item for place, item in enumerate(target)]
    return {**target, head: inside}


def _put(value: Any, *, inserts: bool) -> Callable[[Any, str], Any]:
    def changed(parent: Any, key: str) -> Any:
        if not inserts:
            _found(parent, [key])
        if isinstance(parent, dict):
            return {**parent, key: value}
        if not isinstance(parent, list):
            raise _impossible(f"{key} cannot be put into {type(parent).__name__}")
        place = len(parent) if key == "-" else int(key)
        return [*parent[:place], value, *parent[place if inserts else place + 1 :]]

    return changed


def _without(parent: Any, key: str) -> Any:
    _found(parent, [key])
    if isinstance(parent, dict):
        return {name: value for name, value in parent.items() if name != key}
    return [item for place, item in enumerate(parent) if place != int(key)]


def _impossible(why: str) -> Invalid:
    return Invalid(422, "Invalid", f"the server rejected our request due to an error in our request: {why}")


def _unknown(what: str) -> BadRequest:
    return BadRequest(400, "BadRequest", f"{what}: the API server of tests does not know it")
