"""Which volume of which CSI driver each attachment keeps on a node, followed through every change."""

from __future__ import annotations

from typing import NamedTuple

from moorage.api.in_tree_volumes import CSIVolume
from moorage.api.storage import PersistentVolume, VolumeAttachment
from moorage.state.dependents import Dependents
from moorage.state.objects import Objects
from moorage.state.volume_limits import VolumeLimits


class Attachment(NamedTuple):
    node: str
    attacher: str
    volume_name: str
    volume: CSIVolume | None


class AttachedVolumes:
    """Has the limits count what is attached, used by a pod or not."""

    def __init__(self, objects: Objects, limits: VolumeLimits) -> None:
        self._limits = limits
        self._volumes = objects.of(PersistentVolume)
        self._known: dict[str, Attachment] = {}
        self._of_volume = Dependents()
        self._volumes.follow(self._volume_changed)
        objects.of(VolumeAttachment).follow(self._attachment_changed)

    def _attachment_changed(self, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        if old is not None:
            known = self._known.pop(old.key)
            self._of_volume.remove(known.volume_name, old.key)
            self._count_no_more(known)
        if new is not None:
            spec = new.spec
            name = spec.source.persistent_volume_name or ""
            self._of_volume.add(name, new.key)
            self._put(new.key, Attachment(spec.node_name, spec.attacher, name, None))

    def _volume_changed(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        item = new or old
        for key in self._of_volume.of(item.name if item else ""):
            known = self._known[key]
            self._count_no_more(known)
            self._put(key, known)

    def _put(self, key: str, attachment: Attachment) -> None:
        volume = self._volume(attachment)
        self._known[key] = attachment._replace(volume=volume)
        if volume is not None:
            self._limits.attach(volume, attachment.node)

    def _count_no_more(self, known: Attachment) -> None:
        if known.volume is not None:
            self._limits.detach(known.volume, known.node)

    def _volume(self, attachment: Attachment) -> CSIVolume | None:
        found = self._volumes.get(attachment.volume_name) if attachment.volume_name else None
        if found is None or found.spec.csi is None or not attachment.attacher:
            return None
        return CSIVolume(attachment.attacher, found.spec.csi.volume_handle)
