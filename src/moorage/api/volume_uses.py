"""What the volumes of a pod take that other pods, or the limits of its node, may be in the way of."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from operator import attrgetter
from typing import NamedTuple

from moorage.api.in_tree_volumes import SUCCESSORS, CSIVolume, TranslationError, inline_csi_volume
from moorage.api.pods import Pod, Volume


class UseKind(Enum):
    CLAIM = "claim"
    EPHEMERAL_CLAIM = "claim of an ephemeral volume"
    READS_DISK = "disk, read-only"
    WRITES_DISK = "disk"
    ATTACHES = "volume that a CSI driver attaches"

    # The default goes by the name and is slow; members are the same object everywhere.
    __hash__ = object.__hash__


class VolumeUse(NamedTuple):
    """`what` is `namespace/name` of a claim, a volume as its CSI driver knows it, or how a disk is known."""

    kind: UseKind
    what: str | CSIVolume | tuple[str, ...]


_disk_sources = attrgetter(
    "iscsi", "rbd", *(successor.field for successor in SUCCESSORS if successor.migrates)
)
_NO_DISK = _disk_sources(Volume())


def uses_of(pod: Pod) -> tuple[VolumeUse, ...]:
    """Everything the volumes of a pod take; the volumes that every pod has take nothing."""
    found: list[VolumeUse] = []
    meta = pod.metadata
    for volume in pod.spec.volumes:
        claim = volume.claim_name(meta.name)
        if claim is not None:
            is_plain = volume.persistent_volume_claim is not None
            key = f"{meta.namespace}/{claim}" if meta.namespace else claim
            found.append(VolumeUse(UseKind.CLAIM if is_plain else UseKind.EPHEMERAL_CLAIM, key))
        elif _disk_sources(volume) != _NO_DISK:
            found += _uses_without_claim(volume)
    return tuple(found)


def _uses_without_claim(volume: Volume) -> Iterator[VolumeUse]:
    yield from _disks(volume)
    try:
        attached = inline_csi_volume(volume)
    except TranslationError:
        return
    if attached is not None:
        yield VolumeUse(UseKind.ATTACHES, attached)


def _disks(volume: Volume) -> Iterator[VolumeUse]:
    """The kinds of disks that pods on one node can only share for reading, if at all."""
    if (gce := volume.gce_persistent_disk) is not None:
        yield _disk(gce.get("readOnly"), "gce", gce.get("pdName", ""))
    if (ebs := volume.aws_elastic_block_store) is not None:
        yield _disk(False, "ebs", ebs.get("volumeID", ""))
    if (iscsi := volume.iscsi) is not None:
        yield _disk(iscsi.get("readOnly"), "iscsi", iscsi.get("iqn", ""))
    if (rbd := volume.rbd) is not None:
        for monitor in rbd.get("monitors") or ():
            image = rbd.get("pool", ""), rbd.get("image", "")
            yield _disk(rbd.get("readOnly"), "rbd", monitor, *image)


def _disk(read_only: object, *name: object) -> VolumeUse:
    kind = UseKind.READS_DISK if read_only else UseKind.WRITES_DISK
    return VolumeUse(kind, tuple(map(str, name)))


def conflicting(use: VolumeUse) -> tuple[VolumeUse, ...]:
    """What others on the same node must not do with a disk if a pod is to use it like this."""
    if use.kind is UseKind.READS_DISK:
        return (VolumeUse(UseKind.WRITES_DISK, use.what),)
    if use.kind is UseKind.WRITES_DISK:
        return (use, VolumeUse(UseKind.READS_DISK, use.what))
    return ()
