"""The rules of `metadata`, which all objects keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.schema.checking import Around, check, check_change, check_form, relates
from moorage.cluster.schema.forms import (
    as_prefix,
    canonical_ip_problems,
    dns_label_problems,
    dns_subdomain_problems,
    path_segment_problems,
    size,
)

NameRule = Callable[[str], list[str]]

ANNOTATIONS_LIMIT = 256 * 1024  # bytes of all keys and values together

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
    "apiservices.apiregistration.k8s.io": path_segment_problems,
    "certificatesigningrequests.certificates.k8s.io": path_segment_problems,
    "ipaddresses.networking.k8s.io": canonical_ip_problems,
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
) -> list[Cause]:
    """The rules new metadata breaks. Some resources may have finalizers without a domain."""
    metadata = document["metadata"]
    return [
        *_name_rules(metadata, namespaced, name_rule),
        *_finalizer_rules(metadata.get("finalizers", ())),
        *_common_rules(metadata, qualified_finalizers),
    ]


def _name_rules(metadata: Document, namespaced: bool, name_rule: NameRule) -> Iterator[Cause]:
    name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
    if prefix:
        problems = as_prefix(name_rule)(prefix)
        yield from (invalid_value("metadata.generateName", prefix, problem) for problem in problems)
    if name:
        yield from (invalid_value("metadata.name", name, problem) for problem in name_rule(name))
    else:
        yield errors.required("metadata.name", "name or generateName is required")
    namespace = metadata.get("namespace", "")
    if namespaced and namespace:
        yield from check_form("dns-label", namespace, "metadata.namespace")
    elif namespaced:
        yield errors.required("metadata.namespace")
    elif namespace:
        yield forbidden_value("metadata.namespace", "not allowed on this type")
    if metadata.get("generation", 0) < 0:
        yield invalid_value(
            "metadata.generation", metadata["generation"], "must be greater than or equal to 0"
        )


def _finalizer_rules(finalizers: Sequence[str]) -> Iterator[Cause]:
    for finalizer in finalizers:
        yield from check_form("qualified-name", finalizer, "metadata.finalizers")
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        detail = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        yield invalid_value("metadata.finalizers", list(finalizers), detail)


def validate_metadata_update(
    new: Document, old: Document, *, qualified_finalizers: bool = True
) -> Iterator[Cause]:
    """The rules a change of metadata breaks."""
    metadata, before = new["metadata"], old["metadata"]
    added = sorted(set(metadata.get("finalizers", ())).difference(before.get("finalizers", ())))
    if added and "deletionTimestamp" in before:
        listed = ", ".join(errors.shown(each) for each in added)
        detail = (
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{listed}}}"
        )
        yield forbidden_value("metadata.finalizers", detail)
    generation = metadata.get("generation", 0)
    if generation < before.get("generation", 0):
        yield invalid_value("metadata.generation", generation, "must not be decremented")
    yield from check_change("meta.v1.ObjectMeta", metadata, before, "metadata")
    yield from _common_rules(metadata, qualified_finalizers)


def _common_rules(metadata: Document, qualified_finalizers: bool) -> Iterator[Cause]:
    yield from check("meta.v1.ObjectMeta", metadata, "metadata")
    for index, finalizer in enumerate(metadata.get("finalizers", ()) if qualified_finalizers else ()):
        yield from finalizer_rules(finalizer, f"metadata.finalizers[{index}]")


def finalizer_rules(name: str, path: str) -> Iterator[Cause]:
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        yield invalid_value(path, name, "name is neither a standard finalizer name nor is it fully qualified")


def annotation_rules(annotations: Mapping[str, str] | None, path: str) -> Iterator[Cause]:
    for key in annotations or ():
        yield from check_form("qualified-name-lower", key, path)
    if sum(size(key) + size(value) for key, value in (annotations or {}).items()) > ANNOTATIONS_LIMIT:
        yield errors.too_long(path, ANNOTATIONS_LIMIT)


@relates("meta.v1.ObjectMeta")
def _owners_and_annotations(metadata: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from annotation_rules(metadata.get("annotations"), f"{path}.annotations")
    path = f"{path}.ownerReferences"
    owners: Sequence[Document] = metadata.get("ownerReferences") or ()
    for owner in owners:
        group, _, version = owner.get("apiVersion", "").rpartition("/")
        if not version or "/" in group:
            yield invalid_value(
                f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty"
            )
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                yield invalid_value(f"{path}.{field}", "", "must not be empty")
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            yield invalid_value(
                path, _shown_owner(owner), "/v1, Kind=Event is disallowed from being an owner"
            )
    first, *others = [owner for owner in owners if owner.get("controller")] or [{}]
    for other in others:
        who = " and ".join(f"{each.get('kind', '')}/{each.get('name', '')}" for each in (first, other))
        detail = f'Only one reference can have Controller set to true. Found "true" in references for {who}'
        yield invalid_value(path, [_shown_owner(each) for each in owners], detail)


def _shown_owner(owner: Document) -> Document:
    order = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return {field: owner[field] for field in order if field in owner}


@relates("meta.v1.ManagedFieldsEntry")
def _managed_fields(entry: Document, path: str, around: Around) -> Iterator[Cause]:
    operation, fields_type = entry.get("operation", ""), entry.get("fieldsType", "")
    if operation not in ("Apply", "Update"):
        yield invalid_value(f"{path}.operation", operation, "must be `Apply` or `Update`")
    if fields_type and fields_type != "FieldsV1":
        yield invalid_value(f"{path}.fieldsType", fields_type, "must be `FieldsV1`")
    manager = entry.get("manager", "")
    for place, character in enumerate(manager if not manager.isprintable() else ""):
        if not character.isprintable():
            detail = f"invalid character U+{ord(character):04X} (at position {place})"
            yield invalid_value(f"{path}.manager", manager, detail)
