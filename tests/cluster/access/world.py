"""A store with roles, bindings and accounts to ask about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.roles import bootstrap_roles
from moorage.cluster.access.rules import BINDINGS, CLUSTER_BINDINGS, ROLES
from moorage.cluster.access.tokens import Tokens, generate_key
from moorage.cluster.access.users import AUTHENTICATED, User
from moorage.cluster.base.store import Document, Store, Stored

CLUSTER_ROLES = "clusterroles.rbac.authorization.k8s.io"
ISSUER = "https://127.0.0.1:50781"
KEY = generate_key()
API_GROUP = "rbac.authorization.k8s.io"


def rule(groups: str, resources: str, verbs: str, names: str = "") -> Document:
    """Words with spaces between them; `core` is the group without a name."""
    found: Document = {
        "apiGroups": ["" if group == "core" else group for group in groups.split()],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    return {**found, "resourceNames": names.split()} if names else found


def urls(paths: str, verbs: str) -> Document:
    return {"nonResourceURLs": paths.split(), "verbs": verbs.split()}


def subject(text: str) -> Document:
    """`User/alice`, `Group/devs`, `ServiceAccount/namespace/name`."""
    kind, *names = text.split("/")
    if kind == "ServiceAccount":
        return {"kind": kind, "namespace": names[0], "name": names[1]}
    return {"kind": kind, "name": names[0], "apiGroup": API_GROUP}


def role(name: str, *rules: Document, namespace: str = "", **more: Any) -> Document:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"metadata": metadata | more.pop("metadata", {}), "rules": list(rules), **more}


def binding(name: str, kind: str, bound: str, *subjects: str, namespace: str = "") -> Document:
    return {
        "metadata": {"name": name, "namespace": namespace} if namespace else {"name": name},
        "roleRef": {"apiGroup": API_GROUP, "kind": kind, "name": bound},
        "subjects": [subject(text) for text in subjects],
    }


def user(name: str, *groups: str, **extra: tuple[str, ...]) -> User:
    return User(name, groups=(*groups, AUTHENTICATED), extra=extra)


class World:
    """What the texts in these tests were recorded with, on a real API server."""

    def __init__(self, *, bootstrap: bool = True) -> None:
        self.store = Store()
        self.now = 1_794_783_821.5
        if bootstrap:
            for resource, document in bootstrap_roles():
                self.put(resource, document)
        self.tokens = Tokens(KEY, ISSUER, lambda: self.now)
        self.authorizer = Authorizer(self.store)

    def put(self, resource: str, document: Document) -> Stored:
        metadata = document["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        old = self.store.get(resource, namespace, name)
        if old is not None:
            return self.store.update(resource, old, document)
        return self.store.create(resource, namespace, name, document)

    def role(self, name: str, *rules: Document, **more: Any) -> None:
        document = role(name, *rules, **more)
        self.put(ROLES if "namespace" in document["metadata"] else CLUSTER_ROLES, document)

    def bind(self, name: str, kind: str, bound: str, *subjects: str, namespace: str = "") -> None:
        document = binding(name, kind, bound, *subjects, namespace=namespace)
        self.put(BINDINGS if namespace else CLUSTER_BINDINGS, document)

    def grant(self, to: Iterable[str] | str, *rules: Document, name: str = "granted") -> None:
        """Gives rights in the whole cluster."""
        self.role(name, *rules)
        self.bind(name, "ClusterRole", name, *([to] if isinstance(to, str) else to))

    def delete(self, resource: str, namespace: str, name: str) -> None:
        stored = self.store.get(resource, namespace, name)
        assert stored is not None
        self.store.delete(resource, stored)

    def account(self, name: str, uid: str = "", namespace: str = "harbour") -> Document:
        metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-of-{name}"}
        return self.put("serviceaccounts", {"metadata": metadata}).document


def recorded_world() -> World:
    """Roles and bindings as they were when the answers of the real server were written down."""
    world = World()
    world.role(
        "reader",
        rule("core", "pods", "get list"),
        rule("core", "*/scale", "get"),
        rule("core", "configmaps", "*", names="one"),
        rule(API_GROUP, "roles rolebindings", "create update get patch"),
        namespace="harbour",
    )
    world.bind(
        "reader",
        "Role",
        "reader",
        "User/alice",
        "ServiceAccount/harbour/bob",
        "Group/team",
        namespace="harbour",
    )
    world.bind("dangling", "ClusterRole", "absent", "User/dora", namespace="harbour")
    world.bind("dangling2", "Role", "absent", "User/dora", namespace="harbour")
    return world
