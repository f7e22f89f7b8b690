"""Who the scheduler is in the cluster, and what it may do there: no more than its permissions say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from moorage.cli.deployment.metadata import metadata
from moorage.cli.deployment.planning import Plan
from moorage.framework.permissions import Permission

_RBAC = "rbac.authorization.k8s.io"
_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")
_AUTHENTICATION_READER = "extension-apiserver-authentication-reader"

Document = dict[str, Any]


def access(plan: Plan) -> list[Document]:
    """The service account, a cluster role, a role for each namespace that is named, and their bindings."""
    by_namespace = defaultdict(list)
    for permission in plan.permissions:
        by_namespace[permission.namespace].append(permission)
    objects: list[Document] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(plan)}]
    for namespace, permissions in sorted(by_namespace.items()):
        kind = "Role" if namespace else "ClusterRole"
        objects.append({**_head(plan, kind, plan.name, namespace), "rules": rules(permissions)})
        objects.append(_binding(plan, f"{kind}Binding", plan.name, namespace, plan.name))
    if plan.is_shadow:
        return objects  # everybody may see its metrics
    # The authorities by which callers of its HTTPS port prove who they are; the role is the cluster's own.
    name = f"{plan.name}-{_AUTHENTICATION_READER}"
    objects.append(_binding(plan, "RoleBinding", name, "kube-system", _AUTHENTICATION_READER))
    return objects


def rules(permissions: Iterable[Permission]) -> list[Document]:
    """As few rules as say the same, in a fixed order."""
    verbs = defaultdict(set)
    for permission in permissions:
        verbs[permission.group, permission.name, permission.what].add(permission.verb)
    resources = defaultdict(list)
    for (group, name, what), allowed in sorted(verbs.items()):
        resources[group, name, tuple(sorted(allowed, key=_place))].append(what)
    return [
        {
            "apiGroups": [group],
            "resources": names,
            **({"resourceNames": [name]} if name else {}),
            "verbs": list(allowed),
        }
        for (group, name, allowed), names in resources.items()
    ]


def _place(verb: str) -> tuple[int, str]:
    return (_VERBS.index(verb) if verb in _VERBS else len(_VERBS), verb)


def _binding(plan: Plan, kind: str, name: str, namespace: str, role: str) -> Document:
    return {
        **_head(plan, kind, name, namespace),
        "roleRef": {"apiGroup": _RBAC, "kind": kind.removesuffix("Binding"), "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": plan.name, "namespace": plan.namespace}],
    }


def _head(plan: Plan, kind: str, name: str, namespace: str) -> Document:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata(plan, name, namespace)}
