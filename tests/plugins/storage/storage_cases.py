"""Claims, volumes, classes and what drivers say, in one line each; and plugins that see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.framework.extension_points import Plugin
from moorage.framework.handle import Handle, Services
from moorage.testing import make_pod

Document = dict[str, Any]
P = TypeVar("P", bound=Plugin)

ONCE = ["ReadWriteOncePod"]


def claim(name: str, volume: str = "", *, namespace: str = "default", **spec: Any) -> PersistentVolumeClaim:
    document = {"metadata": {"name": name, "namespace": namespace}, "spec": {"volumeName": volume, **spec}}
    return from_document(PersistentVolumeClaim, document)


def volume(name: str, labels: Document | None = None, **source: Any) -> PersistentVolume:
    document = {"metadata": {"name": name, "labels": labels or {}}, "spec": source}
    return from_document(PersistentVolume, document)


def csi(handle: str, driver: str = "d") -> Document:
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def storage_class(
    name: str, provisioner: str = "d", mode: str | None = "WaitForFirstConsumer"
) -> StorageClass:
    document = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
    return from_document(StorageClass, document)


def csi_node(name: str, **counts: int | None) -> CSINode:
    drivers = [{"name": driver, "allocatable": {"count": count}} for driver, count in counts.items()]
    return from_document(CSINode, {"metadata": {"name": name}, "spec": {"drivers": drivers}})


def attachment(name: str, node: str, volume: str, attacher: str = "d") -> VolumeAttachment:
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return from_document(VolumeAttachment, {"metadata": {"name": name}, "spec": spec})


def pod(name: str = "pod", *sources: str | Document, **rest: Any) -> Pod:
    """A pod with a volume for each source; a text is the name of a claim."""
    volumes = [
        {
            "name": f"v{place}",
            **({"persistentVolumeClaim": {"claimName": source}} if isinstance(source, str) else source),
        }
        for place, source in enumerate(sources)
    ]
    return make_pod(name, volumes=volumes, **rest)


def plugin_of(kind: type[P], objects: Iterable[Object]) -> P:
    """A plugin of a cluster with these objects."""
    services = Services()
    made = kind(None, Handle(services))
    for item in objects:
        services.door.put(item)
    services.state.table.refresh()
    return made
