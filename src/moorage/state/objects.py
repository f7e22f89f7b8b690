"""Objects beside nodes and pods that plugins read: namespaces, services, controllers, budgets, storage."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar, cast

from moorage.api.meta import Object
from moorage.api.workloads import Namespace

T = TypeVar("T", bound=Object)

_NO_LABELS: Mapping[str, str] = {}


class Store(Generic[T]):
    """The objects of one kind, by `namespace/name`. `version` changes with every change."""

    def __init__(self) -> None:
        self.version = 0
        self._by_key: dict[str, T] = {}
        self._by_namespace: dict[str, dict[str, T]] = {}
        self._followers: list[Callable[[T | None, T | None], None]] = []

    def follow(self, changed: Callable[[T | None, T | None], None]) -> None:
        """Has this called with every change, as (old or None, new or None), once the store shows it."""
        self._followers.append(changed)

    def put(self, item: T) -> T | None:
        """Keeps an object; returns the one that it replaces."""
        key = item.key
        old = self._by_key.get(key)
        self.version += 1
        self._by_key[key] = item
        self._by_namespace.setdefault(item.namespace, {})[item.name] = item
        for changed in self._followers:
            changed(old, item)
        return old

    def remove(self, item: Object) -> None:
        old = self._by_key.pop(item.key, None)
        if old is None:
            return
        self.version += 1
        group = self._by_namespace[item.namespace]
        del group[item.name]
        if not group:
            del self._by_namespace[item.namespace]
        for changed in self._followers:
            changed(old, None)

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._by_key.get(f"{namespace}/{name}" if namespace else name)

    def list(self, namespace: str | None = None) -> Collection[T]:
        """All objects, or those of one namespace."""
        if namespace is None:
            return self._by_key.values()
        return self._by_namespace.get(namespace, {}).values()

    def __len__(self) -> int:
        return len(self._by_key)


class Objects:
    """A store per kind."""

    def __init__(self) -> None:
        self._stores: dict[type[Object], Store[Object]] = {}

    def of(self, kind: type[T]) -> Store[T]:
        store = self._stores.get(kind)
        if store is None:
            store = self._stores[kind] = Store()
        return cast("Store[T]", store)

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace; none if it is unknown."""
        found = self.of(Namespace).get(name)
        return _NO_LABELS if found is None else found.labels
