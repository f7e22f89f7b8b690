"""Volumes of drivers that once were built into Kubernetes, and what their CSI successors call them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from moorage.api.pods import Volume
from moorage.api.storage import PersistentVolume, PersistentVolumeSpec

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
ZONE_DELIMITER = "__"

_UNSPECIFIED = "UNSPECIFIED"
_EBS_VOLUME = re.compile(r"vol-[^/]*")


class TranslationError(ValueError):
    """A volume that its CSI driver has no name for; the text says why."""


class CSIVolume(NamedTuple):
    """A volume as CSI drivers and attachments know it."""

    driver: str
    handle: str


class Successor(NamedTuple):
    """The CSI driver that took over from a built-in one."""

    in_tree: str
    driver: str
    field: str
    """The field of a volume's source."""
    migrates: bool = True
    """Whether schedulers treat such volumes as volumes of the CSI driver."""
    zone_key: str = ""
    """The node label that stands for the zone, where the driver has one of its own."""


SUCCESSORS = (
    Successor(
        "kubernetes.io/gce-pd",
        "pd.csi.storage.gke.io",
        "gce_persistent_disk",
        zone_key="topology.gke.io/zone",
    ),
    Successor(
        "kubernetes.io/aws-ebs",
        "ebs.csi.aws.com",
        "aws_elastic_block_store",
        zone_key="topology.ebs.csi.aws.com/zone",
    ),
    Successor(
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "cinder",
        zone_key="topology.cinder.csi.openstack.org/zone",
    ),
    Successor("kubernetes.io/azure-disk", "disk.csi.azure.com", "azure_disk"),
    Successor("kubernetes.io/portworx-volume", "pxd.portworx.com", "portworx_volume"),
    Successor("kubernetes.io/azure-file", "file.csi.azure.com", "azure_file", migrates=False),
    Successor("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", "vsphere_volume", migrates=False),
)

SUCCESSOR_OF = {successor.in_tree: successor for successor in SUCCESSORS}

_sources = attrgetter(*(successor.field for successor in SUCCESSORS))
_NO_SOURCES = (None,) * len(SUCCESSORS)


def successor_of(source: Volume | PersistentVolumeSpec) -> Successor | None:
    """The CSI driver that took over a volume of a built-in driver; None for all other volumes."""
    found = _sources(source)
    if found == _NO_SOURCES:
        return None
    return next(successor for successor, each in zip(SUCCESSORS, found, strict=True) if each is not None)


def csi_volume(volume: PersistentVolume) -> CSIVolume | None:
    """The volume as its CSI driver knows it, translated if need be; None if no such driver has it.

    Raises TranslationError.
    """
    csi = volume.spec.csi
    if csi is not None:
        return CSIVolume(csi.driver, csi.volume_handle)
    successor = successor_of(volume.spec)
    if successor is None or not successor.migrates:
        return None
    source = getattr(volume.spec, successor.field)
    return CSIVolume(successor.driver, _handle(successor, source, volume.metadata.labels))


def inline_csi_volume(volume: Volume) -> CSIVolume | None:
    """The same for a volume that a pod names without a claim. Raises TranslationError."""
    successor = successor_of(volume)
    if successor is None or not successor.migrates:
        return None
    return CSIVolume(successor.driver, _handle(successor, getattr(volume, successor.field), {}))


def _handle(successor: Successor, source: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    field = successor.field
    if field == "gce_persistent_disk":
        zones = (labels.get(BETA_ZONE) or labels.get(ZONE) or _UNSPECIFIED).split(ZONE_DELIMITER)
        where = f"zones/{zones[0]}" if len(zones) == 1 else f"regions/{_gce_region(zones)}"
        return f"projects/{_UNSPECIFIED}/{where}/disks/{source.get('pdName', '')}"
    if field == "aws_elastic_block_store":
        return _ebs_volume(str(source.get("volumeID", "")))
    if field == "azure_disk":
        kind = source.get("kind")
        if kind is not None and str(kind).casefold() != "managed":
            raise TranslationError(f"kind({kind}) is not supported in csi migration")
        return str(source.get("diskURI", ""))
    return str(source.get("volumeID", ""))


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{found}]"
        )
    return regions.pop()


def _ebs_volume(name: str) -> str:
    if not name.startswith("aws://"):
        return name
    try:
        found = unquote(urlsplit(name).path).strip("/")
    except ValueError as error:
        raise _no_ebs_volume(name) from error
    if not _EBS_VOLUME.fullmatch(found):
        raise _no_ebs_volume(name)
    return found


def _no_ebs_volume(name: str) -> TranslationError:
    return TranslationError(
        f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({name})"
    )
