"""PersistentVolumes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from moorage.cluster.base.errors import (
    Cause,
    forbidden_value,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.claims import VOLUME_MODES, access_modes
from moorage.cluster.kinds.common import WithStatus, own_part, part
from moorage.cluster.kinds.differences import difference
from moorage.cluster.kinds.fields import (
    broken,
    dns_label,
    dns_subdomain,
    immutable,
    node_selector,
    positive_quantity,
    valid_quantity,
)
from moorage.cluster.schema.definitions import keep_status
from moorage.cluster.schema.forms import dns_subdomain_problems, size

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")

_SOURCES = {
    "gcePersistentDisk": "GCEPersistentDisk",
    "awsElasticBlockStore": "AWSElasticBlockStore",
    "hostPath": "HostPath",
    "glusterfs": "Glusterfs",
    "nfs": "NFS",
    "rbd": "RBD",
    "quobyte": "Quobyte",
    "iscsi": "ISCSI",
    "flexVolume": "FlexVolume",
    "cinder": "Cinder",
    "cephfs": "CephFS",
    "fc": "FC",
    "flocker": "Flocker",
    "azureFile": "AzureFile",
    "vsphereVolume": "VsphereVolume",
    "azureDisk": "AzureDisk",
    "photonPersistentDisk": "PhotonPersistentDisk",
    "portworxVolume": "PortworxVolume",
    "scaleIO": "ScaleIO",
    "local": "Local",
    "storageos": "StorageOS",
    "csi": "CSI",
}
"""The kinds of volumes, with the names and in the order that messages have them."""

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class PersistentVolumeStrategy(WithStatus):
    type_name = "core.v1.PersistentVolume"

    def __init__(self, now: Callable[[], str] = _now) -> None:
        self._now = now

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
        spec.setdefault("volumeMode", "Filesystem")
        if spec.get("hostPath") is not None:
            spec["hostPath"].setdefault("type", "")
        if not part(document, "status").get("phase"):
            document["status"] = {**part(document, "status"), "phase": "Pending"}

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"lastPhaseTransitionTime": self._now(), "phase": "Pending"}

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        super().prepare_status_update(new, old)
        before, after = part(old, "status"), own_part(new, "status")
        since, told = before.get("lastPhaseTransitionTime"), after.get("lastPhaseTransitionTime")
        if before.get("phase") == after.get("phase"):
            if told is None and since is not None:
                after["lastPhaseTransitionTime"] = since
        elif told is None or told == since:
            after["lastPhaseTransitionTime"] = self._now()

    def validate(self, document: Document) -> Iterator[Cause]:
        return volume_rules("spec", part(document, "spec"))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "spec"), part(old, "spec")
        new_source, old_source = _source(after), _source(before)
        if new_source["CSI"] is not None and "ControllerExpandSecretRef" not in (old_source["CSI"] or ()):
            # A secret for expansion may be added later.
            new_source["CSI"].pop("ControllerExpandSecretRef", None)
        if new_source != old_source:
            text = "spec.persistentvolumesource is immutable after creation"
            changed = difference(old_source, new_source)
            yield forbidden_value("spec.persistentvolumesource", f"{text}\n{changed}")
        yield from immutable("volumeMode", after.get("volumeMode"), before.get("volumeMode"))
        affinity = before.get("nodeAffinity")
        if affinity is not None and affinity != after.get("nodeAffinity"):
            yield invalid_value(
                "nodeAffinity",
                _shown_affinity(after.get("nodeAffinity")),
                "field is immutable, except for updating from beta label to GA",
            )
        if before.get("volumeAttributesClassName") is not None and "volumeAttributesClassName" not in after:
            text = "update from non-nil value to nil is forbidden"
            yield forbidden_value("spec.volumeAttributesClassName", text)

    def warnings(self, document: Document) -> list[str]:
        if part(document, "spec").get("persistentVolumeReclaimPolicy") == "Recycle":
            return [
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
                "Instead, the recommended approach is to use dynamic provisioning."
            ]
        return []


def volume_rules(field: str, spec: Document) -> Iterator[Cause]:
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required(f"{field}.accessModes")
    yield from access_modes(f"{field}.accessModes", modes)
    capacity = part(spec, "capacity")
    if not capacity:
        yield required(f"{field}.capacity")
    if list(capacity) != ["storage"]:
        yield unsupported_value(f"{field}.capacity", capacity or None, ("storage",))
    for resource, quantity in sorted(capacity.items()):
        yield from valid_quantity(f"{field}.capacity[{resource}]", quantity)
        yield from positive_quantity(f"{field}.capacity[{resource}]", quantity)
    policy = spec.get("persistentVolumeReclaimPolicy", "")
    if policy not in RECLAIM_POLICIES:
        yield unsupported_value(f"{field}.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is not None:
            yield from node_selector(f"{field}.nodeAffinity.required", affinity["required"])
        else:
            yield required(f"{field}.nodeAffinity.required", "must specify required node constraints")
    yield from _source_rules(field, spec)
    if spec.get("storageClassName"):
        yield from dns_subdomain(f"{field}.storageClassName", spec["storageClassName"])
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        yield unsupported_value(f"{field}.volumeMode", mode, VOLUME_MODES)
    chosen = spec.get("volumeAttributesClassName")
    if chosen is not None:
        if chosen:
            yield from dns_subdomain(f"{field}.volumeAttributesClassName", chosen)
        else:
            yield required(f"{field}.volumeAttributesClassName", "an empty string is disallowed")
        if spec.get("csi") is None:
            yield required(f"{field}.csi", "has to be specified when using volumeAttributesClassName")


def _source_rules(field: str, spec: Document) -> Iterator[Cause]:
    given = [name for name in ("hostPath", *_SOURCES) if spec.get(name) is not None]
    names = list(dict.fromkeys(given))
    if names:
        yield from _one_source(f"{field}.{names[0]}", names[0], spec[names[0]])
        if names[0] == "local" and spec.get("nodeAffinity") is None:
            yield required(f"{field}.nodeAffinity", "Local volume requires node affinity")
    for name in names[1:]:
        yield forbidden_value(f"{field}.{name}", "may not specify more than 1 volume type")
    if not names:
        yield required(field, "must specify a volume type")
    path = part(spec, "hostPath").get("path", "")
    root = path.startswith("/") and posixpath.normpath(path).strip("/") == ""
    if root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield forbidden_value(
            f"{field}.persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"
        )


def _one_source(field: str, name: str, source: Document) -> Iterator[Cause]:
    if name in ("hostPath", "local"):
        path = source.get("path", "")
        if not path:
            yield required(f"{field}.path")
            return
        if ".." in path.split("/"):
            yield invalid_value(f"{field}.path", path, "must not contain '..'")
        if name == "hostPath" and source.get("type", "") not in _HOST_PATH_TYPES:
            yield unsupported_value(f"{field}.type", source["type"], _HOST_PATH_TYPES)
    elif name == "nfs":
        path = source.get("path", "")
        if not source.get("server"):
            yield required(f"{field}.server")
        if not path:
            yield required(f"{field}.path")
        if not path.startswith("/"):
            yield invalid_value(f"{field}.path", path, "must be an absolute path")
    elif name == "csi":
        yield from driver_name(f"{field}.driver", source.get("driver", ""))
        if not source.get("volumeHandle"):
            yield required(f"{field}.volumeHandle")
        for secret in _CSI_SECRETS:
            if source.get(secret) is not None:
                yield from _secret(f"{field}.{secret}", source[secret])


def driver_name(field: str, name: str) -> Iterator[Cause]:
    """The name of a CSI driver."""
    if not name:
        yield required(field)
        return
    if size(name) > 63:
        yield too_long(field, 63)
    yield from broken(field, name, dns_subdomain_problems(name.lower()))


def _secret(field: str, secret: Document) -> Iterator[Cause]:
    if secret.get("name"):
        yield from dns_subdomain(f"{field}.name", secret["name"])
    else:
        yield required(f"{field}.name")
    if secret.get("namespace"):
        yield from dns_label(f"{field}.namespace", secret["namespace"])
    else:
        yield required(f"{field}.namespace")


def _source(spec: Document) -> dict[str, Any]:
    return {shown: _capitalized(spec.get(name)) for name, shown in _SOURCES.items()}


def _capitalized(value: Any) -> Any:
    if isinstance(value, dict):
        return {name[:1].upper() + name[1:]: _capitalized(each) for name, each in value.items()}
    return value


def _shown_affinity(affinity: Document | None) -> Any:
    if affinity is None:
        return None
    terms = part(affinity, "required").get("nodeSelectorTerms")
    return {"Required": {"NodeSelectorTerms": terms and [_shown_term(term) for term in terms]}}


def _shown_term(term: Document) -> dict[str, Any]:
    return {
        f"Match{name}": found
        and [
            {
                "Key": requirement.get("key", ""),
                "Operator": requirement.get("operator", ""),
                "Values": requirement.get("values"),
            }
            for requirement in found
        ]
        for name in ("Expressions", "Fields")
        for found in (term.get(f"match{name}"),)
    }
