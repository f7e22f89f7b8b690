"""Who makes a request and what it wants to do, and how they are told that they may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from moorage.api.names import dns_label_problems, dns_subdomain_problems
from moorage.cluster.base.errors import Refusal, forbidden
from moorage.cluster.base.go_text import quoted

ANONYMOUS = "system:anonymous"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
ALL_NODES = "system:nodes"
_ALL_ACCOUNTS = "system:serviceaccounts"
_ACCOUNT = "system:serviceaccount:"
_NODE = "system:node:"


@dataclass(frozen=True)
class User:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def account_username(namespace: str, name: str) -> str:
    return f"{_ACCOUNT}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, str]:
    return _ALL_ACCOUNTS, f"{_ALL_ACCOUNTS}:{namespace}"


def account_of(username: str) -> tuple[str, str] | None:
    """The namespace and the name of the service account with this user name."""
    namespace, colon, name = username.removeprefix(_ACCOUNT).partition(":")
    if not username.startswith(_ACCOUNT) or not colon:
        return None
    return None if dns_label_problems(namespace) or dns_subdomain_problems(name) else (namespace, name)


def node_of(username: str) -> str | None:
    """The node with this user name."""
    name = username.removeprefix(_NODE)
    return name if username.startswith(_NODE) and not dns_subdomain_problems(name) else None


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
