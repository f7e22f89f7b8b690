"""Read access to any resource of the cluster, custom resources included."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from moorage.api import kinds
from moorage.api.meta import Object
from moorage.framework.plugin_errors import PluginErrors, described
from moorage.framework.runtime.calls import FAILURES
from moorage.state.objects import Objects, Store

T = TypeVar("T", bound=Object)

log = logging.getLogger(__name__)


class ResourceName(NamedTuple):
    group: str
    version: str
    resource: str

    @property
    def event_resource(self) -> str:
        """How a cluster event names this resource: `plural.version.group`."""
        return kinds.dotted(*self)


class Requirement(NamedTuple):
    """A plugin that cannot do without a resource, and how many seconds it waits for the first list."""

    plugin: str
    seconds: float


class Lister(Generic[T]):
    """The objects of one resource, kept up to date."""

    def __init__(self, name: ResourceName, type: type[T], store: Store[T]) -> None:
        self.name = name
        self.type = type
        self.event = kinds.event_resource(*name)
        """How the events of its objects name the resource, whatever type a plugin has for it."""
        self.has_synced = False
        """Whether the first list has arrived."""
        self.requirements: list[Requirement] = []
        """Nothing is scheduled before these are met; whoever runs the scheduler sees to that."""
        self._store = store
        self._errors = PluginErrors()
        self._added: list[Callable[[T], None]] = []
        self._updated: list[Callable[[T, T], None]] = []
        self._deleted: list[Callable[[T], None]] = []

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._store.get(name, namespace)

    def list(self, namespace: str | None = None) -> Collection[T]:
        return self._store.list(namespace)

    def on_change(
        self,
        *,
        added: Callable[[T], None] | None = None,
        updated: Callable[[T, T], None] | None = None,
        deleted: Callable[[T], None] | None = None,
    ) -> None:
        """Has these called with every object that appears, changes (old, new) or goes."""
        self._added += [added] if added else []
        self._updated += [updated] if updated else []
        self._deleted += [deleted] if deleted else []

    def put(self, item: T) -> T | None:
        """Records an object and returns what it replaces; for the door, not for plugins."""
        old = self._store.put(item)
        if old is None:
            self._tell(self._added, item)
        else:
            self._tell(self._updated, old, item)
        return old

    def remove(self, item: T) -> None:
        self._store.remove(item)
        self._tell(self._deleted, item)

    def _tell(self, callbacks: builtins.list[Callable[..., None]], *items: T) -> None:
        for callback in callbacks:
            try:
                callback(*items)
            except FAILURES as error:
                where = getattr(callback, "__qualname__", repr(callback))
                about = f"{self.name.resource} {items[-1].key}"
                author = frozenset({(getattr(callback, "__module__", None) or "").partition(".")[0]})
                self._errors.note(error, where, author, "on_change", object=about)
                said = described(error, author)
                log.error("a plugin failed to take note of %s in %s: %s", about, where, said)


class Listers:
    """The listers that plugins asked for; those of a type show what the state has of it.

    Plugins may have types of their own for one resource: each gets its own view of the objects.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._by_name: dict[ResourceName, dict[type[Object], Lister[Any]]] = {}
        self._by_type: dict[type[Object], Lister[Any]] = {}

    def get(self, group: str, version: str, resource: str, type: type[T]) -> Lister[T]:
        """The objects as that type; who does not ask for one may get those of any."""
        name = ResourceName(group, version, resource)
        views = self._by_name.setdefault(name, {})
        if type is Object and views:
            return next(iter(views.values()))
        found = views.get(type)
        if found is None:
            store: Store[T] = Store() if type is Object else self._objects.of(type)
            found = views[type] = Lister(name, type, store)
            if type is not Object:
                self._by_type[type] = found
        return found

    def of(self, item: Object) -> Lister[Any] | None:
        """The lister for objects like this one, if a plugin asked for it, by their type or without one."""
        kind = item.__class__
        found = self._by_type.get(kind)
        if found is not None:
            return found
        views = self._by_name.get(ResourceName(kind.group, kind.version, kind.resource))
        return None if views is None else views.get(Object)

    def beside(self, item: Object) -> Iterator[Lister[Any]]:
        """The listers that show an object like this one as another type."""
        kind = item.__class__
        views = self._by_name.get(ResourceName(kind.group, kind.version, kind.resource), {})
        used = kind if kind in self._by_type else Object
        return (lister for lister in views.values() if lister.type is not used)

    def set_synced(self) -> None:
        """What a run in memory is given is all there is."""
        for lister in self:
            lister.has_synced = True

    def __iter__(self) -> Iterator[Lister[Any]]:
        return (lister for views in self._by_name.values() for lister in views.values())
