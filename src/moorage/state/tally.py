"""How often things stand together, as a volume and a node do for every pod that uses it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Tally(Generic[K, V]):
    """Counts of pairs, found by their first part; what is counted no more is forgotten."""

    def __init__(self) -> None:
        self._counts: dict[K, dict[V, int]] = {}
        self._none: Mapping[V, int] = {}

    def of(self, key: K) -> Mapping[V, int]:
        """What stands together with this, and how often."""
        return self._counts.get(key, self._none)

    def add(self, key: K, value: V) -> bool:
        """Whether this is the first time."""
        values = self._counts.setdefault(key, {})
        values[value] = values.get(value, 0) + 1
        return values[value] == 1

    def remove(self, key: K, value: V) -> bool:
        """Whether this was the last time."""
        values = self._counts[key]
        values[value] -= 1
        if values[value]:
            return False
        del values[value]
        if not values:
            del self._counts[key]
        return True

    def __iter__(self) -> Iterator[tuple[K, Mapping[V, int]]]:
        return iter(self._counts.items())
