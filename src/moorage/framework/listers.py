"""Read access to any resource of the cluster, custom resources included."""

from __future__ import annotations

import builtins
import logging
import time
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from moorage.api import kinds
from moorage.api.meta import Object
from moorage.framework.plugin_errors import PluginErrors, described
from moorage.framework.runtime.calls import FAILURES
from moorage.framework.runtime.hung_calls import RunningCall
from moorage.state.objects import Objects, Store

T = TypeVar("T", bound=Object)

log = logging.getLogger(__name__)


class ResourceName(NamedTuple):
    """Where the objects of a lister live in the API."""

    group: str
    """The API group; empty for the core."""
    version: str
    """The version in the API, for example `v1`."""
    resource: str
    """The plural, for example `licenses`."""

    @property
    def event_resource(self) -> str:
        """How a cluster event names this resource: `plural.version.group`."""
        return kinds.dotted(*self)


@lru_cache(maxsize=256)
def _name_of(kind: builtins.type[Object]) -> ResourceName:
    return ResourceName(kind.group, kind.version, kind.resource)


class Requirement(NamedTuple):
    """A plugin that cannot do without a resource, and how many seconds it waits for the first list."""

    plugin: str
    seconds: float


class Lister(Generic[T]):
    """The objects of one resource, kept up to date; a plugin asks for it in its constructor.

        self.licenses = handle.lister_of(License)

        for license in self.licenses: ...
        found = self.licenses.get("gold", namespace=pod.namespace)

    What it holds are the scheduler's own objects: read them, never change them. To write, use
    `handle.resource_client`.
    """

    def __init__(
        self, name: ResourceName, type: type[T], store: Store[T], running: RunningCall | None = None
    ) -> None:
        """Made by the scheduler, not for plugins."""
        self.name = name
        """Group, version and plural of the resource; `name.event_resource` is its name in cluster events."""
        self._running = running or RunningCall()
        self.type = type
        """The class of its objects."""
        self.event: str = kinds.event_resource(*name)
        """How the events of its objects name the resource, whatever type a plugin has for it."""
        self.has_synced: bool = False
        """Whether the first list has arrived."""
        self.requirements: list[Requirement] = []
        """For the scheduler, not for plugins."""
        """Nothing is scheduled before these are met; whoever runs the scheduler sees to that."""
        self._store = store
        self._is_namespaced = type.namespaced if type.resource == name.resource else None
        """None where the class does not say it."""
        self._errors = PluginErrors()
        self._added: list[Callable[[T], None]] = []
        self._updated: list[Callable[[T, T], None]] = []
        self._deleted: list[Callable[[T], None]] = []

    def get(self, name: str, *, namespace: str | None = None) -> T | None:
        """The object of this name, or None. Kinds that live in namespaces need one, others take none.

        licenses.get("gold", namespace="shop")
        """
        if namespace is None:
            # A class that does not say whether its objects have namespaces might be asked for a key.
            if self._is_namespaced or (self._is_namespaced is None and "/" in name):
                raise ValueError(self._needs_namespace(name))
        elif namespace and self._is_namespaced is False:
            raise ValueError(f"{self.name.resource} have no namespaces: use get({name!r})")
        return self._store.get(name, namespace or "")

    def list(self, *, namespace: str | None = None) -> Collection[T]:
        """All objects, or those of one namespace; as cheap as it is to loop over them.

        It is a view: take a copy to keep it, or loop over the lister itself where objects may come and go.
        """
        return self._store.list(namespace)

    def __iter__(self) -> Iterator[T]:
        """All objects there are now."""
        return iter(tuple(self._store.list()))

    def __len__(self) -> int:
        """How many objects there are."""
        return len(self._store)

    def __contains__(self, item: object) -> bool:
        """Whether an object is still there, in whatever version.

        Where objects have no namespaces, a name will do.
        """
        if isinstance(item, str):
            return self.get(item) is not None
        if not isinstance(item, Object):
            raise TypeError(f"a lister holds objects: give one, or a name, not {item.__class__.__name__}")
        found = self._store.get(item.name, item.namespace)
        return found is not None and found.uid == item.uid

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

    def _needs_namespace(self, name: str) -> str:
        namespace, slash, last = name.rpartition("/")
        example = f"get({last!r}, namespace={namespace!r})" if slash else f"get({name!r}, namespace=...)"
        is_own = self._is_namespaced and kinds.known_kind(*self.name) is None
        remedy = f", or say `namespaced = False` in {self.type.__name__}" if is_own else ""
        return f"{self.name.resource} live in namespaces: use {example}{remedy}"

    def put(self, item: T) -> T | None:
        """Records an object and returns what it replaces; for the door, not for plugins."""
        old = self._store.put(item)
        if old is None:
            self._tell(self._added, item)
        else:
            self._tell(self._updated, old, item)
        return old

    def remove(self, item: T) -> None:
        """Forgets an object; for the door, not for plugins."""
        self._store.remove(item)
        self._tell(self._deleted, item)

    def _tell(self, callbacks: builtins.list[Callable[..., None]], *items: T) -> None:
        for callback in callbacks:
            where = getattr(callback, "__qualname__", repr(callback))
            outer, self._running.call = self._running.call, (where, "Informer", time.perf_counter())
            try:
                callback(*items)
            except FAILURES as error:
                about = f"{self.name.resource} {items[-1].key}"
                author = frozenset({(getattr(callback, "__module__", None) or "").partition(".")[0]})
                self._errors.note(error, where, author, "on_change", object=about)
                said = described(error, author)
                log.error("a plugin failed to take note of %s in %s: %s", about, where, said)
            finally:
                self._running.call = outer


class Listers:
    """The listers that plugins asked for; those of a type show what the state has of it.

    Plugins may have types of their own for one resource: each gets its own view of the objects.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.running = RunningCall()
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
            found = views[type] = Lister(name, type, store, self.running)
            if type is not Object:
                self._by_type[type] = found
        return found

    def of(self, item: Object) -> Lister[Any] | None:
        """The lister for objects like this one, if a plugin asked for it, by their type or without one."""
        kind = item.__class__
        found = self._by_type.get(kind)
        if found is not None:
            return found
        views = self._by_name.get(_name_of(kind))
        return None if views is None else views.get(Object)

    def beside(self, item: Object) -> Iterator[Lister[Any]]:
        """The listers that show an object like this one as another type."""
        kind = item.__class__
        views = self._by_name.get(_name_of(kind), {})
        used = kind if kind in self._by_type else Object
        return (lister for lister in views.values() if lister.type is not used)

    def set_synced(self) -> None:
        """What a run in memory is given is all there is."""
        for lister in self:
            lister.has_synced = True

    def __iter__(self) -> Iterator[Lister[Any]]:
        return (lister for views in self._by_name.values() for lister in views.values())
