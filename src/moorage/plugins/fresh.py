"""Answers that are kept until what they were computed from changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from moorage.api.likeness import likeness
from moorage.api.pods import Pod
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


class FreshByTemplate(Generic[V]):
    """As Fresh, for what is computed of a pod and is the same for pods that are alike."""

    def __init__(self, limit: int, compute: Callable[[Pod], V]) -> None:
        self._compute = compute
        self._known = Lru[bytes, V](limit)
        self._version: Hashable = None

    def get(self, pod: Pod, version: Hashable = None) -> V:
        if version != self._version:
            self._known.clear()
            self._version = version
        key = likeness(pod)
        found = None if key is None else self._known.get(key)
        if found is None:
            found = self._compute(pod)
            # Computing may have asked for labels that nobody had asked for: then the pod has another key now.
            key = likeness(pod)
            if key is not None:
                self._known.put(key, found)
        return found
