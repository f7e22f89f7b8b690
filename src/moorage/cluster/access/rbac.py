"""Who may do what, as roles and their bindings say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from moorage.cluster.access.rules import BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, ROLES, Rule, all_rules
from moorage.cluster.access.users import MASTERS, Attributes, User, account_username, forbidden_refusal
from moorage.cluster.base.errors import Refusal, listed
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Change, Document, Store

_MOST_GRANTS = 4096
_MOST_ANSWERS = 4096
_Subject = tuple[str, str]
"""User or Group, and its name."""
_Bound = dict[_Subject, set[str]]
"""The names of bindings by whom they are for."""
_Answer = tuple[dict[str, "Decision"], "Decision"]
"""For one verb on one resource: what holds for objects of certain names, and for all others."""


class Decision(NamedTuple):
    allowed: bool
    reason: str
    """Which binding allows it; of what is not allowed, what is wrong with the bindings that might."""


_ALWAYS = Decision(True, "")


class _Grants:
    """All that a user may do in one namespace, or outside of namespaces."""

    def __init__(self, rules: list[tuple[str, Rule]], problems: str) -> None:
        self.rules = rules
        self.problems = problems
        self._refused = Decision(False, f"RBAC: {problems}" if problems else "")
        self._answers: dict[tuple[str, ...], _Answer] = {}

    def decide(self, attributes: Attributes) -> Decision:
        verb, group, _, resource, subresource, _, name, path = attributes
        key = (verb, group, resource, subresource) if path is None else (verb, path)
        answer = self._answers.get(key)
        if answer is None:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            answer = self._answers[key] = self._ask(attributes)
        named, other = answer
        return named.get(name, other)

    def _ask(self, attributes: Attributes) -> _Answer:
        named: dict[str, Decision] = {}
        for source, rule in self.rules:
            if not rule.allows(attributes):
                continue
            decision = Decision(True, f"RBAC: allowed by {source}")
            if not rule.names or attributes.path is not None:
                return named, decision
            for name in rule.names:
                named.setdefault(name, decision)
        return named, self._refused


class Authorizer:
    """Decides by the roles and bindings in the store, as they are at that moment.

    Those of a namespace are looked through when the first question about it is asked.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._bound: dict[str, _Bound] = {}
        self._rules: dict[tuple[str, str, str], tuple[Rule, ...]] = {}
        self._grants: dict[tuple[str, tuple[str, ...], str], _Grants] = {}
        for resource in (BINDINGS, CLUSTER_BINDINGS):
            store.listen(resource, self._binding_changed)
        for resource in (ROLES, CLUSTER_ROLES):
            store.listen(resource, self._role_changed)

    def allows(self, user: User, attributes: Attributes) -> bool:
        return self.decide(user, attributes).allowed

    def decide(self, user: User, attributes: Attributes) -> Decision:
        if MASTERS in user.groups:
            return _ALWAYS
        return self._grants_of(user, attributes.namespace).decide(attributes)

    def require(self, user: User, attributes: Attributes) -> None:
        """Raises the refusal for what the user may not do."""
        if not self.allows(user, attributes):
            raise self.forbidden_refusal(user, attributes)

    def forbidden_refusal(self, user: User, attributes: Attributes) -> Refusal:
        """How a user is told of something that is not allowed."""
        return forbidden_refusal(user, attributes, self.decide(user, attributes).reason)

    def rules_for(self, user: User, namespace: str) -> tuple[list[Rule], str]:
        """The rules that count for a user, and what is wrong with the bindings, if anything."""
        grants = self._grants_of(user, namespace)
        return [rule for _, rule in grants.rules], grants.problems

    def rules_of_role(self, kind: str, namespace: str, name: str) -> tuple[Rule, ...] | None:
        """The rules of a Role or ClusterRole; None if there is no such role."""
        resource, namespace = (ROLES, namespace) if kind == "Role" else (CLUSTER_ROLES, "")
        key = (resource, namespace, name)
        rules = self._rules.get(key)
        if rules is None:
            stored = self._store.get(resource, namespace, name)
            if stored is None:
                return None
            roles = (each.document for each in self._store.iterate(CLUSTER_ROLES))
            rules = self._rules[key] = all_rules(stored.document, roles)
        return rules

    def _grants_of(self, user: User, namespace: str) -> _Grants:
        key = (user.name, user.groups, namespace)
        grants = self._grants.get(key)
        if grants is None:
            if len(self._grants) >= _MOST_GRANTS:
                self._grants.clear()
            grants = self._grants[key] = self._find_grants(user, namespace)
        return grants

    def _find_grants(self, user: User, namespace: str) -> _Grants:
        rules: list[tuple[str, Rule]] = []
        problems: dict[str, None] = {}
        for place in ("", namespace) if namespace else ("",):
            for name, binding in self._bindings_of(user, place):
                kind, role = _role_of(binding)
                found = self.rules_of_role(kind, place, role)
                if found is None:
                    problems[f"{kind.lower()}.rbac.authorization.k8s.io {quoted(role)} not found"] = None
                    continue
                source = _source(user, place, name, binding)
                rules += [(source, rule) for rule in found]
        return _Grants(rules, listed(problems) if problems else "")

    def _bindings_of(self, user: User, namespace: str) -> Iterator[tuple[str, Document]]:
        bound = self._bound.get(namespace) or self._look_through(namespace)
        names: set[str] = set()
        for subject in _subjects_of(user):
            names |= bound.get(subject, set())
        for name in sorted(names):
            stored = self._store.get(BINDINGS if namespace else CLUSTER_BINDINGS, namespace, name)
            if stored is not None:
                yield name, stored.document

    def _look_through(self, namespace: str) -> _Bound:
        bound: _Bound = {}
        for stored in self._store.iterate(BINDINGS if namespace else CLUSTER_BINDINGS, namespace):
            for subject in stored.document.get("subjects") or ():
                bound.setdefault(_subject(namespace, subject), set()).add(stored.name)
        if bound:  # anybody can ask about namespaces that do not exist
            self._bound[namespace] = bound
        return bound

    def _binding_changed(self, change: Change) -> None:
        self._grants.clear()
        self._bound.pop(change.new.namespace, None)

    def _role_changed(self, change: Change) -> None:
        self._grants.clear()
        if change.resource == CLUSTER_ROLES:
            # Any of them may be part of an aggregated one.
            self._rules.clear()
        else:
            self._rules.pop((change.resource, change.new.namespace, change.new.name), None)


def _role_of(binding: Document) -> tuple[str, str]:
    """The kind and the name of what is bound."""
    reference = binding.get("roleRef") or {}
    return reference.get("kind", ""), reference.get("name", "")


def _subjects_of(user: User) -> list[_Subject]:
    return [("User", user.name), *(("Group", group) for group in user.groups)]


def _subject(namespace: str, subject: Document) -> _Subject:
    """Whom a binding in a namespace is for; a service account is the user of its name."""
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind == "ServiceAccount" and (place := subject.get("namespace") or namespace):
        return "User", account_username(place, name)
    return kind, name


def _source(user: User, namespace: str, name: str, binding: Document) -> str:
    """Where rights come from, as reviews tell it."""
    whole = f"{name}/{namespace}" if namespace else name
    role_kind, role = _role_of(binding)
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    text = f"{kind} {quoted(whole)} of {role_kind} {quoted(role)}"
    mine = _subjects_of(user)
    for subject in binding.get("subjects") or ():
        if _subject(namespace, subject) in mine:
            shown = subject.get("name", "")
            if subject["kind"] == "ServiceAccount":
                shown = f"{shown}/{subject.get('namespace') or namespace}"
            return f"{text} to {subject['kind']} {quoted(shown)}"
    return text
