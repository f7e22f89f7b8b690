"""The three filters written down slowly, for one pod and one node, from lists of objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeVar

from moorage.api.in_tree_volumes import TranslationError, csi_volume, inline_csi_volume, successor_of
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod, Volume
from moorage.api.storage import (
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

T = TypeVar("T", bound=Object)

Answer = tuple[str, str] | None
"""Code and reason; None for a node that passes."""

IN_TREE_CLASSES = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-file": "",
}
ZONES = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")
REGIONS = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")


class World:
    """Everything there is: objects, and pods with the names of their nodes."""

    def __init__(self, objects: Iterable[Object], pods: Iterable[tuple[Pod, str]]) -> None:
        self.objects = list(objects)
        self.pods = list(pods)

    def find(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        for item in self.objects:
            if isinstance(item, kind) and (item.name, item.namespace) == (name, namespace):
                return item
        return None

    def all(self, kind: type[T]) -> list[T]:
        return [item for item in self.objects if isinstance(item, kind)]

    def pods_on(self, node: str) -> list[Pod]:
        return [pod for pod, where in self.pods if where == node]


# VolumeRestrictions


def disks_clash(mine: Volume, theirs: Volume) -> bool:
    a: Any
    b: Any
    if (a := mine.aws_elastic_block_store) and (b := theirs.aws_elastic_block_store):
        return bool(a["volumeID"] == b["volumeID"])
    for field, same in (
        ("gce_persistent_disk", lambda a, b: a["pdName"] == b["pdName"]),
        ("iscsi", lambda a, b: a["iqn"] == b["iqn"]),
        (
            "rbd",
            lambda a, b: (
                set(a["monitors"]) & set(b["monitors"]) and (a["pool"], a["image"]) == (b["pool"], b["image"])
            ),
        ),
    ):
        a, b = getattr(mine, field), getattr(theirs, field)
        if a and b and same(a, b) and not (a.get("readOnly") and b.get("readOnly")):
            return True
    return False


def restrictions(world: World, pod: Pod, node: Node) -> Answer:
    once: set[str] = set()
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
            claim = world.find(PersistentVolumeClaim, name, pod.namespace)
            if claim is None:
                return "UnschedulableAndUnresolvable", f'persistentvolumeclaim "{name}" not found'
            if "ReadWriteOncePod" in claim.spec.access_modes:
                once.add(name)
    for other in world.pods_on(node.name):
        for mine in pod.spec.volumes:
            if any(disks_clash(mine, theirs) for theirs in other.spec.volumes):
                return "Unschedulable", "node(s) had no available disk"
    for there in world.all(Node):
        for other in world.pods_on(there.name):
            for theirs in other.spec.volumes:
                source = theirs.persistent_volume_claim
                if source and other.namespace == pod.namespace and source.claim_name in once:
                    return (
                        "Unschedulable",
                        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
                        "already in-use by another pod",
                    )
    return None


# VolumeZone


def zone(world: World, pod: Pod, node: Node) -> Answer:
    wanted: list[tuple[str, set[str]]] = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is None:
            continue
        name = volume.persistent_volume_claim.claim_name
        claim = world.find(PersistentVolumeClaim, name, pod.namespace)
        if claim is None:
            return "UnschedulableAndUnresolvable", f'persistentvolumeclaim "{name}" not found'
        if not claim.spec.volume_name:
            problem = unbound_problem(world, claim)
            if problem:
                return "UnschedulableAndUnresolvable", problem
            continue
        bound = world.find(PersistentVolume, claim.spec.volume_name)
        if bound is None:
            return (
                "UnschedulableAndUnresolvable",
                f'persistentvolume "{claim.spec.volume_name}" not found',
            )
        for key in (*ZONES, *REGIONS):
            if key in bound.labels:
                parts = [part.strip() for part in bound.labels[key].split("__")]
                if all(parts):
                    wanted.append((key, set(parts)))
    if not any(key in node.labels for key in (*ZONES, *REGIONS)):
        return None
    for key, values in wanted:
        newer = {ZONES[0]: ZONES[1], REGIONS[0]: REGIONS[1]}.get(key, key)
        if node.labels.get(key, node.labels.get(newer)) not in values:
            return "UnschedulableAndUnresolvable", "node(s) had no available volume zone"
    return None


def class_name_of(claim: PersistentVolumeClaim) -> str:
    annotation = "volume.beta.kubernetes.io/storage-class"
    if annotation in claim.annotations:
        return claim.annotations[annotation]
    return claim.spec.storage_class_name or ""


def unbound_problem(world: World, claim: PersistentVolumeClaim) -> str:
    name = class_name_of(claim)
    if not name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    found = world.find(StorageClass, name)
    if found is None:
        return f'storageclass.storage.k8s.io "{name}" not found'
    if found.volume_binding_mode is None:
        return f'VolumeBindingMode not set for StorageClass "{name}"'
    return "" if found.volume_binding_mode == "WaitForFirstConsumer" else "PersistentVolume had no name"


# NodeVolumeLimits


def limits(world: World, pod: Pod, node: Node) -> Answer:
    csi_node = world.find(CSINode, node.name)
    new: dict[str, str] = {}
    problem = collect(world, pod, csi_node, new, is_new=True)
    if problem:
        return problem
    allowed = {
        driver.name: driver.allocatable.count
        for driver in (csi_node.spec.drivers if csi_node else ())
        if driver.allocatable and driver.allocatable.count is not None
    }
    used: dict[str, str] = {}
    for other in world.pods_on(node.name):
        collect(world, other, csi_node, used, is_new=False)
    attached = dict(used)
    for attachment in world.all(VolumeAttachment):
        spec = attachment.spec
        if spec.node_name == node.name and spec.attacher and spec.source.persistent_volume_name:
            volume = world.find(PersistentVolume, spec.source.persistent_volume_name)
            if volume is not None and volume.spec.csi is not None:
                attached[f"{spec.attacher}/{volume.spec.csi.volume_handle}"] = spec.attacher
    counts = Counter(attached.values())
    added = Counter(driver for name, driver in new.items() if name not in used)
    for driver, count in added.items():
        if driver in allowed and counts[driver] + count > allowed[driver]:
            return "Unschedulable", "node(s) exceed max volume count"
    return None


def collect(
    world: World, pod: Pod, csi_node: CSINode | None, found: dict[str, str], *, is_new: bool
) -> Answer:
    """Gathers the volumes of a pod by name. What is wrong with pods that are there already does not count."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is None and volume.ephemeral is None:
            successor = successor_of(volume)
            if successor and successor.migrates and csi_node is not None:
                try:
                    inline = inline_csi_volume(volume)
                except TranslationError as error:
                    if is_new:
                        return "Error", f"converting volume({volume.name}) from inline to csi: {error}"
                    continue
                assert inline is not None
                found["/".join(inline)] = inline.driver
            continue
        plain = volume.persistent_volume_claim
        name = plain.claim_name if plain else f"{pod.name}-{volume.name}"
        claim = world.find(PersistentVolumeClaim, name, pod.namespace)
        if claim is None:
            if is_new:
                text = f'looking up PVC {pod.namespace}/{name}: persistentvolumeclaim "{name}" not found'
                return "UnschedulableAndUnresolvable", text
            continue
        if not plain and is_new and [owner.uid for owner in claim.metadata.owner_references] != [pod.uid]:
            return "Error", f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
        driver, handle = driver_and_handle(world, claim, csi_node)
        if driver and handle:
            found[f"{driver}/{handle}"] = driver
    return None


def driver_and_handle(
    world: World, claim: PersistentVolumeClaim, csi_node: CSINode | None
) -> tuple[str, str]:
    bound = world.find(PersistentVolume, claim.spec.volume_name) if claim.spec.volume_name else None
    if bound is not None:
        if bound.spec.csi is None and csi_node is None:
            return "", ""
        try:
            return csi_volume(bound) or ("", "")
        except TranslationError:
            return "", ""
    found = world.find(StorageClass, class_name_of(claim))
    if found is None:
        return "", ""
    driver = found.provisioner
    if driver in IN_TREE_CLASSES:
        driver = IN_TREE_CLASSES[driver] if csi_node is not None else ""
    return driver, f"still to be made for {claim.key}"
