"""Roles and their bindings."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.fields import broken, dns_subdomain, label_selector
from moorage.cluster.kinds.name_forms import path_segment_problems
from moorage.cluster.schema.definitions import Strategy

GROUP = "rbac.authorization.k8s.io"

_BOTH = "rules cannot apply to both regular resources and non-resource URLs"


class RoleStrategy(Strategy):
    created_by_update = True

    def validate(self, document: Document) -> Iterator[Cause]:
        return _rules(document, namespaced=True)


class ClusterRoleStrategy(Strategy):
    created_by_update = True

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from _rules(document, namespaced=False)
        aggregation = document.get("aggregationRule")
        if aggregation is None:
            return
        field = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or ()
        if not selectors:
            yield required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")
        for index, selector in enumerate(selectors):
            problems = list(label_selector(f"{field}[{index}]", selector))
            yield from problems
            if problems:
                yield invalid_value(f"{field}[{index}]", None, "invalid label selector.")


def _rules(document: Document, *, namespaced: bool) -> Iterator[Cause]:
    for index, rule in enumerate(document.get("rules") or ()):
        field = f"rules[{index}]"
        if not rule.get("verbs"):
            yield required(f"{field}.verbs", "verbs must contain at least one value")
        paths = rule.get("nonResourceURLs")
        if paths:
            if namespaced:
                text = "namespaced rules cannot apply to non-resource URLs"
                yield invalid_value(f"{field}.nonResourceURLs", paths, text)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                yield invalid_value(f"{field}.nonResourceURLs", paths, _BOTH)
            continue
        if not rule.get("apiGroups"):
            yield required(f"{field}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{field}.resources", "resource rules must supply at least one resource")


class _BindingStrategy(Strategy):
    created_by_update = True
    kinds: tuple[str, ...]
    namespaced: bool

    def default(self, document: Document) -> None:
        role = own_part(document, "roleRef")
        if not role.get("apiGroup"):
            role["apiGroup"] = GROUP
        for subject in document.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP

    def validate(self, document: Document) -> Iterator[Cause]:
        role = part(document, "roleRef")
        group, kind, name = role.get("apiGroup", ""), role.get("kind", ""), role.get("name", "")
        if group != GROUP:
            yield unsupported_value("roleRef.apiGroup", group, (GROUP,))
        if kind not in self.kinds:
            yield unsupported_value("roleRef.kind", kind, self.kinds)
        if name:
            yield from broken("roleRef.name", name, path_segment_problems(name))
        else:
            yield required("roleRef.name")
        for index, subject in enumerate(document.get("subjects") or ()):
            yield from self._subject(f"subjects[{index}]", subject)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = (
            {
                "APIGroup": role.get("apiGroup", ""),
                "Kind": role.get("kind", ""),
                "Name": role.get("name", ""),
            }
            for role in (part(new, "roleRef"), part(old, "roleRef"))
        )
        if after != before:
            yield invalid_value("roleRef", after, "cannot change roleRef")

    def _subject(self, field: str, subject: Document) -> Iterator[Cause]:
        kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
        if not name:
            yield required(f"{field}.name")
        if kind == "ServiceAccount":
            if name:
                yield from dns_subdomain(f"{field}.name", name)
            if group:
                yield unsupported_value(f"{field}.apiGroup", group, ("",))
            if not self.namespaced and not subject.get("namespace"):
                yield required(f"{field}.namespace")
        elif kind in ("User", "Group"):
            if group != GROUP:
                yield unsupported_value(f"{field}.apiGroup", group, (GROUP,))
        else:
            yield unsupported_value(f"{field}.kind", kind, ("ServiceAccount", "User", "Group"))


class RoleBindingStrategy(_BindingStrategy):
    kinds = ("Role", "ClusterRole")
    namespaced = True


class ClusterRoleBindingStrategy(_BindingStrategy):
    kinds = ("ClusterRole",)
    namespaced = False
