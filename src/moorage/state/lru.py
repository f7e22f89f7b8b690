"""A bounded cache that forgets what was used longest ago."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    """Keeps at most `limit` values, from one `trim` to the next; `put` trims unless told to leave it."""

    def __init__(
        self, limit: int, forget: Callable[[V], None] | None = None, *, trim_on_put: bool = True
    ) -> None:
        self._limit = limit
        self._trim_on_put = trim_on_put
        self._forget = forget
        self._items: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        value = self._items.pop(key, None)
        if value is not None:
            self._items[key] = value
        return value

    def put(self, key: K, value: V) -> V:
        self._items[key] = value
        if self._trim_on_put:
            self.trim()
        return value

    def trim(self) -> bool:
        """Forgets what is too much; returns whether anything was."""
        trimmed = False
        while len(self._items) > self._limit:
            trimmed = True
            oldest = self._items.pop(next(iter(self._items)))
            if self._forget is not None:
                self._forget(oldest)
        return trimmed

    def discard(self, key: K) -> None:
        self._items.pop(key, None)

    def clear(self) -> None:
        self._items.clear()

    def __iter__(self) -> Iterator[V]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)
