"""PersistentVolumeClaims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, own_part, part
from moorage.cluster.kinds.differences import difference
from moorage.cluster.kinds.fields import (
    dns_label,
    dns_subdomain,
    immutable,
    label_selector,
    nanos,
    positive_quantity,
    resource_quantity,
    valid_quantity,
)

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
    "claims"
)


class PersistentVolumeClaimStrategy(WithStatus):
    type_name = "core.v1.PersistentVolumeClaim"

    first_status = {"phase": "Pending"}

    def default(self, document: Document) -> None:
        own_part(document, "spec").setdefault("volumeMode", "Filesystem")
        if not part(document, "status").get("phase"):
            document["status"] = {**part(document, "status"), "phase": "Pending"}

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        _arrange_sources(own_part(document, "spec"), {})

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        _arrange_sources(own_part(new, "spec"), part(old, "spec"))

    def validate(self, document: Document) -> Iterator[Cause]:
        return claim_rules("spec", part(document, "spec"))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = _comparable(new), _comparable(old)
        yield from _class_annotation(new, old)
        _allow_changes(after, before, new, old)
        if after != before:
            yield forbidden_value("spec", f"{_FIXED}\n{difference(before, after)}")
        wanted, earlier = _storage(part(new, "spec")), _storage(part(old, "spec"))
        if wanted < earlier and wanted <= nanos(part(part(old, "status"), "capacity").get("storage", "0")):
            yield forbidden_value(
                "spec.resources.requests.storage", "field can not be less than status.capacity"
            )
        modes = part(new, "spec").get("volumeMode"), part(old, "spec").get("volumeMode")
        yield from immutable("volumeMode", *modes)
        yield from _attributes_class(new, old)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        for name in ("capacity", "allocatedResources"):
            for resource, quantity in part(part(new, "status"), name).items():
                yield from valid_quantity(f"status.{name}[{resource}]", quantity)


def claim_rules(field: str, spec: Document) -> Iterator[Cause]:
    """Also for the claims that pods and StatefulSets have in templates."""
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{field}.accessModes", "at least 1 access mode is required")
    yield from label_selector(f"{field}.selector", spec.get("selector"))
    yield from access_modes(f"{field}.accessModes", modes)
    place = f"{field}.resources[storage]"
    storage = part(part(spec, "resources"), "requests").get("storage")
    if storage is None:
        yield required(place)
    elif nanos(storage) <= 0:
        yield from positive_quantity(place, storage)
    else:
        yield from resource_quantity(place, "storage", storage)
    for name in ("storageClassName", "volumeAttributesClassName"):
        if name == "volumeAttributesClassName":
            yield from _mode_and_sources(field, spec)
        if spec.get(name):
            yield from dns_subdomain(f"{field}.{name}", spec[name])


def access_modes(field: str, modes: list[str] | tuple[str, ...]) -> Iterator[Cause]:
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield unsupported_value(field, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        yield forbidden_value(field, "may not use ReadWriteOncePod with other access modes")


def _mode_and_sources(field: str, spec: Document) -> Iterator[Cause]:
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield unsupported_value(f"{field}.volumeMode", mode, VOLUME_MODES)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, found in (("dataSource", source), ("dataSourceRef", reference)):
        if found is not None:
            yield from _source_rules(f"{field}.{name}", found)
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        yield invalid_value(field, {}, text)
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid_value(field, {}, "must match dataSourceRef")


def _source_rules(field: str, source: Document) -> Iterator[Cause]:
    for name in ("name", "kind"):
        if not source.get(name):
            yield required(f"{field}.{name}")
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if group:
        yield from dns_subdomain(f"{field}.apiGroup", group)
    elif kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid_value(field, kind, text)
    if source.get("namespace"):
        yield from dns_label(f"{field}.namespace", source["namespace"])


def _arrange_sources(spec: Document, before: Document) -> None:
    """The old and the new field for the source of a volume say the same; odd old ones are dropped."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and "dataSourceRef" not in before:
        reference = None
        del spec["dataSourceRef"]
    fresh = "dataSource" not in before and "dataSourceRef" not in before
    if source is not None and reference is None and fresh and not _is_old_source(source):
        source = None
        del spec["dataSource"]
    if source is not None and reference is None:
        spec["dataSourceRef"] = {name: source.get(name) for name in ("apiGroup", "kind", "name")}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: reference.get(name) for name in ("apiGroup", "kind", "name")}
    for name in ("dataSource", "dataSourceRef"):
        if name in spec:
            spec[name].setdefault("apiGroup", None)


def _is_old_source(source: Document) -> bool:
    return (source.get("apiGroup") or "", source.get("kind", "")) in _OLD_SOURCES


def _storage(spec: Document) -> int:
    return nanos(part(part(spec, "resources"), "requests").get("storage", "0"))


def _comparable(document: Document) -> dict[str, Any]:
    """A spec with all its fields, named and ordered as they are in messages."""
    spec = part(document, "spec")
    resources = part(spec, "resources")
    return {
        "AccessModes": spec.get("accessModes"),
        "Selector": spec.get("selector"),
        "Resources": {"Limits": resources.get("limits"), "Requests": resources.get("requests")},
        "VolumeName": spec.get("volumeName", ""),
        "StorageClassName": spec.get("storageClassName"),
        "VolumeMode": spec.get("volumeMode"),
        "DataSource": _shown_source(spec.get("dataSource")),
        "DataSourceRef": _shown_source(spec.get("dataSourceRef"), "namespace"),
        "VolumeAttributesClassName": spec.get("volumeAttributesClassName"),
    }


def _shown_source(source: Document | None, *more: str) -> dict[str, Any] | None:
    if source is None:
        return None
    shown = {
        "APIGroup": source.get("apiGroup"),
        "Kind": source.get("kind", ""),
        "Name": source.get("name", ""),
    }
    return shown | {name.capitalize(): source.get(name) for name in more}


def _allow_changes(after: dict[str, Any], before: dict[str, Any], new: Document, old: Document) -> None:
    """Takes out of two specs the differences that are allowed."""
    if not before["VolumeName"]:
        before["VolumeName"] = after["VolumeName"]
    annotations = old["metadata"].get("annotations") or {}
    chosen = after["StorageClassName"]
    if before["StorageClassName"] is None and annotations.get(CLASS_ANNOTATION, chosen) == chosen:
        after["StorageClassName"] = None
    if part(new, "status").get("phase") == "Bound":
        requests = before["Resources"]["Requests"]
        if after["Resources"]["Requests"] is not None and requests is not None:
            kept = {name: value for name, value in requests.items() if name == "storage"}
            after["Resources"]["Requests"] = {**after["Resources"]["Requests"], **kept}
        after["VolumeAttributesClassName"] = before["VolumeAttributesClassName"]


def _class_annotation(new: Document, old: Document) -> Iterator[Cause]:
    before = (old["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION, "")
    after = (new["metadata"].get("annotations") or {}).get(CLASS_ANNOTATION, "")
    moved = before and not after and part(new, "spec").get("storageClassName") == before
    if not (moved and part(old, "spec").get("storageClassName") is None):
        yield from immutable(f"metadata.annotations.{CLASS_ANNOTATION}", after, before)


def _attributes_class(new: Document, old: Document) -> Iterator[Cause]:
    after = part(new, "spec").get("volumeAttributesClassName")
    current = part(old, "status").get("currentVolumeAttributesClassName")
    if current is None or after == part(old, "spec").get("volumeAttributesClassName") or after:
        return
    what = "nil" if after is None else "empty string"
    yield forbidden_value(
        "spec.volumeAttributesClassName",
        f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil",
    )
