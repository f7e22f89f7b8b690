"""The rules of `metadata`, which all objects keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moorage.api.names import is_qualified_name, qualified_name_problems
from moorage.cluster.base.errors import (
    Cause,
    forbidden_value,
    invalid_value,
    required,
    shown,
    too_long,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import (
    IMMUTABLE,
    Found,
    check_dns_label,
    check_form,
    check_labels,
    check_nonnegative,
    check_qualified_name,
)
from moorage.cluster.schema.forms import (
    as_prefix,
    dns_label_problems,
    dns_subdomain_problems,
    path_segment_problems,
    size,
)

NameRule = Callable[[str], list[str]]

ANNOTATIONS_LIMIT = 256 * 1024  # bytes of all keys and values together
MANAGER_LIMIT = 128
SUBRESOURCE_LIMIT = 256

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
_STANDARD_FINALIZERS = ("kubernetes", ORPHAN, FOREGROUND)

_RBAC = "rbac.authorization.k8s.io"
_NAME_RULES: Mapping[str, NameRule] = {
    "namespaces": dns_label_problems,
    "services": dns_label_problems,
    "statefulsets.apps": dns_label_problems,
    "events": path_segment_problems,
    "poddisruptionbudgets.policy": path_segment_problems,
    f"roles.{_RBAC}": path_segment_problems,
    f"rolebindings.{_RBAC}": path_segment_problems,
    f"clusterroles.{_RBAC}": path_segment_problems,
    f"clusterrolebindings.{_RBAC}": path_segment_problems,
}


def name_rule_of(storage: str) -> NameRule:
    """What the objects of a resource may be called."""
    return _NAME_RULES.get(storage, dns_subdomain_problems)


def validate_metadata(
    document: Document, *, namespaced: bool, name_rule: NameRule, qualified_finalizers: bool = True
) -> Iterable[Cause]:
    """The rules new metadata breaks. Some resources may have finalizers without a domain."""
    metadata = document["metadata"]
    found: Found = []
    prefix = metadata.get("generateName", "")
    if prefix:
        for problem in as_prefix(name_rule)(prefix):
            found.append(invalid_value("metadata.generateName", prefix, problem))
    name = metadata.get("name", "")
    if name:
        check_form(name, "metadata.name", name_rule, found)
    else:
        found.append(required("metadata.name", "name or generateName is required"))
    namespace = metadata.get("namespace", "")
    if not namespaced:
        if namespace:
            found.append(forbidden_value("metadata.namespace", "not allowed on this type"))
    elif namespace:
        check_dns_label(namespace, "metadata.namespace", found)
    else:
        found.append(required("metadata.namespace"))
    check_nonnegative(metadata.get("generation"), "metadata.generation", found)
    _check_common(metadata, found)
    _check_finalizers(metadata.get("finalizers", ()), found)
    _check_managed_fields(metadata.get("managedFields", ()), found)
    if qualified_finalizers:
        _check_standard_finalizers(metadata.get("finalizers", ()), found)
    return found


def validate_metadata_update(
    new: Document, old: Document, *, qualified_finalizers: bool = True
) -> Iterable[Cause]:
    """The rules a change of metadata breaks."""
    metadata, before = new["metadata"], old["metadata"]
    found: Found = []
    finalizers = metadata.get("finalizers", ())
    if "deletionTimestamp" in before:
        added = sorted(set(finalizers).difference(before.get("finalizers", ())))
        if added:
            listed = ", ".join(shown(each) for each in added)
            detail = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            found.append(forbidden_value("metadata.finalizers", detail))
    if metadata.get("generation", 0) < before.get("generation", 0):
        found.append(
            invalid_value("metadata.generation", metadata.get("generation", 0), "must not be decremented")
        )
    for field, absent in _FIXED:
        value = metadata.get(field, absent)
        if value != before.get(field, absent):
            found.append(invalid_value(f"metadata.{field}", value, IMMUTABLE))
    _check_common(metadata, found)
    _check_managed_fields(metadata.get("managedFields", ()), found)
    if qualified_finalizers:
        _check_standard_finalizers(finalizers, found)
    return found


_FIXED: tuple[tuple[str, Any], ...] = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def _check_common(metadata: Document, found: Found) -> None:
    check_labels(metadata.get("labels"), "metadata.labels", found)
    check_annotations(metadata.get("annotations"), "metadata.annotations", found)
    owners = metadata.get("ownerReferences")
    if owners:
        _check_owners(owners, found)


def check_annotations(annotations: Mapping[str, str] | None, path: str, found: Found) -> None:
    if not annotations:
        return
    total = 0
    for key, value in annotations.items():
        if not is_qualified_name(key):
            for problem in qualified_name_problems(key.lower()):
                found.append(invalid_value(path, key, problem))
        total += size(key) + size(value)
    if total > ANNOTATIONS_LIMIT:
        found.append(too_long(path, ANNOTATIONS_LIMIT))


def _check_owners(owners: list[Document], found: Found) -> None:
    path = "metadata.ownerReferences"
    controller = ""
    for owner in owners:
        api_version, kind = owner.get("apiVersion", ""), owner.get("kind", "")
        group, _, version = api_version.rpartition("/")
        if not version or "/" in group:
            found.append(invalid_value(f"{path}.apiVersion", api_version, "version must not be empty"))
        if not kind:
            found.append(invalid_value(f"{path}.kind", kind, "must not be empty"))
        for field in ("name", "uid"):
            if not owner.get(field):
                found.append(invalid_value(f"{path}.{field}", "", "must not be empty"))
        if (api_version, kind) == ("v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            found.append(invalid_value(path, _shown_owner(owner), detail))
        if owner.get("controller"):
            this = f"{kind}/{owner.get('name', '')}"
            if controller:
                detail = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {this}'
                )
                found.append(invalid_value(path, [_shown_owner(each) for each in owners], detail))
            else:
                controller = this


def _shown_owner(owner: Document) -> Document:
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return {field: owner[field] for field in order if field in owner}


def _check_finalizers(finalizers: Iterable[str], found: Found) -> None:
    for finalizer in finalizers:
        check_qualified_name(finalizer, "metadata.finalizers", found)
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        found.append(invalid_value("metadata.finalizers", list(finalizers), detail))


def _check_standard_finalizers(finalizers: Iterable[str], found: Found) -> None:
    for index, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(invalid_value(f"metadata.finalizers[{index}]", finalizer, detail))


def _check_managed_fields(entries: Iterable[Document], found: Found) -> None:
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            found.append(invalid_value(f"{path}.operation", operation, "must be `Apply` or `Update`"))
        fields_type = entry.get("fieldsType", "")
        if fields_type and fields_type != "FieldsV1":
            found.append(invalid_value(f"{path}.fieldsType", fields_type, "must be `FieldsV1`"))
        manager = entry.get("manager", "")
        if size(manager) > MANAGER_LIMIT:
            found.append(too_long(f"{path}.manager", MANAGER_LIMIT))
        if not manager.isprintable():
            for place, character in enumerate(manager):
                if not character.isprintable():
                    detail = f"invalid character U+{ord(character):04X} (at position {place})"
                    found.append(invalid_value(f"{path}.manager", manager, detail))
        if size(entry.get("subresource", "")) > SUBRESOURCE_LIMIT:
            found.append(too_long(f"{path}.subresource", SUBRESOURCE_LIMIT))
