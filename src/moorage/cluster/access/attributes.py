"""What a request wants to do, and how it is told that it may not."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from moorage.cluster.access.users import User
from moorage.cluster.base.errors import Refusal, forbidden
from moorage.cluster.base.quoting import quoted


class Attributes(NamedTuple):
    """A verb on a resource or, where there is a `path`, on an address that is no resource.

    `namespace` and `name` are empty where the request is not about one namespace or one object.
    """

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None

    @property
    def combined_resource(self) -> str:
        """`pods`, `pods/status`"""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def forbidden_refusal(user: User, attributes: Attributes, reason: str = "") -> Refusal:
    """The 403 for a user who may not do this; `reason` is what made it hard to find out."""
    why = escape(_cannot(user, attributes), quote=False)  # for browsers, which would show it as HTML
    if reason:
        why = f"{why}: {reason}"
    if attributes.path is not None:
        return Refusal(403, "Forbidden", f"forbidden: {why}", details={})
    group = attributes.group
    return forbidden(f"{attributes.resource}.{group}" if group else attributes.resource, attributes.name, why)


def _cannot(user: User, attributes: Attributes) -> str:
    who = f"User {quoted(user.name)} cannot {attributes.verb}"
    if attributes.path is not None:
        return f"{who} path {quoted(attributes.path)}"
    what = f"{who} resource {quoted(attributes.combined_resource)} in API group {quoted(attributes.group)}"
    if attributes.namespace:
        return f"{what} in the namespace {quoted(attributes.namespace)}"
    return f"{what} at the cluster scope"
