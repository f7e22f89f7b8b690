"""The client of a real API server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

import msgspec

from moorage.api.decoding import DecodeError, decode
from moorage.api.meta import Object
from moorage.client.connection import ConnectionConfig
from moorage.client.errors import ApiError, Gone
from moorage.client.local import LocalSession
from moorage.client.observer import ClientObserver
from moorage.client.rate_limit import DEFAULT_BURST, DEFAULT_QPS, RateLimiter
from moorage.client.resources import Resource
from moorage.client.session import JSON, RETRY_AFTER_TRIES, Session
from moorage.client.watching import Change, Lines, change_of, decoded_or_none

T = TypeVar("T", bound=Object)
PatchKind = Literal["merge", "strategic", "json", "apply"]

PAGE = 500
REQUEST_SECONDS = 60.0
WATCH_SECONDS = 20
"""How long a watch lasts at most. A server that does not end it and says nothing either is dead."""
SILENCE_SECONDS = 25.0

PATCH_TYPES: dict[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list, and the resource version a watch goes on from."""

    items: list[T]
    resource_version: str


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


_encode = msgspec.json.Encoder().encode
_read_page = msgspec.json.Decoder(_Page).decode


class HttpClient:
    """Reads and writes the objects of a cluster; open for the length of an `async with` block.

    `qps` and `burst` limit all requests but watches. A request that takes longer than `request_seconds` is
    given up, and so is a watch that says nothing, not even a bookmark, for `silence_seconds`. While
    `may_write` says no, writes raise Withheld; it is asked right before the bytes leave.
    """

    def __init__(
        self,
        config: ConnectionConfig,
        *,
        qps: float = DEFAULT_QPS,
        burst: int = DEFAULT_BURST,
        user_agent: str = "moorage",
        request_seconds: float = REQUEST_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
        may_write: Callable[[], bool] | None = None,
        observer: ClientObserver | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.config = config
        self.sleep = sleep
        self.random = random
        self._session: Session | LocalSession
        if config.local is not None:
            self._session = LocalSession(config.local, user_agent)
        else:
            self._session = Session(
                config,
                RateLimiter(qps, burst, sleep=sleep),
                user_agent=user_agent,
                request_seconds=request_seconds,
                silence_seconds=silence_seconds,
                may_write=may_write,
                observer=observer,
                sleep=sleep,
            )

    async def __aenter__(self) -> Self:
        await self._session.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()

    async def get(
        self, resource: Resource[T], name: str, *, namespace: str = "", seconds: float | None = None
    ) -> T:
        path = resource.path(namespace, name)
        body = await self.send("GET", path, seconds=seconds)
        try:
            return decode(resource.type, body)
        except DecodeError as error:
            raise ApiError(200, "", f"GET {path}: {error}") from None

    async def list(
        self,
        resource: Resource[T],
        *,
        namespace: str = "",
        field_selector: str = "",
        label_selector: str = "",
        resource_version: str = "",
        limit: int = PAGE,
        known: Callable[[T], T] = lambda item: item,
    ) -> Listing[T]:
        """All objects, fetched `limit` at a time. One that cannot be decoded is logged and left out.

        `known` may give another object for one that has come, for example the one that is held already:
        while a large list comes in, the new ones need not all be there beside the old.
        """
        path = resource.path(namespace)
        params = _given(
            fieldSelector=field_selector, labelSelector=label_selector, resourceVersion=resource_version
        )
        try:
            return await self._list(resource, path, params, limit, known)
        except Gone:
            if not limit:
                raise
            # The pages that are left belong to a state the server has forgotten: get all in one.
            return await self._list(resource, path, params, 0, known)

    async def _list(
        self,
        resource: Resource[T],
        path: str,
        params: dict[str, str],
        limit: int,
        known: Callable[[T], T],
    ) -> Listing[T]:
        items: list[T] = []
        paging = {"limit": str(limit)} if limit else {}
        while True:
            page = _read(_read_page, await self.send("GET", path, params=params | paging), path)
            for raw in page.items or ():
                # A copy, or each object would keep the whole page in memory.
                item = decoded_or_none(resource, bytes(raw))
                if item is not None:
                    items.append(known(item))
            if not page.metadata.continue_:
                return Listing(items, page.metadata.resource_version)
            paging["continue"] = page.metadata.continue_
            params = {name: value for name, value in params.items() if name != "resourceVersion"}

    async def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        field_selector: str = "",
        label_selector: str = "",
        namespace: str = "",
        timeout_seconds: int = WATCH_SECONDS,
        heard: Callable[[], object] = lambda: None,
    ) -> AsyncGenerator[Change[T], None]:
        """Changes after a resource version, until the server ends the watch.

        Raises Gone when the version is too old. Who leaves early closes the generator (`aclosing`). `heard`
        is called whenever the server says anything, be it only that the watch has begun.
        """
        params = _given(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=resource_version,
            timeoutSeconds=str(timeout_seconds),
            fieldSelector=field_selector,
            labelSelector=label_selector,
        )
        lines = Lines()
        async with aclosing(self._session.stream(resource.path(namespace), params)) as chunks:
            async for chunk in chunks:
                heard()
                for line in lines.feed(chunk):
                    yield change_of(resource, line)

    async def create(
        self,
        resource: Resource[Any],
        document: Mapping[str, Any],
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
    ) -> dict[str, Any]:
        """Makes an object, or posts to a part of the object `name`."""
        path = resource.path(namespace or _meta(document, "namespace"), name, subresource)
        return await self._write("POST", path, _encode(document))

    async def post(self, resource: Resource[Any], document: Mapping[str, Any]) -> None:
        """As `create`, for those who need not know what was made of it."""
        await self.send("POST", resource.path(_meta(document, "namespace")), _encode(document))

    async def update(
        self,
        resource: Resource[Any],
        document: Mapping[str, Any],
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
    ) -> dict[str, Any]:
        """Replaces an object; if the document has a resourceVersion, only that version of it."""
        path = resource.path(
            namespace or _meta(document, "namespace"), name or _meta(document, "name"), subresource
        )
        return await self._write("PUT", path, _encode(document))

    async def patch(
        self,
        resource: Resource[Any],
        name: str,
        patch: Mapping[str, Any] | Sequence[Any],
        *,
        kind: PatchKind = "merge",
        namespace: str = "",
        subresource: str = "",
        field_manager: str = "moorage",
        force: bool = False,
    ) -> dict[str, Any]:
        """Changes an object. `force` takes over fields of others and is for kind "apply" only."""
        params = _given(fieldManager=field_manager, force="true" if force else "")
        path = resource.path(namespace, name, subresource)
        return await self._write("PATCH", path, _encode(patch), content_type=PATCH_TYPES[kind], params=params)

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        *,
        namespace: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
    ) -> None:
        """Deletes an object; with `uid` or `resource_version` only if it is still that one."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        if given := {key: value for key, value in preconditions.items() if value is not None}:
            options["preconditions"] = given
        await self.send("DELETE", resource.path(namespace, name), _encode(options))

    def send(
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
    ) -> Coroutine[Any, Any, bytes]:
        """Any request; the answer as it comes, in JSON or in the form that `accept` names.

        One try may take `seconds`, without its wait for a turn.
        """
        return self._session.send(
            method,
            path,
            body,
            content_type=content_type,
            accept=accept,
            params=params,
            tries=tries,
            seconds=seconds,
        )

    async def request_json(
        self, method: str, path: str, body: Any = None, params: Mapping[str, str] | None = None
    ) -> Any:
        """Any other request, with JSON both ways."""
        encoded = None if body is None else _encode(body)
        answer = await self.send(method, path, encoded, params=params)
        return _read(msgspec.json.decode, answer, path)

    async def _write(
        self,
        method: str,
        path: str,
        body: bytes,
        *,
        content_type: str = JSON,
        params: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        answer = await self.send(method, path, body, content_type=content_type, params=params)
        document: dict[str, Any] = _read(msgspec.json.decode, answer, path)
        return document


R = TypeVar("R")


def _read(reader: Callable[[bytes], R], body: bytes, path: str) -> R:
    try:
        return reader(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = " ".join(body[:100].decode(errors="replace").split())
        raise ApiError(200, "", f"{path}: the answer cannot be read: {error}: {text}") from None


def _given(**params: str) -> dict[str, str]:
    return {name: value for name, value in params.items() if value}


def _meta(document: Mapping[str, Any], field: str) -> str:
    value = (document.get("metadata") or {}).get(field)
    return value if isinstance(value, str) else ""
