"""Where the objects of a kind live in the API."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar
from urllib.parse import quote

from moorage.api.meta import Object

T = TypeVar("T", bound=Object)

_is_plain = re.compile(r"[a-zA-Z0-9._-]*").fullmatch


@dataclass(frozen=True)
class Resource(Generic[T]):
    """One kind of object: its address in the API, and the type its objects are decoded into.

    The type may be any Struct that derives from Object, or Object itself, whose `raw` holds everything.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    type: type[T]

    @staticmethod
    def of(kind: builtins.type[T]) -> Resource[T]:
        """The resource that a type describes with its class variables."""
        if not kind.resource or not kind.kind:
            raise TypeError(
                f"{kind.__qualname__} does not say where its objects live: "
                "give it the class variables `resource` (the plural in URLs) and `kind`"
            )
        return Resource(kind.group, kind.version, kind.resource, kind.kind, kind.namespaced, kind)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def root(self) -> str:
        """The path of the group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of a collection, an object or a part of an object."""
        parts = [self.root]
        if namespace and not self.namespaced:
            raise ValueError(f"{self.kind}: objects of this kind have no namespace, {namespace!r} was given")
        if namespace:
            parts += ("namespaces", _quoted(namespace))
        elif self.namespaced and name:
            raise ValueError(f"{self.kind} {name}: objects of this kind need a namespace")
        parts.append(self.plural)
        if name:
            parts.append(_quoted(name))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _quoted(name: str) -> str:
    return name if _is_plain(name) else quote(name, safe="")
