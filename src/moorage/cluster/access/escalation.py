"""Nobody can give rights they do not have."""

from __future__ import annotations

from moorage.cluster.access import rules
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.users import MASTERS, Attributes, User
from moorage.cluster.base.errors import bad_request, forbidden, not_found
from moorage.cluster.base.go_text import quoted, quoted_list
from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Definition

_GRANTING = (rules.ROLES, rules.CLUSTER_ROLES, rules.BINDINGS, rules.CLUSTER_BINDINGS)
_MOST_ATOMS = 10_000  # a body of a few kB can say more than could ever be compared
_GARBAGE_COLLECTION = ("ownerReferences", "finalizers", "managedFields", "selfLink", "resourceVersion")
_EVERYTHING = tuple(
    rules.Rule({"verbs": ["*"], **what})
    for what in ({"apiGroups": ["*"], "resources": ["*"]}, {"nonResourceURLs": ["*"]})
)


def check_escalation(
    authorizer: Authorizer, user: User, definition: Definition, document: Document, old: Document | None
) -> None:
    """Refuses a role with rules, or a binding to a role with rules, that the user is not allowed.

    The verbs `escalate` on the role or `bind` on the role of the binding are a way around that.
    """
    if definition.storage not in _GRANTING or MASTERS in user.groups:
        return
    if old is not None and _essence(document) == _essence(old):
        return
    metadata = document["metadata"]
    name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
    if definition.storage in (rules.ROLES, rules.CLUSTER_ROLES):
        role = Attributes("escalate", definition.group, rules.ANY, definition.plural, namespace=namespace)
        if authorizer.allows(user, role if old is None else role._replace(name=name)):
            return
        problem = _excess(authorizer, user, namespace, rules.rules_of(document))
        aggregates = _aggregates(document) or (old is not None and _aggregates(old))
        if not problem and aggregates and _excess(authorizer, user, namespace, _EVERYTHING):
            problem = "must have cluster-admin privileges to use the aggregationRule"
    else:
        problem = _excess_of_binding(authorizer, user, definition, namespace, document.get("roleRef") or {})
    if problem:
        raise forbidden(definition.name, name, problem)


def _excess_of_binding(
    authorizer: Authorizer, user: User, definition: Definition, namespace: str, reference: Document
) -> str:
    kind, role = reference.get("kind", ""), reference.get("name", "")
    if kind not in ("Role", "ClusterRole"):
        return ""  # it grants nothing and is not valid
    group = reference.get("apiGroup", "")
    bind = Attributes("bind", group, rules.ANY, f"{kind.lower()}s", namespace=namespace, name=role)
    if authorizer.allows(user, bind):
        return ""
    if not role:
        raise bad_request("Name parameter required.")
    granted = authorizer.rules_of_role(kind, namespace, role)
    if granted is None:
        raise not_found(definition.name, role)
    return _excess(authorizer, user, namespace, granted)


def _excess(authorizer: Authorizer, user: User, namespace: str, granted: tuple[rules.Rule, ...]) -> str:
    """What is in the rules that the user does not have; empty if nothing is."""
    held, problems = authorizer.rules_for(user, namespace)
    who = f"user {quoted(user.name)} (groups={quoted_list(user.groups)})"
    if sum(rule.size for rule in granted) > _MOST_ATOMS:
        return f"{who} is attempting to grant too many RBAC permissions at once"
    missing = [
        atom for rule in granted for atom in rule.atoms() if not any(each.covers(atom) for each in held)
    ]
    if not missing:
        return ""
    text = f"{who} is attempting to grant RBAC permissions not currently held:\n"
    text += "\n".join(rules.described(missing))
    return f"{text}; resolution errors: [{problems}]" if problems else text


def _aggregates(role: Document) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _essence(document: Document) -> Document:
    """All but what the garbage collector changes."""
    metadata = document["metadata"]
    kept = {name: value for name, value in metadata.items() if name not in _GARBAGE_COLLECTION}
    return {**document, "metadata": kept}
