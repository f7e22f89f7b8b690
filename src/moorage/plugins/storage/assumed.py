"""Objects that the scheduler has changed in memory and is about to write, in front of those of the watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from moorage.api.meta import Object
from moorage.framework.listers import Lister

T = TypeVar("T", bound=Object)


class AssumeFailed(Exception):
    """An object that is gone or has changed since the copy was made."""


def changeable(item: T) -> T:
    """A copy whose annotations and fields can be changed; it keeps the whole document that was read."""
    # What `copy` calls, which takes several times as long to find out.
    made: T = item.__copy__()  # type: ignore[attr-defined]
    made.__dict__.update(item.__dict__)
    made.metadata = item.metadata.__copy__()  # type: ignore[attr-defined]
    made.metadata.annotations = dict(item.metadata.annotations)
    return made


class Assumed(Generic[T]):
    """The objects of a lister, each as it was assumed until the watch brings another version of it.

    `follow` is called with the name and namespace of every object that may look different from then on.
    """

    def __init__(self, lister: Lister[T], follow: Callable[[str, str], None] | None = None) -> None:
        self._lister = lister
        self._follow = follow
        self._copies: dict[str, T] = {}
        lister.on_change(
            added=self._changed, updated=lambda old, new: self._changed(new), deleted=self._changed
        )

    def get(self, name: str, *, namespace: str = "") -> T | None:
        stored = self._lister.get(name, namespace=namespace)
        return None if stored is None else self.shown(stored)

    def shown(self, stored: T) -> T:
        """What is assumed instead of an object that the watch brought; itself if nothing is."""
        return self._copies.get(stored.key, stored) if self._copies else stored

    def stored(self, name: str, *, namespace: str = "") -> T | None:
        """The object as the watch brought it."""
        return self._lister.get(name, namespace=namespace)

    def assume(self, item: T) -> None:
        """Shows this copy from now on. Raises AssumeFailed unless it is of the version that is stored."""
        stored = self._lister.get(item.name, namespace=item.namespace)
        if stored is None:
            raise AssumeFailed(self.not_found(item.name, item.namespace))
        version, known = item.metadata.resource_version, stored.metadata.resource_version
        if version != known:
            raise AssumeFailed(f'"{item.key}" is out of sync (stored: {known}, assume: {version})')
        self._copies[item.key] = item
        self._tell(item)

    def restore(self, item: T) -> None:
        """Shows the stored object again, unless what is assumed by now is another version."""
        assumed = self._copies.get(item.key)
        if assumed is not None and assumed.metadata.resource_version == item.metadata.resource_version:
            del self._copies[item.key]
            self._tell(item)

    def not_found(self, name: str, namespace: str = "") -> str:
        key = f"{namespace}/{name}" if namespace else name
        return f'{self._lister.name.resource} "{key}" not found'

    def _changed(self, item: T) -> None:
        """A list that is read again brings the same version once more: it ends nothing."""
        assumed = self._copies.get(item.key)
        if assumed is not None:
            stored = self._lister.get(item.name, namespace=item.namespace)
            if stored is None or stored.metadata.resource_version != assumed.metadata.resource_version:
                del self._copies[item.key]
        self._tell(item)

    def _tell(self, item: T) -> None:
        if self._follow is not None:
            self._follow(item.name, item.namespace)
