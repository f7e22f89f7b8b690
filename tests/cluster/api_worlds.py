"""An embedded cluster without sockets, asked in this process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from moorage.api.simulated_devices import NO_DEVICES, SimulatedDevices
from moorage.cluster.access.requests import Answer, Request, Stream
from moorage.cluster.access.tokens import generate_key
from moorage.cluster.access.users import User
from moorage.cluster.base.data_file import DataFile
from moorage.cluster.base.store import Document, Store
from moorage.cluster.embedded import ADMIN, EmbeddedCluster, Identity

TOKEN = "the-admin-token"
START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"

_KEY = generate_key()


class Reply(NamedTuple):
    """An answer: its code, its body as a document (or text) and its headers."""

    code: int
    document: Any
    headers: dict[str, str]
    warnings: tuple[str, ...] = ()
    """The texts in headers of that name, as they stand there."""

    @property
    def message(self) -> str:
        return str(self.document.get("message", ""))

    @property
    def names(self) -> list[str]:
        """Of a list: the names in it."""
        return [each["metadata"]["name"] for each in self.document["items"]]


class World:
    """Requests are the administrator's unless another user is given; the clock stands until it is moved."""

    def __init__(
        self,
        *,
        data: DataFile | None = None,
        folder: Path = Path(),
        clock: Callable[[], float] | None = None,
        gates: Iterable[str] = (),
    ) -> None:
        self.now = START
        who = Identity(b"-----BEGIN CERTIFICATE-----\n", _KEY, TOKEN)
        self.cluster = EmbeddedCluster(
            who, data=data, folder=folder, clock=clock or (lambda: self.now), gates=gates
        )

    @property
    def store(self) -> Store:
        return self.cluster.store

    def prepared(self) -> World:
        """With what a fresh cluster has; nothing in it works by itself."""
        self.cluster.prepare()
        self.cluster.writer.create(
            "serviceaccounts", {"metadata": {"name": "default", "namespace": "default"}}
        )
        return self

    def ask(
        self,
        method: str,
        path: str,
        body: Any = b"",
        *,
        content_type: str = "application/json",
        accept: str = "",
        user: User | None = ADMIN,
        headers: Mapping[str, str] | None = None,
        **params: str,
    ) -> Reply:
        answer = self.cluster.handle(
            self._request(method, path, body, content_type, accept, user, headers, params)
        )
        assert isinstance(answer, Answer), f"{method} {path} is answered with a stream"
        as_json = answer.content_type.startswith("application/json")
        content = json.loads(answer.body) if as_json else answer.body.decode()
        warnings = tuple([value for name, value in answer.headers if name == "Warning"])
        return Reply(answer.status, content, dict(answer.headers), warnings)

    def watch(self, path: str, *, accept: str = "", **params: str) -> Watching:
        query = {"watch": "true", **params}
        answer = self.cluster.handle(self._request("GET", path, b"", "", accept, ADMIN, None, query))
        assert isinstance(answer, Stream), f"GET {path} is not answered with a stream: {answer}"
        return Watching(answer)

    def done(self, method: str, path: str, body: Any = b"", **more: Any) -> Any:
        """The document of an answer that must be a good one."""
        reply = self.ask(method, path, body, **more)
        assert reply.code < 300, f"{method} {path}: {reply.code} {reply.document}"
        return reply.document

    def create(self, path: str, document: Document, **params: str) -> Document:
        created: Document = self.done("POST", path, document, **params)
        return created

    def get(self, path: str, **params: str) -> Document:
        found: Document = self.done("GET", path, **params)
        return found

    @staticmethod
    def _request(
        method: str,
        path: str,
        body: Any,
        content_type: str,
        accept: str,
        user: User | None,
        headers: Mapping[str, str] | None,
        params: Mapping[str, str],
    ) -> Request:
        given = {"content-type": content_type, "accept": accept, "user-agent": "test/1", **(headers or {})}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        target = f"{path}?{urlencode(params)}" if params else path
        return Request(
            method, target, {name: [value] for name, value in given.items() if value}, content, user
        )


class Watching:
    """The events of a watch."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._events: list[Document] = []

    async def next(self) -> Document | None:
        """The next event; None when the server has ended the watch."""
        while not self._events:
            try:
                chunk = await anext(self._stream.chunks)
            except StopAsyncIteration:
                return None
            self._events = [json.loads(line) for line in chunk.splitlines()]
        return self._events.pop(0)

    async def take(self, count: int) -> list[tuple[str, str]]:
        """The type and the name of the next events."""
        found = []
        for _ in range(count):
            event = await self.next()
            assert event is not None, "the watch has ended"
            found.append((event["type"], event["object"]["metadata"].get("name", "")))
        return found

    async def rest(self) -> list[Document]:
        """All events up to the end of the watch."""
        found = []
        while (event := await self.next()) is not None:
            found.append(event)
        return found

    async def close(self) -> None:
        await self._stream.close()


@contextlib.asynccontextmanager
async def living(
    folder: Path,
    nodes: list[Document] | None = None,
    *,
    data: DataFile | None = None,
    devices: SimulatedDevices = NO_DEVICES,
    gates: Iterable[str] = (),
) -> AsyncIterator[World]:
    """A world whose controllers and nodes work, in the time of the running loop."""
    loop = asyncio.get_running_loop()
    world = World(data=data, folder=folder, clock=lambda: START + loop.time(), gates=gates)
    await world.cluster.start_unheard(nodes or [], devices)
    try:
        yield world
    finally:
        await world.cluster.stop()


def pod(name: str = "", *, labels: Mapping[str, str] | None = None, **spec: Any) -> Document:
    metadata: Document = {"name": name} if name else {"generateName": "p-"}
    if labels:
        metadata["labels"] = dict(labels)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
    }


def config_map(name: str, *, labels: Mapping[str, str] | None = None, **data: str) -> Document:
    metadata: Document = {"name": name, **({"labels": dict(labels)} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
