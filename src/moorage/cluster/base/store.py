"""All objects of the cluster, their revisions, and what has happened to them lately."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

Document = dict[str, Any]
"""An object as JSON has it. Once stored it is never changed in place: who changes one makes a copy."""

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

HISTORY = 5_000  # changes of one resource that a watch can go back

_encode = msgspec.json.Encoder().encode


class Stored:
    """An object at one revision, with its JSON text made on first use."""

    __slots__ = ("_body", "document", "name", "namespace", "revision")

    def __init__(self, namespace: str, name: str, document: Document, revision: int) -> None:
        self.namespace = namespace
        self.name = name
        self.document = document
        self.revision = revision
        self._body: bytes | None = None

    @property
    def body(self) -> bytes:
        if self._body is None:
            self._body = _encode(self.document)
        return self._body

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def uid(self) -> str:
        return self.document["metadata"].get("uid") or ""

    @property
    def labels(self) -> dict[str, str]:
        return self.document["metadata"].get("labels") or {}

    @property
    def annotations(self) -> dict[str, str]:
        return self.document["metadata"].get("annotations") or {}

    @property
    def owners(self) -> list[Document]:
        return self.document["metadata"].get("ownerReferences") or []

    @property
    def finalizers(self) -> list[str]:
        return self.document["metadata"].get("finalizers") or []

    @property
    def generation(self) -> int:
        return self.document["metadata"].get("generation") or 0

    @property
    def created(self) -> str:
        """When it was created; texts of this form sort as the times do."""
        return self.document["metadata"].get("creationTimestamp") or ""

    @property
    def is_deleted(self) -> bool:
        """Whether its deletion has begun."""
        return self.document["metadata"].get("deletionTimestamp") is not None

    @property
    def spec(self) -> Document:
        return self.document.get("spec") or {}

    @property
    def status(self) -> Document:
        return self.document.get("status") or {}


class Change(NamedTuple):
    """Something that happened to an object. What was deleted is `new` as it was last, at a new revision."""

    type: ChangeType
    resource: str
    new: Stored
    old: Stored | None


class Journal(Protocol):
    """Where changes are written down before anyone hears of them."""

    def write(self, change: Change) -> None: ...

    def pass_over(self, revision: int) -> None:
        """Sees to it that this revision is not used again, although nothing of it is kept."""


class Exists(Exception):
    """There is an object of this name."""


class Stale(Exception):
    """The object is not, or no longer, the one that was to be changed."""


class Forgotten(Exception):
    """The changes after this revision are no longer known."""

    def __init__(self, oldest: int) -> None:
        super().__init__(oldest)
        self.oldest = oldest


class _Collection:
    """The objects of one resource."""

    def __init__(self, since: int) -> None:
        self.by_namespace: dict[str, dict[str, Stored]] = {}
        self.history: deque[Change] = deque(maxlen=HISTORY)
        self.oldest = since
        """Changes after this revision are all in the history."""
        self.listeners: list[Callable[[Change], object]] = []


class Store:
    """Objects by resource (`pods`, `deployments.apps`), namespace ("" where there is none) and name.

    Every write gets the next revision, is put down in the journal, and then told to all who listen to its
    resource, before the call returns. `metadata.resourceVersion` of a stored document is its revision.
    """

    def __init__(self, journal: Journal | None = None, revision: int = 1) -> None:
        self._journal = journal
        self._revision = self._first = revision
        self._collections: dict[str, _Collection] = {}

    @property
    def revision(self) -> int:
        """That of the last write of all."""
        return self._revision

    def restore(self, resource: str, namespace: str, name: str, document: Document) -> None:
        """Puts back an object from a journal, without a new revision; after the last, `continue_from`."""
        revision = int(document["metadata"]["resourceVersion"])
        collection = self._collection(resource)
        collection.by_namespace.setdefault(namespace, {})[name] = Stored(namespace, name, document, revision)
        self._revision = max(self._revision, revision)

    def continue_from(self, revision: int) -> None:
        """Uses no revision up to this one again; what happened until then is not known."""
        self._revision = max(self._revision, revision)
        self.forget()

    def get(self, resource: str, namespace: str, name: str) -> Stored | None:
        return self._collection(resource).by_namespace.get(namespace, {}).get(name)

    def objects(self, resource: str, namespace: str = "", revision: int | None = None) -> list[Stored]:
        """The objects of a namespace, or of all, in the order of their keys: `namespace/name`.

        With a revision, as they were then. Raises Forgotten if that is no longer known.
        """
        by_namespace = self._collection(resource).by_namespace
        if revision is not None and revision != self._revision:
            by_namespace = self._as_it_was(resource, revision)
        if namespace:
            return [found for _, found in sorted(by_namespace.get(namespace, {}).items())]
        spaces = sorted(by_namespace, key=lambda name: f"{name}/")
        return [found for space in spaces for _, found in sorted(by_namespace[space].items())]

    def _as_it_was(self, resource: str, revision: int) -> dict[str, dict[str, Stored]]:
        """The objects by namespace and name at an earlier revision."""
        changes = self.since(resource, revision)
        present = self._collection(resource).by_namespace
        was = {namespace: dict(named) for namespace, named in present.items()}
        for change in reversed(changes):
            named = was.setdefault(change.new.namespace, {})
            if change.old is None:
                del named[change.new.name]
            else:
                named[change.new.name] = change.old
        return was

    def iterate(self, resource: str, namespace: str = "") -> Iterator[Stored]:
        """As `objects`, in no order and without making a list; nothing may be written meanwhile."""
        by_namespace = self._collection(resource).by_namespace
        for objects in (by_namespace.get(namespace, {}),) if namespace else by_namespace.values():
            yield from objects.values()

    def count(self, resource: str) -> int:
        return sum(len(objects) for objects in self._collection(resource).by_namespace.values())

    def resources(self) -> list[str]:
        """Those that have had objects."""
        return sorted(self._collections)

    def create(self, resource: str, namespace: str, name: str, document: Document) -> Stored:
        """Raises Exists if the name is taken."""
        if self.get(resource, namespace, name) is not None:
            raise Exists
        return self._commit(Change("ADDED", resource, self._next(namespace, name, document), None))

    def update(self, resource: str, old: Stored, document: Document, *, lasting: bool = True) -> Stored:
        """Raises Stale unless `old` is what is stored now. What is not lasting is not put in the journal."""
        self._check(resource, old)
        new = self._next(old.namespace, old.name, document)
        return self._commit(Change("MODIFIED", resource, new, old), lasting)

    def delete(self, resource: str, old: Stored) -> Stored:
        """Raises Stale unless `old` is what is stored now. Returns the object as it was last."""
        self._check(resource, old)
        new = self._next(old.namespace, old.name, old.document)
        return self._commit(Change("DELETED", resource, new, old))

    def reread(self, resource: str, read: Callable[[Document], Document]) -> None:
        """Has the objects as `read` makes them, at the revisions they have: to nobody is this a change."""
        for objects in self._collection(resource).by_namespace.values():
            for name, known in objects.items():
                document = read(known.document)
                if document != known.document:
                    objects[name] = Stored(known.namespace, name, document, known.revision)

    def listen(self, resource: str, listener: Callable[[Change], object]) -> Callable[[], None]:
        """Has every later change told at once; the listener must not write. Returns how to stop that."""
        listeners = self._collection(resource).listeners
        listeners.append(listener)
        return lambda: listeners.remove(listener)

    def since(self, resource: str, revision: int) -> list[Change]:
        """The changes after a revision, oldest first. Raises Forgotten if some are no longer known."""
        collection = self._collection(resource)
        if revision < collection.oldest:
            raise Forgotten(collection.oldest)
        history = collection.history
        return list(history)[bisect_right(history, revision, key=lambda change: change.new.revision) :]

    def forget(self) -> None:
        """Drops all history: watches from earlier revisions have to list again."""
        for collection in self._collections.values():
            collection.history.clear()
            collection.oldest = self._revision
        self._first = self._revision

    def _collection(self, resource: str) -> _Collection:
        if resource not in self._collections:
            self._collections[resource] = _Collection(self._first)
        return self._collections[resource]

    def _check(self, resource: str, old: Stored) -> None:
        if self.get(resource, old.namespace, old.name) is not old:
            raise Stale

    def _next(self, namespace: str, name: str, document: Document) -> Stored:
        revision = self._revision + 1
        metadata = {**document["metadata"], "resourceVersion": str(revision)}
        return Stored(namespace, name, {**document, "metadata": metadata}, revision)

    def _commit(self, change: Change, lasting: bool = True) -> Stored:
        new, collection = change.new, self._collection(change.resource)
        if self._journal is not None:
            if lasting:
                self._journal.write(change)
            else:
                self._journal.pass_over(new.revision)
        self._revision = new.revision
        if change.type == "DELETED":
            del collection.by_namespace[new.namespace][new.name]
        else:
            collection.by_namespace.setdefault(new.namespace, {})[new.name] = new
        history = collection.history
        if len(history) == HISTORY:
            collection.oldest = history[0].new.revision
        history.append(change)
        for listener in tuple(collection.listeners):
            listener(change)
        return new
