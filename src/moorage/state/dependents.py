"""What has to be looked at again when an object comes, changes or goes."""

from __future__ import annotations


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

    def __len__(self) -> int:
        return len(self._by_name)
