"""Where an object lives in the API, by its class, its document, or the name of its kind."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from moorage.api.meta import Object
from moorage.client.http import HttpClient
from moorage.client.resources import Resource

What: TypeAlias = "type[Object] | Object | Mapping[str, Any] | str"
"""A kind, as a class or as kubectl calls it, or one object of it."""

DEFAULT_NAMESPACE = "default"


class Address(NamedTuple):
    resource: Resource[Any]
    namespace: str
    """Empty for kinds that have none."""
    name: str

    def __str__(self) -> str:
        key = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.kind} {key}"


class _Served(NamedTuple):
    resource: Resource[Any]
    names: frozenset[str]
    """What the kind may be called, in small letters."""


class Addresses:
    """Knows all kinds that the API server serves; those that come later are found when they are asked for."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._served: list[_Served] = []

    async def of_one(self, what: What, name: str = "", namespace: str = "") -> Address:
        """Of an object, or of the one of a kind that has this name."""
        address = await self.of(what, name, namespace)
        if not address.name:
            raise ValueError(f"{address.resource.kind}: which one? Give its name")
        return address

    async def of(self, what: What, name: str = "", namespace: str = "") -> Address:
        """As `of_one`, or of all of a kind."""
        if isinstance(what, str):
            resource = await self.kind(what)
        elif isinstance(what, type):
            resource = Resource.of(what)
        else:
            metadata = _metadata(what)
            name = name or metadata.get("name") or ""
            namespace = namespace or metadata.get("namespace") or ""
            resource = (
                Resource.of(type(what)) if isinstance(what, Object) else await self.kind_of_document(what)
            )
        return Address(resource, (namespace or DEFAULT_NAMESPACE) if resource.namespaced else "", name)

    async def kind(self, name: str) -> Resource[Any]:
        """By a name as kubectl takes it: `Deployment`, `deployments`, `deploy`, `deployments.apps`."""
        wanted = name.lower()
        for _ in range(2):
            for served in self._served:
                if wanted in served.names:
                    return served.resource
            await self._discover()
        raise LookupError(f"{name}: the API server serves no such kind; is its definition applied?")

    async def kind_of_document(self, document: Mapping[str, Any]) -> Resource[Any]:
        wanted = (document["apiVersion"], document["kind"])
        for _ in range(2):
            for served in self._served:
                if (served.resource.api_version, served.resource.kind) == wanted:
                    return served.resource
            await self._discover()
        raise LookupError(
            f"{wanted[1]} of {wanted[0]}: the API server serves no such kind; is its definition applied?"
        )

    async def _discover(self) -> None:
        # A definition that has just been written is served after the next turn of the loop.
        await asyncio.sleep(0)
        groups = (await self._client.request_json("GET", "/apis"))["groups"]
        versions = [("", "v1")]
        for group in groups:
            preferred = group["preferredVersion"]["version"]
            others = [each["version"] for each in group["versions"] if each["version"] != preferred]
            versions += [(group["name"], version) for version in (preferred, *others)]
        self._served = [
            served for group, version in versions async for served in self._in_version(group, version)
        ]

    async def _in_version(self, group: str, version: str) -> Any:
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        for entry in (await self._client.request_json("GET", root))["resources"]:
            if "/" not in entry["name"]:
                yield _Served(
                    Resource(group, version, entry["name"], entry["kind"], entry["namespaced"], Object),
                    frozenset(_names(group, version, entry)),
                )


def _names(group: str, version: str, entry: Mapping[str, Any]) -> Iterator[str]:
    plain = (entry["name"], entry["singularName"], entry["kind"], *(entry.get("shortNames") or ()))
    for name in plain:
        yield name.lower()
        if group:
            yield f"{name}.{group}".lower()
            yield f"{name}.{version}.{group}".lower()


def _metadata(what: Object | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(what, Object):
        return {"name": what.name, "namespace": what.namespace}
    metadata: Mapping[str, Any] = what.get("metadata") or {}
    return metadata
