"""The names of service accounts and nodes when they make requests."""

from __future__ import annotations

from moorage.api.names import dns_label_problems, dns_subdomain_problems

ALL_ACCOUNTS = "system:serviceaccounts"
ALL_NODES = "system:nodes"
_ACCOUNT = "system:serviceaccount:"
_NODE = "system:node:"


def account_username(namespace: str, name: str) -> str:
    return f"{_ACCOUNT}{namespace}:{name}"


def account_groups(namespace: str) -> tuple[str, str]:
    return ALL_ACCOUNTS, f"{ALL_ACCOUNTS}:{namespace}"


def account_of(username: str) -> tuple[str, str] | None:
    """The namespace and the name of the service account with this user name."""
    if not username.startswith(_ACCOUNT):
        return None
    namespace, colon, name = username.removeprefix(_ACCOUNT).partition(":")
    if not colon or dns_label_problems(namespace) or dns_subdomain_problems(name):
        return None
    return namespace, name


def node_of(username: str) -> str | None:
    """The node with this user name."""
    if not username.startswith(_NODE):
        return None
    name = username.removeprefix(_NODE)
    return None if dns_subdomain_problems(name) else name
