"""Who makes a request, and the names of service accounts and nodes when they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.api.names import dns_label_problems, dns_subdomain_problems

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
