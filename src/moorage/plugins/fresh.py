"""Answers that are kept until what they were computed from changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from moorage.state.lru import Lru

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Fresh(Generic[K, V]):
    """A bounded cache of `compute(key)` that is emptied whenever the version it is asked for changes."""

    def __init__(self, limit: int, compute: Callable[[K], V]) -> None:
        self._compute = compute
        self._known = Lru[K, V](limit)
        self._version: Hashable = None

    def get(self, key: K, version: Hashable) -> V:
        if version != self._version:
            self._known.clear()
            self._version = version
        found = self._known.get(key)
        return self._known.put(key, self._compute(key)) if found is None else found

    def __len__(self) -> int:
        return len(self._known)
