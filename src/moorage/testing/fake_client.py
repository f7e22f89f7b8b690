"""The client of tests: the real one, whose requests are answered in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from moorage.api.meta import Object
from moorage.client.connection import ConnectionConfig
from moorage.client.errors import ApiError, code_and_reason
from moorage.client.http import PATCH_TYPES, HttpClient
from moorage.client.pod_writer import PodWriter
from moorage.client.resources import Resource
from moorage.client.session import JSON, RETRY_AFTER_TRIES
from moorage.client.watching import Change
from moorage.testing.api_in_memory import Address, ApiInMemory

T = TypeVar("T", bound=Object)

_PATCH_KINDS = {content_type: kind for kind, content_type in PATCH_TYPES.items()}
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_ALL_VERBS = ("get", "list", *_VERBS.values(), "bind")


@dataclass
class _PlannedFailure:
    error: ApiError
    verb: str
    resource: Resource[Any] | None
    times: int

    def concerns(self, verb: str, at: Address) -> bool:
        if self.times <= 0 or self.verb not in ("", verb):
            return False
        return self.resource is None or (self.resource.group, self.resource.plural) == (at.group, at.plural)


class InMemoryHttp(HttpClient):
    """The client of an API server, without the server: `send` asks an `ApiInMemory`."""

    def __init__(self, api: ApiInMemory, sleep: Callable[[float], Awaitable[object]]) -> None:
        super().__init__(ConnectionConfig("http://in-memory.invalid"), sleep=sleep)
        self._api = api
        self.failures: list[_PlannedFailure] = []

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        content_type: str = JSON,
        accept: str = "",
        params: Mapping[str, str] | None = None,
        tries: int = RETRY_AFTER_TRIES,
        seconds: float | None = None,
    ) -> bytes:
        # Others get their turn, as they would while a socket is waited for.
        await asyncio.sleep(0)
        at = Address.of(path)
        self._fail_if_planned(_verb(method, at), at)
        sent = msgspec.json.decode(body) if body else None
        return msgspec.json.encode(self._answer(method, at, sent, content_type, params or {}))

    def _answer(
        self, method: str, at: Address, sent: Any, content_type: str, params: Mapping[str, str]
    ) -> Any:
        if method == "GET":
            labels, fields = params.get("labelSelector", ""), params.get("fieldSelector", "")
            return self._api.read(at, label_selector=labels, field_selector=fields)
        if method == "POST":
            return self._api.create(at, sent)
        if method == "PUT":
            return self._api.update(at, sent)
        if method == "PATCH":
            return self._api.patch(at, _PATCH_KINDS[content_type], sent)
        return self._api.delete(at, sent)

    def _fail_if_planned(self, verb: str, at: Address) -> None:
        for planned in self.failures:
            if planned.concerns(verb, at):
                planned.times -= 1
                raise planned.error

    def watch(self, resource: Resource[T], **options: Any) -> AsyncGenerator[Change[T], None]:
        raise NotImplementedError(f"{resource}: nothing is watched in memory; a lister shows what is written")


class FakeClient(PodWriter):
    """What `handle.client` is in tests: the objects of the test, read and written as in an API server.

    `fail_next` plans errors. `http` is for all other requests; `handle.resource_client` uses it.
    """

    http: InMemoryHttp
    """For any other request."""

    def __init__(self, api: ApiInMemory, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        """Made by `FakeHandle` and `Cycles`."""
        super().__init__(InMemoryHttp(api, sleep))

    def fail_next(
        self,
        error: ApiError | type[ApiError],
        *,
        verb: str = "",
        kind: type[Object] | None = None,
        times: int = 1,
    ) -> None:
        """Has the next request fail, or the next `times`, of all or those with this verb and about this kind.

            handle.client.fail_next(Conflict, verb="update", kind=License)

        Verbs are get, list, create, update, patch, delete and bind. An error class stands for what the API
        server would say; give an error of your own for another text.
        """
        if verb and verb not in _ALL_VERBS:
            raise ValueError(f"fail_next: unknown verb {verb}; known are {', '.join(_ALL_VERBS)}")
        resource = None if kind is None else Resource.of(kind)
        made = error
        if isinstance(made, type):
            made = made(*code_and_reason(made), f"{made.__name__}: the test wants this request to fail")
        self.http.failures.append(_PlannedFailure(made, verb, resource, times))


def _verb(method: str, at: Address) -> str:
    if method == "GET":
        return "get" if at.name else "list"
    return "bind" if at.subresource == "binding" else _VERBS[method]
