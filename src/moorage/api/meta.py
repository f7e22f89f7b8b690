"""What every Kubernetes object has: metadata, labels, its raw form."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

Quantity: TypeAlias = str | int | float
"""A resource quantity as it stands in the API; :mod:`moorage.api.quantities` reads it."""

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Numbers as wide as the API has them: what is larger would not fit the columns they are counted in."""


T = TypeVar("T")


class computed_once(Generic[T]):  # noqa: N801, as it is used like `property`
    """A property that is computed when it is first asked for: `cached_property` without its lock."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, item: Any, owner: type | None = None) -> T:
        if item is None:
            return self  # type: ignore[return-value]
        found = item.__dict__[self._name] = self._compute(item)
        return found


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the hashable parts of an object."""


class OwnerReference(Part, frozen=True, gc=False):
    """An object that another one belongs to."""

    api_version: str = ""
    """Group and version of the owner, for example `apps/v1`."""
    kind: str = ""
    """Its kind, for example `ReplicaSet`."""
    name: str = ""
    """Its name."""
    uid: str = ""
    """Its uid."""
    controller: bool = False
    """Whether it is the one that controls the object."""


class ObjectMeta(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The metadata of an object."""

    name: str = ""
    """Its name, unique in its namespace at any one time."""
    namespace: str = ""
    """Its namespace; empty for kinds that have none."""
    uid: str = ""
    """Unique for all time, which a name is not."""
    resource_version: str = ""
    """Which version this is; compare for equality only."""
    generation: int = 0
    """Counts the changes of its spec."""
    generate_name: str = ""
    """What the API server made the name from, if it did."""
    creation_timestamp: str | None = None
    """When it was made, as `2026-01-31T12:00:00Z`."""
    deletion_timestamp: str | None = None
    """When it is to be gone, if it is being deleted."""
    labels: dict[str, str] = {}
    """For selecting."""
    annotations: dict[str, str] = {}
    """For everything else."""
    owner_references: tuple[OwnerReference, ...] = ()
    """The objects it belongs to."""


class PrinterColumn(NamedTuple):
    """A column that `kubectl get` shows of a custom resource, for example `.spec.replicas`."""

    name: str
    """The head of the column."""
    type: Literal["boolean", "date", "integer", "number", "string"]
    """How the value is shown."""
    json_path: str
    """Where the value is, for example `.spec.replicas`."""
    description: str = ""
    """What `kubectl explain` and tools say about it."""
    format: str = ""
    """A hint to the type, for example `int64`."""
    priority: int = 0
    """Columns above 0 are shown with `-o wide` only."""


class Object(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, eq=False, dict=True):
    """A Kubernetes object with the fields a scheduler uses, and the base of classes for your own resources.

        class License(Object, kw_only=True):
            group = "shop.example.com"
            resource = "licenses"
            kind = "License"
            spec: LicenseSpec

    Objects compare and hash by identity. `raw` is the whole object as the API server sent it, with the
    fields that are not modelled here; it is decoded on first use.
    """

    group: ClassVar[str] = ""
    """The API group of its kind; empty for the core."""
    version: ClassVar[str] = "v1"
    """The version in the API."""
    resource: ClassVar[str] = ""
    """The plural in URLs."""
    kind: ClassVar[str] = ""
    """The kind in manifests."""
    namespaced: ClassVar[bool] = True
    """Whether objects of the kind live in namespaces."""

    # What the definition of a custom resource says beside its address and its fields
    short_names: ClassVar[tuple[str, ...]] = ()
    """What else `kubectl` takes for the plural."""
    categories: ClassVar[tuple[str, ...]] = ()
    """Groups of kinds that `kubectl get` takes, for example `all`."""
    printer_columns: ClassVar[tuple[PrinterColumn, ...]] = ()
    """What `kubectl get` shows beside name and age."""
    api_approved: ClassVar[str] = ""
    """The approval that groups below `k8s.io` need."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    """Name, labels and what else every object has."""

    @property
    def name(self) -> str:
        """`metadata.name`"""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`; empty for kinds that have none."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """`metadata.uid`, unique for all time."""
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        """`metadata.labels`; read them, never change them."""
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """`metadata.annotations`; read them, never change them."""
        return self.metadata.annotations

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of an object without a namespace."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name

    @property
    def deleting(self) -> bool:
        """Whether somebody has deleted it and it is only ending."""
        return self.metadata.deletion_timestamp is not None

    @classmethod
    def api_version(cls) -> str:
        """As in manifests: `apps/v1`, or `v1` for the core."""
        return f"{cls.group}/{cls.version}" if cls.group else cls.version

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The whole object as in a manifest, with the fields that are not modelled here.

        Pods come without `managedFields`, as plugins of kube-scheduler see them.
        """
        source: bytes | None = self.__dict__.get("_source")
        if source is not None:
            whole: dict[str, Any] = msgspec.json.decode(source)
            return whole
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return {"apiVersion": self.api_version(), "kind": self.kind, **fields}
