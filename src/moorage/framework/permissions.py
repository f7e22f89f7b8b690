"""What a part of the scheduler must be allowed to do in the API server."""

from __future__ import annotations

from typing import NamedTuple


class Permission(NamedTuple):
    """One verb on one resource, everywhere unless a namespace or a name limits it.

    `Permission("patch", "shop.example.com", "licenses", "status")`
    """

    verb: str
    """As RBAC names it: get, list, watch, create, update, patch, delete."""
    group: str
    """The API group; empty for the core."""
    resource: str
    """The plural, for example `licenses`."""
    subresource: str = ""
    """For example `status`; empty for the object itself."""
    namespace: str = ""
    """Where; empty for everywhere."""
    name: str = ""
    """The one object; empty for all."""

    @property
    def what(self) -> str:
        """The resource as rules name it, for example `pods/binding`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def __str__(self) -> str:
        of = f"{self.what}.{self.group}" if self.group else self.what
        named = f" named {self.name}" if self.name else ""
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {of}{named}{where}"
