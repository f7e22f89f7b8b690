"""Writes the status of objects, and what has changed of it only."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from moorage.api.meta import Object
from moorage.client.http import HttpClient
from moorage.client.resource_client import ResourceClient

T = TypeVar("T", bound=Object)


class _Written(NamedTuple, Generic[T]):
    on_top_of: str
    """The version of the object that the lister had."""
    item: T


class StatusWriter(Generic[T]):
    """Patches the status of the objects of a kind; Conflict is raised if somebody else was faster."""

    def __init__(self, client: HttpClient, kind: type[T]) -> None:
        self._client = ResourceClient(client, kind)
        self._written: dict[str, _Written[T]] = {}

    def newest(self, listed: T) -> T:
        """A listed object, or what was made of it here, if the lister does not have that yet."""
        written = self._written.get(listed.key)
        if written is None:
            return listed
        if written.on_top_of == listed.metadata.resource_version:
            return written.item
        del self._written[listed.key]
        return listed

    def forget(self, key: str) -> None:
        """The object with this key is gone."""
        self._written.pop(key, None)

    async def write(self, item: T, old: msgspec.Struct, new: msgspec.Struct) -> None:
        """Changes the status of an object that is the newest from `old` to `new`."""
        version = item.metadata.resource_version
        patch = {
            "metadata": {"resourceVersion": version},
            "status": merge_patch(msgspec.to_builtins(old), msgspec.to_builtins(new)),
        }
        answer = await self._client.patch(item.name, patch, namespace=item.namespace, subresource="status")
        before = self._written.get(item.key)
        on_top_of = before.on_top_of if before is not None and before.item is item else version
        self._written[item.key] = _Written(on_top_of, answer)


def merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What makes one document of another: fields that are gone are null."""
    patch: dict[str, Any] = {}
    for name in (*new, *(name for name in old if name not in new)):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            if before != after:
                patch[name] = merge_patch(before, after)
        elif before != after:
            patch[name] = after
    return patch
