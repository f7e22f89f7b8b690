"""What every Kubernetes object has: metadata, labels, its raw form."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

Quantity: TypeAlias = str | int | float
"""A resource quantity as it stands in the API; :mod:`moorage.api.quantities` reads it."""

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Numbers as wide as the API has them: what is larger would not fit the columns they are counted in."""


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of the hashable parts of an object."""


class OwnerReference(Part, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    generate_name: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class PrinterColumn(NamedTuple):
    """A column that `kubectl get` shows of a custom resource, for example `.spec.replicas`."""

    name: str
    type: Literal["boolean", "date", "integer", "number", "string"]
    json_path: str
    description: str = ""
    format: str = ""
    priority: int = 0
    """Columns above 0 are shown with `-o wide` only."""


class Object(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, eq=False, dict=True):
    """A Kubernetes object with the fields a scheduler uses.

    Objects compare and hash by identity. `raw` is the whole object as the API server sent it, with the
    fields that are not modelled here; it is decoded on first use.
    """

    group: ClassVar[str] = ""
    version: ClassVar[str] = "v1"
    resource: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    namespaced: ClassVar[bool] = True

    # What the definition of a custom resource says beside its address and its fields
    short_names: ClassVar[tuple[str, ...]] = ()
    categories: ClassVar[tuple[str, ...]] = ()
    printer_columns: ClassVar[tuple[PrinterColumn, ...]] = ()
    api_approved: ClassVar[str] = ""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations

    @property
    def key(self) -> str:
        """`namespace/name`, or the bare name of an object without a namespace."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @classmethod
    def api_version(cls) -> str:
        return f"{cls.group}/{cls.version}" if cls.group else cls.version

    @cached_property
    def raw(self) -> dict[str, Any]:
        source: bytes | None = self.__dict__.get("_source")
        if source is not None:
            whole: dict[str, Any] = msgspec.json.decode(source)
            return whole
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return {"apiVersion": self.api_version(), "kind": self.kind, **fields}
