"""The rules of volumes whose files the API server's objects are the source of."""

from __future__ import annotations

from moorage.cluster.base.errors import forbidden_value, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.environment import FILE_FIELDS, field_reference, resource_reference
from moorage.cluster.kinds.rules import Found, check_local_path

FILE_MODE_LIMIT = 0o777


def check_mode(mode: int | None, path: str, found: Found) -> None:
    if mode is not None and not 0 <= mode <= FILE_MODE_LIMIT:
        found.append(invalid_value(path, mode, "must be a number between 0 and 0777 (octal), both inclusive"))


def check_key_to_path(item: Document, path: str, found: Found) -> None:
    """Where the value of a key is to be a file."""
    for field in ("key", "path"):
        if not item.get(field):
            found.append(required(f"{path}.{field}"))
    check_local_path(item.get("path", ""), f"{path}.path", found)
    check_mode(item.get("mode"), f"{path}.mode", found)


def check_field_file(file: Document, path: str, found: Found) -> None:
    """A file with a field of the pod or an amount of a resource in it."""
    if not file.get("path"):
        found.append(required(f"{path}.path"))
    check_local_path(file.get("path", ""), f"{path}.path", found)
    if "fieldRef" in file:
        found.extend(field_reference(file["fieldRef"], f"{path}.fieldRef", FILE_FIELDS))
        if "resourceFieldRef" in file:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(invalid_value(path, "resource", detail))
    elif "resourceFieldRef" in file:
        reference, place = file["resourceFieldRef"], f"{path}.resourceFieldRef"
        found.extend(resource_reference(reference, place, in_volume=True))
    else:
        found.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    check_mode(file.get("mode"), f"{path}.mode", found)


def check_projected(source: Document, path: str, found: Found) -> None:
    check_mode(source.get("defaultMode"), f"{path}.defaultMode", found)
    paths: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        place = f"{path}.sources[{index}]"
        given = [
            name for name in ("secret", "configMap", "downwardAPI", "serviceAccountToken") if name in part
        ]
        for name in ("secret", "configMap"):
            if name in part:
                _check_projected_keys(part[name], paths, path, f"{place}.{name}", found)
        for file in part.get("downwardAPI", {}).get("items", ()):
            check_field_file(file, f"{place}.downwardAPI", found)
            _check_taken(file.get("path", ""), paths, path, file.get("path", ""), found)
        if "serviceAccountToken" in part:
            _check_token(part["serviceAccountToken"], path, f"{place}.serviceAccountToken", found)
        if len(given) > 1:
            found.append(forbidden_value(place, "may not specify more than 1 volume type per source"))


def _check_projected_keys(source: Document, paths: set[str], path: str, place: str, found: Found) -> None:
    name = source.get("name", "")
    if not name:
        found.append(required(f"{place}.name"))
    for index, item in enumerate(source.get("items", ())):
        check_key_to_path(item, f"{place}.items[{index}]", found)
        _check_taken(item.get("path", ""), paths, path, name, found)


def _check_taken(target: str, paths: set[str], path: str, shown: str, found: Found) -> None:
    if target:
        if target in paths:
            found.append(invalid_value(path, shown, "conflicting duplicate paths"))
        paths.add(target)


def _check_token(source: Document, path: str, place: str, found: Found) -> None:
    seconds = source.get("expirationSeconds", 0)
    if seconds < 600:
        detail = "may not specify a duration less than 10 minutes"
        found.append(invalid_value(f"{place}.expirationSeconds", seconds, detail))
    if seconds > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        found.append(invalid_value(f"{place}.expirationSeconds", seconds, detail))
    if source.get("path"):
        check_local_path(source["path"], f"{path}.path", found)
    else:
        found.append(required(f"{path}.path"))
