"""A copy of a cluster's objects of one kind that is kept current."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

from moorage.api.meta import Object
from moorage.client.errors import ApiError, ConfigurationError, Gone, NotFound
from moorage.client.http import WATCH_SECONDS, Listing
from moorage.client.resources import Resource
from moorage.client.watching import Change

T = TypeVar("T", bound=Object)

FIRST_DELAY, LONGEST_DELAY = 0.8, 30.0
NOT_SERVED_DELAY = 3.2  # a definition may come at any time, and somebody waits for it then
WATCH_JITTER = 3  # so that not all watches end together
SHORT_WATCH_SECONDS = 1.0
ITEMS_AT_ONCE = 500

log = logging.getLogger(__name__)


class ListsAndWatches(Protocol):
    """What an informer asks of a client; HttpClient has it."""

    async def list(
        self, resource: Resource[T], *, field_selector: str = "", known: Callable[[T], T] = ...
    ) -> Listing[T]: ...

    def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        field_selector: str = "",
        timeout_seconds: int = ...,
        heard: Callable[[], object] = ...,
    ) -> AsyncGenerator[Change[T], None]: ...


class Informer(Generic[T]):
    """Lists the objects of a resource, watches them for ever and tells what changes.

    `added(new)`, `updated(old, new)` and `deleted(old)` are called when `by_key` already shows the change.
    What a broken watch missed is found by a new list and told in the same way. `run()` never returns; it
    ends by cancellation. After failures it waits longer and longer; `recovered` is called when they are over.
    """

    def __init__(
        self,
        client: ListsAndWatches,
        resource: Resource[T],
        *,
        added: Callable[[T], object],
        updated: Callable[[T, T], object],
        deleted: Callable[[T], object],
        field_selector: str = "",
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
        recovered: Callable[[], object] = lambda: None,
    ) -> None:
        self.resource = resource
        self.last_error: Exception | None = None
        self._clock = clock
        self._heard_at = clock()
        self._client = client
        self._added = added
        self._updated = updated
        self._deleted = deleted
        self._field_selector = field_selector
        self._sleep = sleep
        self._random = random
        self.by_key: dict[str, T] = {}
        self._version = ""  # where the next watch goes on; "" asks for a new list
        self._heard = False  # whether the running watch was of any use
        self._synced = asyncio.Event()
        self._recovered = recovered
        self._is_failing = False
        self._retry = asyncio.Event()

    @property
    def synced(self) -> bool:
        """Whether the first list has been delivered."""
        return self._synced.is_set()

    @property
    def silence(self) -> float:
        """How many seconds ago the server last said anything."""
        return self._clock() - self._heard_at

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def retry_now(self) -> None:
        """Ends a wait after failures: there are signs that the server is back."""
        self._retry.set()

    async def run(self) -> None:
        delay = FIRST_DELAY
        while True:
            self._heard = False
            try:
                if not self._version:
                    await self._list()
                begun = self._clock()
                await self._watch()
                self._heard |= self._clock() - begun > SHORT_WATCH_SECONDS
                failed = False
            except Exception as error:
                self._note(error)
                failed = not isinstance(error, Gone)
                if isinstance(error, NotFound):
                    delay = min(delay, NOT_SERVED_DELAY)
            if self._heard:
                delay = FIRST_DELAY
            if self._heard and not failed:
                continue
            # A watch that ends at once and says nothing is no better than one that fails.
            self._is_failing = True
            await self._wait(delay * (1 + self._random()))
            delay = min(delay * 2, LONGEST_DELAY)

    async def _wait(self, seconds: float) -> None:
        self._retry.clear()
        ways = [asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._retry.wait())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ways:
                each.cancel()

    def _note(self, error: Exception) -> None:
        was_missing = not self.synced or isinstance(self.last_error, NotFound)
        self.last_error = error
        if isinstance(error, Gone):
            self._version = ""
            log.info("%s: the watch has fallen behind, listing again: %s", self.resource, error)
        elif isinstance(error, NotFound) and was_missing:
            # Whoever waits for it tells so, with what to do about it.
            log.debug("%s: %s", self.resource, error)
        elif isinstance(error, ApiError | ConfigurationError):
            log.warning("%s: %s", self.resource, error)
        else:
            log.error("%s: unexpected error", self.resource, exc_info=error)

    async def _list(self) -> None:
        listing = await self._client.list(
            self.resource, field_selector=self._field_selector, known=self._held
        )
        present = {item.key for item in listing.items}
        for key in [key for key in self.by_key if key not in present]:
            self._remove(key)
        for number, item in enumerate(listing.items, 1):
            self._put(item)
            if number % ITEMS_AT_ONCE == 0 and not self.synced:
                # Nobody relies on the first list before it is whole; probes are answered meanwhile.
                await asyncio.sleep(0)
        self._version = listing.resource_version
        self._note_sign_of_life()
        self._synced.set()

    async def _watch(self) -> None:
        watch = self._client.watch(
            self.resource,
            resource_version=self._version,
            field_selector=self._field_selector,
            timeout_seconds=WATCH_SECONDS - int(WATCH_JITTER * self._random()),
            heard=self._note_sign_of_life,
        )
        async with aclosing(watch) as changes:
            async for change in changes:
                self._heard = True
                if change.type == "DELETED":
                    self._remove(change.key, change.object)
                elif change.object is not None:
                    self._put(change.object)
                self._version = change.resource_version or self._version

    def _note_sign_of_life(self) -> None:
        self._heard_at = self._clock()
        self.last_error = None
        if self._is_failing:
            self._is_failing = False
            self._recovered()

    def _put(self, new: T) -> None:
        if self._held(new) is not new:
            return
        key = new.key
        old = self.by_key.get(key)
        if old is not None and old.uid != new.uid:
            self._remove(key)
            old = None
        self.by_key[key] = new
        if old is None:
            self._call(self._added, new)
        elif old is not new:
            self._call(self._updated, old, new)

    def _held(self, new: T) -> T:
        """The object that was told already, if this is the same version of it: nobody needs it twice."""
        old = self.by_key.get(new.key)
        if old is None or old.metadata.resource_version != new.metadata.resource_version:
            return new
        return old if old.uid == new.uid else new

    def _remove(self, key: str, last: T | None = None) -> None:
        """`last` is the object as it was when it was deleted, where that is known."""
        old = self.by_key.pop(key, None)
        if old is not None:
            self._call(self._deleted, last or old)

    def _call(self, callback: Callable[..., object], *arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception:
            log.exception("%s: a callback failed for %s", self.resource, arguments[-1].key)
