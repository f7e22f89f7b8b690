"""Roles and their bindings."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy
from moorage.cluster.schema.checking import Around, check, check_form, relates

GROUP = "rbac.authorization.k8s.io"

_BOTH = "rules cannot apply to both regular resources and non-resource URLs"


@relates("rbac.v1.PolicyRule")
def _either_paths_or_resources(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    paths = rule.get("nonResourceURLs")
    if paths:
        if "rbac.v1.Role" in around:
            text = "namespaced rules cannot apply to non-resource URLs"
            yield errors.invalid_value(f"{path}.nonResourceURLs", paths, text)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            yield errors.invalid_value(f"{path}.nonResourceURLs", paths, _BOTH)
        return
    for name, what in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(name):
            yield errors.required(f"{path}.{name}", f"resource rules must supply at least one {what}")


@relates("rbac.v1.AggregationRule")
def _selectors(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    for index, selector in enumerate(rule.get("clusterRoleSelectors") or ()):
        place = f"{path}.clusterRoleSelectors[{index}]"
        problems = check("meta.v1.LabelSelector", selector, place)
        yield from problems
        if problems:
            yield errors.invalid_value(place, None, "invalid label selector.")


class BindingStrategy(KindStrategy):
    """A RoleBinding or ClusterRoleBinding."""

    def default(self, document: Document) -> None:
        super().default(document)
        for subject in document.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP


@relates("rbac.v1.RoleRef")
def _kind_of_role(role: Document, path: str, around: Around) -> Iterator[Cause]:
    kinds = ("ClusterRole",) if "rbac.v1.ClusterRoleBinding" in around else ("Role", "ClusterRole")
    if role.get("kind") not in kinds:
        yield errors.unsupported_value(f"{path}.kind", role.get("kind", ""), kinds)


@relates("rbac.v1.Subject")
def _subject(subject: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        if name:
            yield from check_form("dns-subdomain", name, f"{path}.name")
        if group:
            yield errors.unsupported_value(f"{path}.apiGroup", group, ("",))
        if "rbac.v1.ClusterRoleBinding" in around and not subject.get("namespace"):
            yield errors.required(f"{path}.namespace")
    elif kind in ("User", "Group") and group != GROUP:
        yield errors.unsupported_value(f"{path}.apiGroup", group, (GROUP,))
