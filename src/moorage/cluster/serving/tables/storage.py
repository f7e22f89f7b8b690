"""Volumes, claims to them, and what provides them."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.columns import (
    AGE,
    BOOLEAN,
    INTEGER,
    NAME,
    Column,
    Columns,
    age_of,
    is_being_deleted,
    name_of,
    texts_of,
    wide,
)
from moorage.cluster.serving.tables.formatting import NONE, UNSET
from moorage.cluster.serving.tables.parts import flag, part, records, size, text, texts

_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def _volume(volume: Document, now: float) -> list[Any]:
    claim = part(volume, "spec", "claimRef")
    return [
        name_of(volume),
        text(volume, "spec", "capacity", "storage", absent="0"),
        _access_modes(volume, "spec"),
        text(volume, "spec", "persistentVolumeReclaimPolicy"),
        _phase(volume),
        f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else "",
        _class(volume),
        text(volume, "spec", "volumeAttributesClassName", absent=UNSET),
        text(volume, "status", "reason"),
        age_of(volume, now),
        text(volume, "spec", "volumeMode", absent=UNSET),
    ]


def _claim(claim: Document, now: float) -> list[Any]:
    volume = text(claim, "spec", "volumeName")
    return [
        name_of(claim),
        _phase(claim),
        volume,
        text(claim, "status", "capacity", "storage", absent="0") if volume else "",
        _access_modes(claim, "status") if volume else "",
        _class(claim),
        text(claim, "spec", "volumeAttributesClassName", absent=UNSET),
        age_of(claim, now),
        text(claim, "spec", "volumeMode", absent=UNSET),
    ]


def _phase(document: Document) -> str:
    return "Terminating" if is_being_deleted(document) else text(document, "status", "phase")


def _access_modes(document: Document, where: str) -> str:
    modes = texts(document, where, "accessModes")
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in modes)


def _class(document: Document) -> str:
    by_spec = text(document, "spec", "storageClassName")
    return text(document, "metadata", "annotations", _BETA_CLASS, absent=by_spec)


def _storage_class(storage_class: Document, now: float) -> list[Any]:
    annotations = part(storage_class, "metadata", "annotations")
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name_of(storage_class)} (default)" if is_default else name_of(storage_class),
        text(storage_class, "provisioner"),
        text(storage_class, "reclaimPolicy", absent="Delete"),
        text(storage_class, "volumeBindingMode", absent="Immediate"),
        flag(storage_class, "allowVolumeExpansion"),
        age_of(storage_class, now),
    ]


def _csi_node(csi_node: Document, now: float) -> list[Any]:
    return [name_of(csi_node), size(csi_node, "spec", "drivers"), age_of(csi_node, now)]


def _csi_driver(driver: Document, now: float) -> list[Any]:
    audiences = [text(request, "audience") for request in records(driver, "spec", "tokenRequests")]
    return [
        name_of(driver),
        flag(driver, "spec", "attachRequired", absent=True),
        flag(driver, "spec", "podInfoOnMount"),
        flag(driver, "spec", "storageCapacity"),
        ",".join(audiences) if audiences else UNSET,
        flag(driver, "spec", "requiresRepublish"),
        ",".join(texts(driver, "spec", "volumeLifecycleModes")) or NONE,
        age_of(driver, now),
    ]


def _attachment(attachment: Document, now: float) -> list[Any]:
    return [
        name_of(attachment),
        text(attachment, "spec", "attacher"),
        text(attachment, "spec", "source", "persistentVolumeName"),
        text(attachment, "spec", "nodeName"),
        flag(attachment, "status", "attached"),
        age_of(attachment, now),
    ]


def _attributes_class(attributes_class: Document, now: float) -> list[Any]:
    return [name_of(attributes_class), text(attributes_class, "driverName"), age_of(attributes_class, now)]


VOLUMES = Columns(
    (
        NAME,
        *texts_of("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim"),
        *texts_of("StorageClass", "VolumeAttributesClass", "Reason"),
        AGE,
        *wide("VolumeMode"),
    ),
    _volume,
)
CLAIMS = Columns(
    (
        NAME,
        *texts_of("Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass"),
        AGE,
        *wide("VolumeMode"),
    ),
    _claim,
)
STORAGE_CLASSES = Columns(
    (NAME, *texts_of("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion"), AGE),
    _storage_class,
)
CSI_NODES = Columns((NAME, Column("Drivers", INTEGER), AGE), _csi_node)
CSI_DRIVERS = Columns(
    (
        NAME,
        *(Column(name, BOOLEAN) for name in ("AttachRequired", "PodInfoOnMount", "StorageCapacity")),
        Column("TokenRequests"),
        Column("RequiresRepublish", BOOLEAN),
        Column("Modes"),
        AGE,
    ),
    _csi_driver,
)
ATTACHMENTS = Columns(
    (NAME, Column("Attacher", format="name"), *texts_of("PV", "Node"), Column("Attached", BOOLEAN), AGE),
    _attachment,
)
ATTRIBUTES_CLASSES = Columns((NAME, Column("DriverName"), AGE), _attributes_class)
