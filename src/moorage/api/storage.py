"""Volumes, claims and what drivers say about nodes."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from moorage.api.meta import Int32, Object, Part, Quantity
from moorage.api.pods import Fields, Quantities, ResourceRequirements
from moorage.api.selectors import LabelSelector, NodeSelector, Requirement

OLD_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class PersistentVolumeClaimSpec(Fields):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Fields):
    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: Quantities = {}


class PersistentVolumeClaim(Object, kw_only=True):
    kind: ClassVar[str] = "PersistentVolumeClaim"
    resource: ClassVar[str] = "persistentvolumeclaims"

    spec: PersistentVolumeClaimSpec = msgspec.field(default_factory=PersistentVolumeClaimSpec)
    status: PersistentVolumeClaimStatus = msgspec.field(default_factory=PersistentVolumeClaimStatus)

    @property
    def class_name(self) -> str:
        """The storage class, "" for none; the old annotation goes before the field, even if it is empty."""
        annotated = self.metadata.annotations.get(OLD_CLASS_ANNOTATION)
        return (self.spec.storage_class_name or "") if annotated is None else annotated


class ObjectReference(Part, frozen=True, gc=False):
    kind: str = ""
    api_version: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class VolumeNodeAffinity(Part, frozen=True, gc=False):
    required: NodeSelector | None = None


class CSIVolumeSource(Fields):
    driver: str = ""
    volume_handle: str = ""


class PersistentVolumeSpec(Fields):
    capacity: Quantities = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIVolumeSource | None = None
    gce_persistent_disk: dict[str, Any] | None = None
    aws_elastic_block_store: dict[str, Any] | None = None
    azure_disk: dict[str, Any] | None = None
    azure_file: dict[str, Any] | None = None
    cinder: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None
    portworx_volume: dict[str, Any] | None = None


class PersistentVolumeStatus(Fields):
    phase: str = ""


class PersistentVolume(Object, kw_only=True):
    kind: ClassVar[str] = "PersistentVolume"
    resource: ClassVar[str] = "persistentvolumes"
    namespaced: ClassVar[bool] = False

    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)


class TopologySelectorTerm(Part, frozen=True, gc=False):
    match_label_expressions: tuple[Requirement, ...] = ()


class StorageClass(Object, kw_only=True):
    group: ClassVar[str] = "storage.k8s.io"
    kind: ClassVar[str] = "StorageClass"
    resource: ClassVar[str] = "storageclasses"
    namespaced: ClassVar[bool] = False

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Part, frozen=True, gc=False):
    count: Int32 | None = None


class CSINodeDriver(Part, frozen=True, gc=False):
    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Fields):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Object, kw_only=True):
    group: ClassVar[str] = "storage.k8s.io"
    kind: ClassVar[str] = "CSINode"
    resource: ClassVar[str] = "csinodes"
    namespaced: ClassVar[bool] = False

    spec: CSINodeSpec = msgspec.field(default_factory=CSINodeSpec)


class CSIDriverSpec(Fields):
    storage_capacity: bool | None = None
    attach_required: bool | None = None


class CSIDriver(Object, kw_only=True):
    group: ClassVar[str] = "storage.k8s.io"
    kind: ClassVar[str] = "CSIDriver"
    resource: ClassVar[str] = "csidrivers"
    namespaced: ClassVar[bool] = False

    spec: CSIDriverSpec = msgspec.field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(Object, kw_only=True):
    group: ClassVar[str] = "storage.k8s.io"
    kind: ClassVar[str] = "CSIStorageCapacity"
    resource: ClassVar[str] = "csistoragecapacities"

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Part, frozen=True, gc=False):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Fields):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Fields):
    attached: bool = False


class VolumeAttachment(Object, kw_only=True):
    group: ClassVar[str] = "storage.k8s.io"
    kind: ClassVar[str] = "VolumeAttachment"
    resource: ClassVar[str] = "volumeattachments"
    namespaced: ClassVar[bool] = False

    spec: VolumeAttachmentSpec = msgspec.field(default_factory=VolumeAttachmentSpec)
    status: VolumeAttachmentStatus = msgspec.field(default_factory=VolumeAttachmentStatus)
