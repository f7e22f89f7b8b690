"""Seeing from outside when pods get their nodes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import TypeVar

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.http import WATCH_SECONDS, HttpClient, Listing
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.client.watching import Change
from tests.controlplane.servers import ControlPlaneError, Program

PATIENCE = 120.0
"""Seconds without any bind or eviction after which a scheduler is given up."""
_LOOK_EVERY = 0.5
_OPENING = 60.0

T = TypeVar("T", bound=Object)


class Binds:
    """When each of the pods was first seen with a node.

    `began` is when the scheduler's work first showed: a pod was bound or, to make room for one, evicted.
    """

    def __init__(self, expected: Collection[str]) -> None:
        self.times: dict[str, float] = {}
        self.began = float("inf")
        self._latest = 0.0
        self._expected = frozenset(expected)
        self._wanted = len(self._expected)
        self._enough = asyncio.Event()

    def look(self, pod: Pod) -> None:
        if pod.name in self._expected and pod.name not in self.times:
            self.times[pod.name] = time.monotonic()
            self.note_work()
            if len(self.times) >= self._wanted:
                self._enough.set()

    def note_work(self) -> None:
        self._latest = time.monotonic()
        self.began = min(self.began, self._latest)

    async def wait(
        self, scheduler: Program, *, count: int | None = None, meanwhile: asyncio.Task[None] | None = None
    ) -> None:
        """Until all are bound, or so many. Raises if the scheduler ends or stalls, or the task fails."""
        self._wanted = len(self._expected) if count is None else count
        if len(self.times) < self._wanted:
            self._enough.clear()
        self._latest = time.monotonic()
        while not self._enough.is_set():
            scheduler.check_running()
            if meanwhile is not None and meanwhile.done():
                meanwhile.result()
            if time.monotonic() - self._latest > PATIENCE:
                waited = f"{scheduler.name} bound no pod for {PATIENCE:.0f} s"
                in_all = f"{len(self.times)} of {self._wanted} in all"
                raise ControlPlaneError(f"{waited}, {in_all}:\n{scheduler.log_end()}")
            try:
                async with asyncio.timeout(_LOOK_EVERY):
                    await self._enough.wait()
            except TimeoutError:
                pass


class _Opening:
    """The client, which notes when a watch has begun: one that is cancelled before leaves a socket open."""

    def __init__(self, client: HttpClient) -> None:
        self.opened = asyncio.Event()
        self._client = client

    async def list(
        self, resource: Resource[T], *, field_selector: str = "", known: Callable[[T], T] = lambda item: item
    ) -> Listing[T]:
        return await self._client.list(resource, field_selector=field_selector, known=known)

    def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        field_selector: str = "",
        timeout_seconds: int = WATCH_SECONDS,
        heard: Callable[[], object] = lambda: None,
    ) -> AsyncGenerator[Change[T], None]:
        def begun() -> None:
            self.opened.set()
            heard()

        return self._client.watch(
            resource,
            resource_version=resource_version,
            field_selector=field_selector,
            timeout_seconds=timeout_seconds,
            heard=begun,
        )


@asynccontextmanager
async def watched(client: HttpClient, expected: Collection[str]) -> AsyncIterator[Binds]:
    """Watches pods that have nodes, from when the block begins."""
    binds = Binds(expected)
    opening = _Opening(client)
    informer = Informer(
        opening,
        Resource.of(Pod),
        added=binds.look,
        updated=lambda old, new: None,
        deleted=lambda pod: binds.note_work(),
        field_selector="spec.nodeName!=",
    )
    watching = asyncio.create_task(informer.run())
    try:
        async with asyncio.timeout(_OPENING):
            await opening.opened.wait()
        yield binds
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
