"""The client of a real API server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

import msgspec

from moorage.api.decoding import DecodeError, decode
from moorage.api.meta import Object
from moorage.api.pods import Condition, Pod
from moorage.client.connection import ConnectionConfig
from moorage.client.errors import ApiError, Conflict, Gone, NotFound, Unreachable, is_retriable
from moorage.client.local import LocalSession
from moorage.client.rate_limit import DEFAULT_BURST, DEFAULT_QPS, RateLimiter
from moorage.client.resources import Resource
from moorage.client.session import JSON, Session
from moorage.client.watching import Change, Lines, change_of, decoded_or_none

T = TypeVar("T", bound=Object)
PatchKind = Literal["merge", "strategic", "json", "apply"]

PAGE = 500
REQUEST_SECONDS = 60.0
SILENCE_SECONDS = 150.0  # an API server sends a bookmark every minute
STATUS_TRIES = 4
STATUS_DELAY, STATUS_FACTOR, STATUS_JITTER = 0.01, 5.0, 0.1
BIND_CHECK_DELAY, BIND_CHECK_LONGEST_DELAY = 0.1, 5.0

_PODS = Resource.of(Pod)
_PATCH_TYPES: dict[PatchKind, str] = {
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
    given up, and so is a watch that says nothing, not even a bookmark, for `silence_seconds`.
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
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.config = config
        self._sleep = sleep
        self._random = random
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

    async def get(self, resource: Resource[T], name: str, *, namespace: str = "") -> T:
        path = resource.path(namespace, name)
        body = await self._session.send("GET", path)
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
    ) -> Listing[T]:
        """All objects, fetched `limit` at a time. One that cannot be decoded is logged and left out."""
        path = resource.path(namespace)
        params = _given(
            fieldSelector=field_selector, labelSelector=label_selector, resourceVersion=resource_version
        )
        try:
            return await self._list(resource, path, params, limit)
        except Gone:
            if not limit:
                raise
            # The pages that are left belong to a state the server has forgotten: get all in one.
            return await self._list(resource, path, params, 0)

    async def _list(self, resource: Resource[T], path: str, params: dict[str, str], limit: int) -> Listing[T]:
        items: list[T] = []
        paging = {"limit": str(limit)} if limit else {}
        while True:
            page = _read(_read_page, await self._session.send("GET", path, params=params | paging), path)
            for raw in page.items or ():
                # A copy, or each object would keep the whole page in memory.
                item = decoded_or_none(resource, bytes(raw))
                if item is not None:
                    items.append(item)
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
        timeout_seconds: int = 300,
    ) -> AsyncGenerator[Change[T], None]:
        """Changes after a resource version, until the server ends the watch.

        Raises Gone when the version is too old. Who leaves early closes the generator (`aclosing`).
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
        return await self._write(
            "PATCH", path, _encode(patch), content_type=_PATCH_TYPES[kind], params=params
        )

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
        await self._session.send("DELETE", resource.path(namespace, name), _encode(options))

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Puts a pod on a node; raises if the API server refuses."""
        meta = pod.metadata
        body = _encode(
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
                "target": {"kind": "Node", "name": node_name},
            }
        )
        try:
            await self._session.send("POST", _PODS.path(meta.namespace, meta.name, "binding"), body)
        except Unreachable:
            # Without an answer the pod may be bound or not. It keeps its place until that is known.
            if not await self._is_bound(pod, node_name):
                raise

    async def _is_bound(self, pod: Pod, node_name: str) -> bool:
        """Whether a pod has this node, asked until the API server answers."""
        delay = BIND_CHECK_DELAY
        while True:
            try:
                found = await self.get(_PODS, pod.name, namespace=pod.namespace)
                return found.uid == pod.uid and found.spec.node_name == node_name
            except NotFound:
                return False
            except ApiError as error:
                if not is_retriable(error):
                    raise
            await self._sleep(delay * (1 + STATUS_JITTER * self._random()))
            delay = min(2 * delay, BIND_CHECK_LONGEST_DELAY)

    async def delete_pod(self, pod: Pod) -> None:
        """Deletes a pod, with the time it has to end."""
        await self.delete(_PODS, pod.name, namespace=pod.namespace)

    async def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        """Sets a condition of a pod, its nomination ("" clears it), or both; tries up to four times."""
        status: dict[str, Any] = {}
        if condition is not None:
            status["conditions"] = [_condition(condition)]
        if nominated_node is not None:
            status["nominatedNodeName"] = nominated_node or None
        if not status:
            return
        path = _PODS.path(pod.namespace, pod.name, "status")
        body = _encode({"status": status})
        delay = STATUS_DELAY
        for tries_left in reversed(range(STATUS_TRIES)):
            try:
                await self._session.send("PATCH", path, body, content_type=_PATCH_TYPES["strategic"], tries=1)
                return
            except ApiError as error:
                if not tries_left or not (is_retriable(error) or isinstance(error, Conflict)):
                    raise
                wait = max(delay * (1 + STATUS_JITTER * self._random()), error.retry_after or 0.0)
            await self._sleep(wait)
            delay *= STATUS_FACTOR

    async def request_json(
        self, method: str, path: str, body: Any = None, params: Mapping[str, str] | None = None
    ) -> Any:
        """Any other request, with JSON both ways."""
        encoded = None if body is None else _encode(body)
        answer = await self._session.send(method, path, encoded, params=params)
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
        answer = await self._session.send(method, path, body, content_type=content_type, params=params)
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


def _condition(condition: Condition) -> dict[str, Any]:
    # Empty texts are sent too: a merge leaves alone what is not named.
    found: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.last_transition_time is not None:
        found["lastTransitionTime"] = condition.last_transition_time
    if condition.observed_generation:
        found["observedGeneration"] = condition.observed_generation
    return found
