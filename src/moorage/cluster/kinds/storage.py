"""Volumes of the cluster and claims for them, and the kinds of storage.k8s.io: what relates their fields."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator
from time import time
from typing import Any

from moorage.api import quantities
from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds.common import KindStrategy, WithStatus, difference, own_part, part
from moorage.cluster.kinds.pods.volumes import check_source
from moorage.cluster.schema.checking import IMMUTABLE, Around, Found, check, check_change, check_form, relates
from moorage.cluster.schema.definitions import keep_but, keep_field, keep_status
from moorage.cluster.schema.forms import nanos
from moorage.cluster.schema.rules import rules_of

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

_SOURCES = rules_of("core.v1.PersistentVolumeSpec").alternatives
_OLD_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_SOURCE_FIELDS = ("apiGroup", "kind", "name")
_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound "
    "claims"
)


# Both


@relates("core.v1.PersistentVolumeSpec", "core.v1.PersistentVolumeClaimSpec")
def _access_modes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    modes = spec.get("accessModes") or ()
    if "ReadWriteOncePod" in modes and {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"}.intersection(modes):
        text = "may not use ReadWriteOncePod with other access modes"
        yield errors.forbidden_value(f"{path}.accessModes", text)


def _check_amounts(amounts: Document, path: str) -> Iterator[Cause]:
    for resource, quantity in amounts.items():
        whole = quantities.value(nanos(quantity))
        if whole < 0:
            yield errors.invalid_value(f"{path}[{resource}]", whole, "must be a valid resource quantity")


def _check_same_mode(new: Document, old: Document) -> Iterator[Cause]:
    mode = part(new, "spec").get("volumeMode")
    if mode != part(old, "spec").get("volumeMode"):
        yield errors.invalid_value("volumeMode", mode, IMMUTABLE)


# Volumes


class PersistentVolumeStrategy(WithStatus):
    type_name = "core.v1.PersistentVolume"

    def __init__(self, now: Callable[[], str] = lambda: timestamp(time())) -> None:
        super().__init__()
        self._now = now

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"lastPhaseTransitionTime": self._now(), "phase": "Pending"}

    def prepare_status_update(self, new: Document, old: Document) -> None:
        super().prepare_status_update(new, old)
        before, after = part(old, "status"), own_part(new, "status")
        if after.get("lastPhaseTransitionTime") not in (None, before.get("lastPhaseTransitionTime")):
            return
        keep_field(after, before, "lastPhaseTransitionTime")
        if before.get("phase") != after.get("phase"):
            after["lastPhaseTransitionTime"] = self._now()

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "spec"), part(old, "spec")
        new_source, old_source = _source(after), _source(before)
        if "controllerExpandSecretRef" not in part(old_source, "csi"):
            part(new_source, "csi").pop("controllerExpandSecretRef", None)  # may be added later
        if new_source != old_source:
            text = "spec.persistentvolumesource is immutable after creation"
            changed = difference(old_source, new_source)
            yield errors.forbidden_value("spec.persistentvolumesource", f"{text}\n{changed}")
        yield from _check_same_mode(new, old)
        affinity = after.get("nodeAffinity")
        if "nodeAffinity" in before and before["nodeAffinity"] != affinity:
            text = "field is immutable, except for updating from beta label to GA"
            yield errors.invalid_value("nodeAffinity", affinity, text)
        if "volumeAttributesClassName" in before and "volumeAttributesClassName" not in after:
            text = "update from non-nil value to nil is forbidden"
            yield errors.forbidden_value("spec.volumeAttributesClassName", text)

    def warnings(self, document: Document) -> list[str]:
        text = (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
        return [text] if document["spec"].get("persistentVolumeReclaimPolicy") == "Recycle" else []


def _source(spec: Document) -> Document:
    return {name: dict(spec[name]) for name in _SOURCES if name in spec}


@relates("core.v1.PersistentVolumeSpec")
def _capacity(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    capacity = part(spec, "capacity")
    if list(capacity) != ["storage"]:
        yield errors.unsupported_value(f"{path}.capacity", capacity or None, ("storage",))
    yield from _check_amounts(capacity, f"{path}.capacity")


@relates("core.v1.PersistentVolumeSpec")
def _volume_source(spec: Document, path: str, around: Around) -> Found:
    return check_source(spec, _SOURCES, path)


@relates("core.v1.PersistentVolumeSpec")
def _recycling(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    host_path = part(spec, "hostPath").get("path", "")
    is_root = host_path.startswith("/") and not posixpath.normpath(host_path).strip("/")
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield errors.forbidden_value(f"{path}.persistentVolumeReclaimPolicy", text)


@relates("core.v1.PersistentVolumeSpec", where="volumeAttributesClassName")
def _attributes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if "csi" not in spec:
        yield errors.required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


@relates("core.v1.LocalVolumeSource")
def _local_volume(source: Document, path: str, around: Around) -> Iterator[Cause]:
    if "nodeAffinity" not in around["core.v1.PersistentVolumeSpec"]:
        place = path.removesuffix(".local")
        yield errors.required(f"{place}.nodeAffinity", "Local volume requires node affinity")


# Claims, in their own right and as pods and StatefulSets have them in templates


class PersistentVolumeClaimStrategy(WithStatus):
    type_name = "core.v1.PersistentVolumeClaim"

    first_status = {"phase": "Pending"}

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        _arrange_sources(own_part(document, "spec"), {})

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        _arrange_sources(own_part(new, "spec"), part(old, "spec"))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from _check_class_annotation(new, old)
        after, before = _without_allowed_changes(new, old)
        if after != before:
            yield errors.forbidden_value("spec", f"{_FIXED}\n{difference(before, after)}")
        wanted, capacity = _storage(part(new, "spec")), part(part(old, "status"), "capacity")
        if wanted < _storage(part(old, "spec")) and wanted <= nanos(capacity.get("storage", "0")):
            text = "field can not be less than status.capacity"
            yield errors.forbidden_value("spec.resources.requests.storage", text)
        yield from _check_same_mode(new, old)
        yield from _check_attributes_class(new, old)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        for name in ("capacity", "allocatedResources"):
            yield from _check_amounts(part(part(new, "status"), name), f"status.{name}")


@relates("core.v1.PersistentVolumeClaimSpec")
def _size(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    storage = part(part(spec, "resources"), "requests").get("storage")
    if storage is None:
        yield errors.required(f"{path}.resources[storage]")
    else:
        yield from check_form("positive-quantity", storage, f"{path}.resources[storage]")


@relates("core.v1.PersistentVolumeClaimSpec")
def _sources(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return
    if reference.get("namespace"):
        yield errors.invalid_value(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in _SOURCE_FIELDS):
        yield errors.invalid_value(path, {}, "must match dataSourceRef")


@relates("core.v1.TypedLocalObjectReference", "core.v1.TypedObjectReference")
def _claim_source(source: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = source.get("kind", "")
    if not source.get("apiGroup") and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield errors.invalid_value(path, kind, text)


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
        spec["dataSourceRef"] = {name: source.get(name) for name in _SOURCE_FIELDS}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: reference.get(name) for name in _SOURCE_FIELDS}
    for name in ("dataSource", "dataSourceRef"):
        if name in spec:
            spec[name].setdefault("apiGroup", None)


def _is_old_source(source: Document) -> bool:
    return (source.get("apiGroup") or "", source.get("kind", "")) in _OLD_SOURCES


def _storage(spec: Document) -> int:
    return nanos(part(part(spec, "resources"), "requests").get("storage", "0"))


def _without_allowed_changes(new: Document, old: Document) -> tuple[Document, Document]:
    """The spec as it is to be, with what may change as it was, and the spec as it was."""
    after, before = {**part(new, "spec")}, part(old, "spec")
    annotation = part(old["metadata"], "annotations").get(CLASS_ANNOTATION)
    if not before.get("volumeName"):
        after.pop("volumeName", None)
    if "storageClassName" not in before and annotation in (None, after.get("storageClassName")):
        after.pop("storageClassName", None)
    if part(new, "status").get("phase") == "Bound":
        requests, earlier = (part(part(spec, "resources"), "requests") for spec in (after, before))
        if requests and "storage" in earlier:
            kept = {**requests, "storage": earlier["storage"]}
            after["resources"] = {**after["resources"], "requests": kept}
        keep_field(after, before, "volumeAttributesClassName")
    return after, before


def _check_class_annotation(new: Document, old: Document) -> Iterator[Cause]:
    before, after = (
        part(document["metadata"], "annotations").get(CLASS_ANNOTATION, "") for document in (old, new)
    )
    moved = before and not after and part(new, "spec").get("storageClassName") == before
    if after != before and not (moved and "storageClassName" not in part(old, "spec")):
        yield errors.invalid_value(f"metadata.annotations.{CLASS_ANNOTATION}", after, IMMUTABLE)


def _check_attributes_class(new: Document, old: Document) -> Iterator[Cause]:
    after = part(new, "spec").get("volumeAttributesClassName")
    current = part(old, "status").get("currentVolumeAttributesClassName")
    if current is None or after == part(old, "spec").get("volumeAttributesClassName") or after:
        return
    what = "nil" if after is None else "empty string"
    yield errors.forbidden_value(
        "spec.volumeAttributesClassName",
        f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil",
    )


# Classes, CSI drivers and attachments


@relates("storage.v1.StorageClass")
def _topologies(document: Document, path: str, around: Around) -> Iterator[Cause]:
    earlier: list[dict[str, set[str]]] = []
    for index, term in enumerate(document.get("allowedTopologies") or ()):
        field = f"allowedTopologies[{index}].matchLabelExpressions"
        chosen: dict[str, set[str]] = {}
        for number, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            key = requirement.get("key", "")
            if key in chosen:
                yield errors.duplicate_value(f"{field}[{number}].key", key)
            chosen[key] = set(requirement.get("values") or ())
        if chosen in earlier:
            yield errors.duplicate_value(field, "")
        earlier.append(chosen)


class CSIDriverStrategy(KindStrategy):
    type_name = "storage.v1.CSIDriver"

    def prepare_update(self, new: Document, old: Document) -> None:
        """Generations are counted from the first change on."""
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from check_change(self.type_name, new, old)
        attached = part(new, "spec").get("attachRequired")
        if attached != part(old, "spec").get("attachRequired"):
            yield errors.invalid_value("spec.attachedRequired", attached, IMMUTABLE)


@relates("storage.v1.CSIDriverSpec")
def _token_requests(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield errors.invalid_value(f"{path}.serviceAccountTokenInSecrets", in_secrets, text)


class CSINodeStrategy(KindStrategy):
    type_name = "storage.v1.CSINode"

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        before = {driver.get("name"): driver for driver in part(old, "spec").get("drivers") or ()}
        for driver in part(new, "spec").get("drivers") or ():
            earlier = before.get(driver.get("name"))
            fixed = _fixed_part(driver)
            if earlier is not None and fixed != _fixed_part(earlier):
                yield errors.invalid_value("spec.drivers", fixed, IMMUTABLE)


def _fixed_part(driver: Document) -> dict[str, Any]:
    return {name: value for name, value in driver.items() if name != "allocatable"}


@relates("storage.v1.CSINodeDriver")
def _topology_keys(driver: Document, path: str, around: Around) -> Iterator[Cause]:
    keys = driver.get("topologyKeys") or ()
    for index, key in enumerate(keys):
        if not key:
            yield errors.required(path)
        if key in keys[:index]:
            yield errors.duplicate_value(path, key)
        yield from check_form("qualified-name", key, path)


class VolumeAttachmentStrategy(KindStrategy):
    type_name = "storage.v1.VolumeAttachment"

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"attached": False}

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check("storage.v1.VolumeAttachmentStatus", new.get("status"), "status")


@relates("storage.v1.VolumeAttachmentSpec")
def _attached_volume(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    source = part(spec, "source")
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if name is None and inline is None:
        yield errors.required("spec.source", text)
    elif name is not None and inline is not None:
        yield errors.forbidden_value("spec.source", text)
    elif name == "":
        text = "must specify non empty persistentVolumeName"
        yield errors.required("spec.source.persistentVolumeName", text)
