"""Writing claims: to an API server, or where there is none to the scheduler's own memory."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Protocol

from moorage.api.decoding import from_document
from moorage.api.devices import ResourceClaim
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod
from moorage.client.errors import ApiError, Conflict, NotFound
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.framework.door import Door
from moorage.plugins.devices import parameters

Document = dict[str, Any]

_CLAIMS = Resource.of(ResourceClaim)
_PODS = Resource.of(Pod)


class ClaimWrites(Protocol):
    """Each method returns the claim as it is from then on, and raises ApiError."""

    async def get(self, claim: ResourceClaim) -> ResourceClaim: ...

    async def create(self, document: Document) -> ResourceClaim: ...

    async def update(self, document: Document) -> ResourceClaim: ...

    async def update_status(self, document: Document, *, keeps_allocation: bool = False) -> ResourceClaim:
        """`keeps_allocation` says that the claim is allocated already, which nobody may change."""

    async def unreserve(self, claim: ResourceClaim, consumer: Pod | PodGroup) -> ResourceClaim:
        """Takes the consumer out of those that this version of the claim is reserved for."""

    async def delete(self, claim: ResourceClaim) -> None: ...

    async def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None: ...


class ClaimsOfServer:
    """In an API server."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    async def get(self, claim: ResourceClaim) -> ResourceClaim:
        return await self._http.get(_CLAIMS, claim.name, namespace=claim.namespace)

    async def create(self, document: Document) -> ResourceClaim:
        return _typed(await self._http.create(_CLAIMS, document))

    async def update(self, document: Document) -> ResourceClaim:
        if parameters.in_spec(document):
            document = await self._exact(document)
        return _typed(await self._http.update(_CLAIMS, document))

    async def update_status(self, document: Document, *, keeps_allocation: bool = False) -> ResourceClaim:
        if keeps_allocation and parameters.in_allocation(document):
            document = await self._exact(document)
        return _typed(await self._http.update(_CLAIMS, document, subresource="status"))

    async def _exact(self, document: Document) -> Document:
        """The document with parameters that the API server finds unchanged."""
        meta = document["metadata"]
        path = _CLAIMS.path(meta["namespace"], meta["name"])
        try:
            stored = await self._http.send("GET", path, accept=parameters.PROTOBUF)
        except ApiError as error:
            if error.code == HTTPStatus.NOT_ACCEPTABLE:
                return document  # who knows no protobuf, as `moorage up`, has no other bytes than it shows
            raise
        return parameters.with_those_of(document, stored)

    async def unreserve(self, claim: ResourceClaim, consumer: Pod | PodGroup) -> ResourceClaim:
        reserved = [{"$patch": "delete", "uid": consumer.uid}]
        # One that arrives late must not end the reservation of the next attempt.
        meta = {"uid": claim.uid, "resourceVersion": claim.metadata.resource_version}
        patch = {"metadata": meta, "status": {"reservedFor": reserved}}
        return _typed(
            await self._http.patch(
                _CLAIMS, claim.name, patch, namespace=claim.namespace, kind="strategic", subresource="status"
            )
        )

    async def delete(self, claim: ResourceClaim) -> None:
        await self._http.delete(_CLAIMS, claim.name, namespace=claim.namespace)

    async def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        patch = {"metadata": {"uid": pod.uid}, "status": dict(status)}
        await self._http.patch(
            _PODS, pod.name, patch, namespace=pod.namespace, kind="strategic", subresource="status"
        )


class ClaimsInMemory:
    """In the scheduler's own listers, as an API server would have done it; for runs without a cluster."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._made = 0

    async def get(self, claim: ResourceClaim) -> ResourceClaim:
        return self._stored(claim.name, claim.namespace)

    async def create(self, document: Document) -> ResourceClaim:
        self._made += 1
        meta = document["metadata"]
        name = f"{meta['generateName']}{self._made - 1:05d}"
        uid = f"00000000-0000-4000-a000-{self._made:012d}"
        return self._put({**document, "metadata": {**meta, "name": name, "uid": uid, "resourceVersion": "1"}})

    async def update(self, document: Document) -> ResourceClaim:
        stored = self._current(document)
        return self._put(_next({**document, "status": stored.raw.get("status", {})}))

    async def update_status(self, document: Document, *, keeps_allocation: bool = False) -> ResourceClaim:
        stored = self._current(document)
        return self._put(_next({**stored.raw, "status": document.get("status", {})}))

    async def unreserve(self, claim: ResourceClaim, consumer: Pod | PodGroup) -> ResourceClaim:
        stored = self._current(claim.raw).raw
        status = stored.get("status", {})
        left = [each for each in status.get("reservedFor") or () if each.get("uid") != consumer.uid]
        return self._put(_next({**stored, "status": {**status, "reservedFor": left}}))

    async def delete(self, claim: ResourceClaim) -> None:
        self._door.remove(self._stored(claim.name, claim.namespace))

    async def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        """Of what is written of pods here, nobody reads anything."""

    def _stored(self, name: str, namespace: str) -> ResourceClaim:
        found = self._door.state.objects.of(ResourceClaim).get(name, namespace)
        if found is None:
            raise NotFound(404, "NotFound", f'resourceclaims.resource.k8s.io "{name}" not found')
        return found

    def _current(self, document: Document) -> ResourceClaim:
        meta = document["metadata"]
        stored = self._stored(meta["name"], meta["namespace"])
        if stored.metadata.resource_version != meta.get("resourceVersion", ""):
            raise Conflict(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "{stored.name}": '
                "the object has been modified; please apply your changes to the latest version and try again",
            )
        return stored

    def _put(self, document: Document) -> ResourceClaim:
        made = _typed(document)
        self._door.put(made)
        return made


def _typed(document: Document) -> ResourceClaim:
    return from_document(ResourceClaim, document)


def _next(document: Document) -> Document:
    meta = document["metadata"]
    version = str(int(meta.get("resourceVersion") or 0) + 1)
    return {**document, "metadata": {**meta, "resourceVersion": version}}
