"""Following objects from a thread that waits for something: woken by a watch, never polling."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import aclosing
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from moorage.api.meta import Object
from moorage.client.resources import Resource
from moorage.testing.clusters.parts import Parts

T = TypeVar("T", bound=Object)

_WATCH_SECONDS = 3600


class Seen(NamedTuple, Generic[T]):
    """An object as it was at some time. It is the last that was seen of it if `deleted`."""

    item: T
    deleted: bool


class Following(Generic[T]):
    """The objects of a resource, as they are and then with every change, for the length of a `with` block.

    `seen` yields each of them, and None when all that were there have been seen; it ends when the time is
    over. A selection by name or namespace makes it cheaper.
    """

    def __init__(self, parts: Parts, resource: Resource[T], *, namespace: str = "", name: str = "") -> None:
        self._parts = parts
        self._resource = resource
        self._namespace = namespace
        self._selector = f"metadata.name={name}" if name else ""
        self._queue: SimpleQueue[Seen[T] | Exception | None] = SimpleQueue()

    def __enter__(self) -> Self:
        self._following = self._parts.submit(self._follow())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._following.cancel()

    def seen(self, seconds: float) -> Iterator[Seen[T] | None]:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                found = self._queue.get(timeout=left)
            except Empty:
                return
            if isinstance(found, Exception):
                raise found
            yield found

    async def _follow(self) -> None:
        try:
            await self._list_and_watch()
        except Exception as error:
            self._queue.put(error)

    async def _list_and_watch(self) -> None:
        client, resource = self._parts.client, self._resource
        listing = await client.list(resource, namespace=self._namespace, field_selector=self._selector)
        for item in listing.items:
            self._queue.put(Seen(item, False))
        self._queue.put(None)
        watch = client.watch(
            resource,
            resource_version=listing.resource_version,
            namespace=self._namespace,
            field_selector=self._selector,
            timeout_seconds=_WATCH_SECONDS,
        )
        async with aclosing(watch) as changes:
            async for change in changes:
                if change.object is not None:
                    self._queue.put(Seen(change.object, change.type == "DELETED"))
