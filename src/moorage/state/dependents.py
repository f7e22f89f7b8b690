"""What has to be looked at again when an object comes, changes or goes."""

from __future__ import annotations

from collections.abc import Hashable, MutableMapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def put_count(counts: MutableMapping[K, dict[str, int]], key: K, name: str, count: int) -> None:
    """Sets the count of a name below a key; what counts nothing is left out."""
    names = counts.setdefault(key, {})
    names[name] = count
    if not count:
        del names[name]
    if not names:
        del counts[key]


class Dependents:
    """The keys of what depends on the object of a name; nothing depends on the name ""."""

    def __init__(self) -> None:
        self._by_name: dict[str, set[str]] = {}

    def of(self, name: str) -> list[str]:
        return list(self._by_name.get(name, ()))

    def add(self, name: str, key: str) -> None:
        if name:
            self._by_name.setdefault(name, set()).add(key)

    def remove(self, name: str, key: str) -> None:
        if name:
            group = self._by_name[name]
            group.remove(key)
            if not group:
                del self._by_name[name]

    def put_back(self, name: str, key: str, *, depends: bool) -> None:
        """Makes it so, whether it is or not."""
        if depends:
            self.add(name, key)
        elif name:
            group = self._by_name.get(name, set())
            group.discard(key)
            if not group:
                self._by_name.pop(name, None)

    def __len__(self) -> int:
        return len(self._by_name)
