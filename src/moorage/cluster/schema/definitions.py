"""The resources an API server serves, and what is special about each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.schema.model import Schema

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


class Strategy:
    """How the objects of a kind are completed and checked; this one does nothing special.

    Documents are changed in place: they are the caller's, not yet stored. `old` documents are stored ones and
    are only read. Nothing here looks at other objects; that is for admission.
    """

    gates: frozenset[str] = frozenset()
    """The alpha features that are on."""

    counts_generations = False
    """Whether metadata.generation starts at 1 and grows with each change of what is not status."""

    deprecation = ""
    """What every answer about these objects warns of."""

    created_by_update = False
    """Whether an update of an object that is not there creates it."""

    updates_name_version = False
    """Whether an update must say which version of the object it was made for."""

    qualified_finalizers = True
    """Whether the finalizers of the objects must have a domain."""

    tracked = True
    """Whether the fields of the objects have owners."""

    tells_changes_first = False
    """Whether the rules a change breaks are told before those the object breaks by itself."""

    orphans_by_default = False
    """Whether what an object owns outlives it unless the one who deletes it says otherwise."""

    def is_new_generation(self, new: Document, old: Document) -> bool:
        """Whether a change is one of what is wanted: of anything but metadata and status, as a rule."""
        return spec_differs(new, old)

    def default(self, document: Document) -> None:
        """Fills in what the API says about fields that are absent."""

    def note_creator(self, document: Document, creator: Document) -> None:
        """Puts down who creates an object, where that is part of it: username, uid, groups and extra."""

    def prepare_create(self, document: Document) -> None:
        """Drops what a creator may not say, such as the status of most kinds."""

    def prepare_update(self, new: Document, old: Document) -> None:
        """Keeps what an update of the main resource cannot change, such as the status of most kinds."""

    def prepare_status_update(self, new: Document, old: Document) -> None:
        """Keeps what an update of the status cannot change: everything else, as a rule."""
        keep_but(new, old, "status")

    def prepare_finalize(self, new: Document, old: Document) -> None:
        """Keeps what an update of the `finalize` subresource cannot change."""

    def prepare_change(self, new: Document, old: Document, subresource: str) -> None:
        """Keeps what an update through this address cannot change."""
        if subresource == "status":
            self.prepare_status_update(new, old)
        elif subresource == "finalize":
            self.prepare_finalize(new, old)
        else:
            self.prepare_update(new, old)

    def validate(self, document: Document) -> Iterable[Cause]:
        """The rules an object breaks, apart from those all objects' metadata must keep."""
        return ()

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        """The rules a change breaks; `new` by itself keeps the rules of `validate`."""
        return ()

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return ()

    def validate_finalize(self, new: Document) -> Iterable[Cause]:
        return ()

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        """All the rules that are broken after a change through this address.

        Those that may go on being broken, but are worth a word, are added to `warnings`.
        """
        if subresource == "status":
            return self.validate_status_update(new, old)
        if subresource == "finalize":
            return self.validate_finalize(new)
        relabeled = new["metadata"].get("labels") != old["metadata"].get("labels")
        by_itself = self.validate(new) if relabeled or spec_differs(new, old) else ()
        changes = self.validate_update(new, old)
        return (*changes, *by_itself) if self.tells_changes_first else (*by_itself, *changes)

    def stored(self, document: Document) -> Document:
        """The form in which an object that is in order is kept."""
        return document

    def shown(self, document: Document) -> Document:
        """An object that is stored in the form of another version, in that of this one."""
        return document

    def selectable_fields(self, document: Document) -> dict[str, str]:
        """What field selectors can ask for, beside metadata.name and metadata.namespace."""
        return {}

    def warnings(self, document: Document) -> list[str]:
        """What the client should be told about an object that is accepted."""
        return []

    def update_warnings(self, new: Document, old: Document) -> list[str]:
        """The same for one that is changed."""
        return self.warnings(new)

    def delete_warnings(self, propagation: str) -> list[str]:
        """The same for one that is deleted; `propagation` is empty if nobody said what dependents do."""
        return []


def spec_differs(new: Document, old: Document) -> bool:
    """Whether anything but metadata and status is another."""
    return any(
        name not in ("metadata", "status") and new.get(name) != old.get(name)
        for name in new.keys() | old.keys()
    )


def keep_but(new: Document, old: Document, *changing: str) -> None:
    """Takes everything from `old` but these fields and the metadata.

    A change of the status may carry finalizers or owners only in the main resource, so metadata is old too,
    apart from what the server itself looks at.
    """
    metadata = {**old["metadata"]}
    for name in ("resourceVersion", "managedFields"):
        if name in new["metadata"]:
            metadata[name] = new["metadata"][name]
    kept = {name: value for name, value in old.items() if name not in changing}
    changed = {name: new[name] for name in changing if name in new}
    new.clear()
    new.update(kept | changed)
    new["metadata"] = metadata


def keep_status(new: Document, old: Document) -> None:
    """The status is not for an update of the main resource."""
    keep_field(new, old, "status")


def keep_field(new: Document, old: Document, name: str) -> None:
    """Has a field as it was, or not, if there was none."""
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def version_order(version: str) -> tuple[int, ...]:
    """Sorts as Kubernetes does: v2 before v1, then v1beta2, v1beta1, v1alpha1, then all other names."""
    digits = version[1:]
    for rank, word in enumerate(("beta", "alpha"), start=1):
        major, found, minor = digits.partition(word)
        if found and major.isdecimal() and minor.isdecimal():
            return (rank, -int(major), -int(minor))
    return (0, -int(digits), 0) if version[:1] == "v" and digits.isdecimal() else (3, 0, 0)


@dataclass(frozen=True)
class Subresource:
    """A part of an object with an address of its own."""

    name: str
    verbs: tuple[str, ...]
    kind: str = ""
    """The kind it takes and gives, where that is not the resource's own."""
    group: str = ""
    version: str = ""


@dataclass(frozen=True)
class Definition:
    """One resource in one version, as it is served.

    Resources that are the same objects under two addresses share `storage`, the name in the store.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    schema: Schema
    storage: str = ""
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    strategy: Strategy = field(default_factory=Strategy)
    custom: bool = False
    """Defined by a CustomResourceDefinition."""

    def __post_init__(self) -> None:
        usual = {"storage": self.name, "singular": self.kind.lower(), "list_kind": f"{self.kind}List"}
        for name, value in usual.items():
            if not getattr(self, name):
                object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """`pods`, `deployments.apps`: as messages name it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class Definitions:
    """All resources served now, in the order of their groups."""

    def __init__(self, definitions: Iterable[Definition] = ()) -> None:
        self._by_address: dict[tuple[str, str, str], Definition] = {}
        self._by_storage: dict[str, Definition] = {}
        self.generation = 0
        """Grows when something is added or removed."""
        for definition in definitions:
            self.add(definition)

    def add(self, definition: Definition) -> None:
        """Serves a resource from now on, in place of what had the same address."""
        self.generation += 1
        self._by_address[definition.group, definition.version, definition.plural] = definition
        first = self._by_storage.setdefault(definition.storage, definition)
        if (first.group, first.version) == (definition.group, definition.version):
            self._by_storage[definition.storage] = definition

    def remove(self, definition: Definition) -> None:
        self.generation += 1
        del self._by_address[definition.group, definition.version, definition.plural]
        if self._by_storage.get(definition.storage) is definition:
            del self._by_storage[definition.storage]
            for other in self._by_address.values():
                self._by_storage.setdefault(other.storage, other)

    def find(self, group: str, version: str, plural: str) -> Definition | None:
        return self._by_address.get((group, version, plural))

    def of_storage(self, storage: str) -> Definition | None:
        """The definition under which stored objects are written: the first that was added."""
        return self._by_storage.get(storage)

    def __iter__(self) -> Iterator[Definition]:
        return iter(tuple(self._by_address.values()))
