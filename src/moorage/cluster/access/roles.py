"""The roles and bindings that every cluster starts with."""

from __future__ import annotations

from copy import deepcopy

from moorage.cluster.access import role_rules as rules
from moorage.cluster.access.accounts import ALL_ACCOUNTS
from moorage.cluster.access.aggregation import CLUSTER_ROLES, aggregated_rules, is_aggregated
from moorage.cluster.access.rbac import BINDINGS, CLUSTER_BINDINGS, ROLES
from moorage.cluster.access.users import AUTHENTICATED, MASTERS, UNAUTHENTICATED
from moorage.cluster.base.store import Document

_API_GROUP = "rbac.authorization.k8s.io"
_API_VERSION = f"{_API_GROUP}/v1"
_SYSTEM = "kube-system"
_SCHEDULER = "system:kube-scheduler"
_READER = "extension-apiserver-authentication-reader"
_LEADERS = {
    "kube-controller-manager": ("kube-controller-manager", "leader-election-controller"),
    "kube-scheduler": ("kube-scheduler",),
}


def bootstrap_roles() -> list[tuple[str, Document]]:
    """The objects, each with the resource it is one of; the namespace kube-system has to exist."""
    roles = _cluster_roles()
    for role in roles:
        if is_aggregated(role):
            role["rules"] = deepcopy(aggregated_rules(role, roles))
    return [
        *((CLUSTER_ROLES, role) for role in roles),
        *((CLUSTER_BINDINGS, binding) for binding in _cluster_bindings()),
        *((ROLES, role) for role in _roles()),
        *((BINDINGS, binding) for binding in _bindings()),
    ]


def _cluster_roles() -> list[Document]:
    return [
        _cluster_role("cluster-admin", rules.EVERYTHING),
        _aggregated("admin"),
        _aggregated("edit", into="admin"),
        _aggregated("view", into="edit"),
        _cluster_role("system:aggregate-to-admin", rules.ADMIN, into="admin"),
        _cluster_role("system:aggregate-to-edit", rules.EDIT, into="edit"),
        _cluster_role("system:aggregate-to-view", rules.VIEW, into="view"),
        _cluster_role("system:basic-user", rules.BASIC_USER),
        _cluster_role("system:discovery", rules.DISCOVERY),
        _cluster_role("system:public-info-viewer", rules.PUBLIC),
        _cluster_role("system:service-account-issuer-discovery", rules.ISSUER),
        _cluster_role("system:monitoring", rules.MONITORING),
        _cluster_role("system:auth-delegator", rules.DELEGATION),
        _cluster_role(_SCHEDULER, rules.KUBE_SCHEDULER),
        _cluster_role("system:volume-scheduler", rules.VOLUME_SCHEDULER),
        _cluster_role("system:node", rules.NODE),
    ]


def _cluster_bindings() -> list[Document]:
    bound = {
        "cluster-admin": [_group(MASTERS)],
        "system:basic-user": [_group(AUTHENTICATED)],
        "system:discovery": [_group(AUTHENTICATED)],
        "system:public-info-viewer": [_group(AUTHENTICATED), _group(UNAUTHENTICATED)],
        "system:service-account-issuer-discovery": [_group(ALL_ACCOUNTS)],
        "system:monitoring": [_group("system:monitoring")],
        _SCHEDULER: [_user(_SCHEDULER)],
        "system:volume-scheduler": [_user(_SCHEDULER)],
        "system:node": [],
    }
    return [
        _binding("ClusterRoleBinding", _metadata(role), "ClusterRole", role, subjects)
        for role, subjects in bound.items()
    ]


def _roles() -> list[Document]:
    return [_role(_READER, rules.READER), *(_role(_leader_role(name), rules.LEADER) for name in _LEADERS)]


def _bindings() -> list[Document]:
    users = [_user(f"system:{name}") for name in _LEADERS]
    return [
        _binding("RoleBinding", _metadata(f"system::{_READER}", _SYSTEM), "Role", _READER, users),
        *(
            _binding(
                "RoleBinding",
                _metadata(_leader_role(name), _SYSTEM),
                "Role",
                _leader_role(name),
                [_user(f"system:{name}"), *map(_account, accounts)],
            )
            for name, accounts in _LEADERS.items()
        ),
    ]


# How they are written down


def _metadata(name: str, namespace: str = "", **labels: str) -> Document:
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **labels},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }


def _cluster_role(name: str, granted: list[Document], into: str = "") -> Document:
    """`into` is the aggregated role that takes up the rules of this one."""
    labels = {_aggregation_label(into): "true"} if into else {}
    return {
        "kind": "ClusterRole",
        "apiVersion": _API_VERSION,
        "metadata": _metadata(name, **labels),
        "rules": deepcopy(granted),
    }


def _aggregated(name: str, into: str = "") -> Document:
    selectors = [{"matchLabels": {_aggregation_label(name): "true"}}]
    return {**_cluster_role(name, [], into), "aggregationRule": {"clusterRoleSelectors": selectors}}


def _aggregation_label(name: str) -> str:
    return f"{_API_GROUP}/aggregate-to-{name}"


def _role(name: str, granted: list[Document]) -> Document:
    return {
        "kind": "Role",
        "apiVersion": _API_VERSION,
        "metadata": _metadata(name, _SYSTEM),
        "rules": deepcopy(granted),
    }


def _binding(kind: str, metadata: Document, role_kind: str, role: str, subjects: list[Document]) -> Document:
    return {
        "kind": kind,
        "apiVersion": _API_VERSION,
        "metadata": metadata,
        **({"subjects": subjects} if subjects else {}),
        "roleRef": {"apiGroup": _API_GROUP, "kind": role_kind, "name": role},
    }


def _user(name: str) -> Document:
    return {"kind": "User", "apiGroup": _API_GROUP, "name": name}


def _group(name: str) -> Document:
    return {"kind": "Group", "apiGroup": _API_GROUP, "name": name}


def _account(name: str) -> Document:
    return {"kind": "ServiceAccount", "name": name, "namespace": _SYSTEM}


def _leader_role(name: str) -> str:
    return f"system::leader-locking-{name}"
