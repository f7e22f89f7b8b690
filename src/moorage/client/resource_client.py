"""The objects of one class in an API server, read and written as objects of that class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from moorage.api.decoding import from_document, without_nulls
from moorage.api.meta import Object
from moorage.client.resources import Resource

if TYPE_CHECKING:
    from moorage.client.http import HttpClient, PatchKind

T = TypeVar("T", bound=Object)


class ResourceClient(Generic[T]):
    """Typed access to the objects of a class that says with its class variables where they live.

        licenses = handle.resource_client(License)
        found = await licenses.get("gold", namespace="shop")
        found.spec.seats += 1
        await licenses.update(found)

    What the API server refuses raises ApiError, or a more exact error such as NotFound or Conflict. To follow
    the objects, use a lister.
    """

    def __init__(self, client: HttpClient, kind: type[T]) -> None:
        """Made by the scheduler, not for plugins."""
        self.resource = Resource.of(kind)
        """Where its objects live."""
        self._client = client

    async def get(self, name: str, *, namespace: str = "") -> T:
        """The object of this name; raises NotFound."""
        return await self._client.get(self.resource, name, namespace=namespace)

    async def list(
        self, *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> list[T]:
        """All objects, or those of a namespace."""
        listing = await self._client.list(
            self.resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return listing.items

    async def create(self, item: T) -> T:
        """Makes an object; returns it as the API server has it."""
        return self._typed(await self._client.create(self.resource, document_of(item)))

    async def update(self, item: T) -> T:
        """Writes an object that was read and changed; raises Conflict if somebody else was faster.

        Fields that the class does not have are kept, except within a list that was changed.
        """
        return self._typed(await self._client.update(self.resource, document_of(item)))

    async def update_status(self, item: T) -> T:
        """As `update`, of the status alone."""
        document = document_of(item)
        return self._typed(await self._client.update(self.resource, document, subresource="status"))

    async def patch(
        self,
        name: str,
        patch: Mapping[str, Any] | Sequence[Any],
        *,
        namespace: str = "",
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> T:
        """Changes what the patch says, whatever else the object holds."""
        answer = await self._client.patch(
            self.resource, name, patch, namespace=namespace, kind=kind, subresource=subresource
        )
        return self._typed(answer)

    async def delete(self, name: str, *, namespace: str = "") -> None:
        """Deletes the object of this name; raises NotFound."""
        await self._client.delete(self.resource, name, namespace=namespace)

    def _typed(self, document: dict[str, Any]) -> T:
        return from_document(self.resource.type, document)


def document_of(item: Object) -> dict[str, Any]:
    """An object as the API takes it: what was read, with the fields that have changed since."""
    head = {"apiVersion": item.api_version(), "kind": item.kind}
    if not {"raw", "_source"} & item.__dict__.keys():
        return {**head, **without_nulls(msgspec.to_builtins(item))}
    return {**_changed(item.raw, from_document(type(item), item.raw), item), **head}


def _changed(source: dict[str, Any], old: msgspec.Struct, new: msgspec.Struct) -> dict[str, Any]:
    document = dict(source)
    for field in msgspec.structs.fields(new):
        key, was, now = field.encode_name, getattr(old, field.name), getattr(new, field.name)
        if now == was:
            continue
        inside = document.get(key)
        if isinstance(now, msgspec.Struct) and type(now) is type(was) and isinstance(inside, dict):
            document[key] = _changed(inside, was, now)
        elif now is None:
            document.pop(key, None)
        else:
            document[key] = without_nulls(msgspec.to_builtins(now))
    return document
