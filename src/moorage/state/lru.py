"""A bounded cache that forgets what was used longest ago."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Lru(Generic[K, V]):
    def __init__(self, limit: int, forget: Callable[[V], None] | None = None) -> None:
        self._limit = limit
        self._forget = forget
        self._items: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        value = self._items.pop(key, None)
        if value is not None:
            self._items[key] = value
        return value

    def put(self, key: K, value: V) -> V:
        self._items[key] = value
        if len(self._items) > self._limit:
            oldest = self._items.pop(next(iter(self._items)))
            if self._forget is not None:
                self._forget(oldest)
        return value

    def discard(self, key: K) -> None:
        self._items.pop(key, None)

    def clear(self) -> None:
        self._items.clear()

    def __iter__(self) -> Iterator[V]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)
