"""How a scheduler in the same process reads and writes: what it writes for every pod takes a short way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.api.coordination import Event
from moorage.api.pods import Pod
from moorage.client.connection import ConnectionConfig
from moorage.client.crossing import Crossing
from moorage.client.errors import ApiError, error_of
from moorage.client.http import HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.client.resources import Resource
from moorage.cluster.access.write_options import Options
from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.binding import bind
from moorage.cluster.objects.decoding import read_json, shape, to_stored
from moorage.cluster.objects.writes import Objects
from moorage.cluster.serving.rendering import encode

_EVENTS = Resource.of(Event)


class SchedulerClient:
    """Binds pods and creates events as the API server does, without making requests of them.

    All else that a scheduler writes is a request of `http`.
    """

    def __init__(
        self, connection: ConnectionConfig, objects: Objects, crossing: Crossing, *, user_agent: str
    ) -> None:
        self.http = HttpClient(connection, user_agent=user_agent)
        self._pods = PodWriter(self.http)
        self.write_pod_status, self.delete_pod = self._pods.write_pod_status, self._pods.delete_pod
        self.patch, self.request_json = self.http.patch, self.http.request_json
        self._objects = objects
        self._call = crossing.call
        definition = objects.definitions.find(_EVENTS.group, _EVENTS.version, _EVENTS.plural)
        assert definition is not None
        self._events = definition

    async def bind(self, pod: Pod, node_name: str) -> None:
        binding = {"metadata": {"uid": pod.uid}, "target": {"kind": "Node", "name": node_name}}
        try:
            if not await self._call(self._bind, pod.namespace, pod.name, binding):
                await self._pods.bind(pod, node_name)
        except Refusal as refusal:
            raise _as_error(refusal) from None

    def _bind(self, namespace: str, name: str, binding: dict[str, Any]) -> bool:
        """Says whether it could be done without asking others, who would be asked about a request."""
        if not self._objects.hooks.is_idle:
            return False
        bind(self._objects, namespace, name, binding)
        return True

    async def create(
        self, resource: Resource[Any], document: Mapping[str, Any], **where: str
    ) -> dict[str, Any]:
        if resource != _EVENTS:
            return await self.http.create(resource, document, **where)
        try:
            metadata = await self._call(self._create_event, encode(document), where.get("namespace", ""))
        except Refusal as refusal:
            raise _as_error(refusal) from None
        if metadata is None:
            return await self.http.create(resource, document, **where)
        return {**document, "metadata": metadata}

    async def post(self, resource: Resource[Any], document: Mapping[str, Any]) -> None:
        await self.create(resource, document)

    def _create_event(self, document: bytes, namespace: str) -> dict[str, Any] | None:
        """The metadata of the event; None if others are to be asked about it."""
        if not self._objects.hooks.is_idle:
            return None
        # Written and read again: what is stored is nobody else's, and can be sent.
        options = Options()
        event = to_stored(self._events, shape(self._events, read_json(document), options))
        place = namespace or event["metadata"].get("namespace", "")
        return dict(self._objects.create(self._events, place, event, options).document["metadata"])


def _as_error(refusal: Refusal) -> ApiError:
    return error_of(encode(refusal.document()), code=refusal.code)
