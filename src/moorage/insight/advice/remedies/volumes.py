"""Volumes and claims: claims that are missing, wait or are taken, volumes that are, and doing without."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from moorage.api.pods import Volume
from moorage.api.quantities import NANOS, QuantityError
from moorage.api.selectors import SelectorError, parse_selector
from moorage.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.insight.advice.amounts import nanos, written
from moorage.insight.advice.drafts import Draft, drop_if_empty, items, part
from moorage.insight.advice.remedy import Remedy, Sight, joined
from moorage.insight.advice.steps import Document
from moorage.plugins.storage.claims import (
    BIND_COMPLETED,
    claims_of,
    class_of_claim,
    class_of_volume,
    is_fully_bound,
)
from moorage.plugins.storage.free_volumes import Traits, capacity_of, request_of
from moorage.plugins.storage.judging import SELECTED_NODE
from moorage.plugins.storage.provisioning import has_provisioner, volume_limit

PLUGINS = frozenset({"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"})
_WAITS = "WaitForFirstConsumer"
_ONCE_POD = "ReadWriteOncePod"
_UNBOUND = frozenset({"VolumeBinding"})
_MOST_SINGLE = 8


def remedies_of_pod(sight: Sight) -> Iterator[Remedy]:
    for name, is_ephemeral in claims_of(sight.pod):
        claim = sight.state.objects.of(PersistentVolumeClaim).get(name, sight.pod.namespace)
        if claim is None:
            yield from _created(sight, name, is_ephemeral)
        else:
            yield from _of_claim(sight, claim)
    yield from _done_without(sight)


# Claims


def _waiting_classes(sight: Sight) -> list[StorageClass]:
    """Classes whose volumes are made for the node of their pod."""
    return [
        each
        for each in sight.state.objects.of(StorageClass).list()
        if each.volume_binding_mode == _WAITS and has_provisioner(each)
    ]


def _created(sight: Sight, name: str, is_ephemeral: bool) -> Iterator[Remedy]:
    """A claim that does not exist, of a class that would make a volume for it."""
    pod = sight.pod
    template: Document = {}
    if is_ephemeral:
        template = next(
            _template(volume) for volume in pod.spec.volumes if volume.claim_name(pod.name) == name
        )
    spec = template.get("spec") or {}
    classes = [spec["storageClassName"]] if spec.get("storageClassName") else []
    classes = classes or [each.name for each in _waiting_classes(sight)][:2]
    for class_name in classes:
        metadata = copy.deepcopy(template.get("metadata") or {})
        metadata |= {"name": name, "namespace": pod.namespace}
        if is_ephemeral:
            owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
            metadata["ownerReferences"] = [owner | {"blockOwnerDeletion": True}]
        wanted = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **copy.deepcopy(spec),
            "storageClassName": class_name,
        }
        document = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": wanted,
            "status": {"phase": "Pending"},
        }
        text = f"there were a claim {pod.namespace}/{name} of storage class {class_name}"
        yield Remedy("claim", text, 25, lambda draft, made=document: draft.create(made), fixes=PLUGINS)  # type: ignore[misc]


def _template(volume: Volume) -> Document:
    return (volume.ephemeral.volume_claim_template if volume.ephemeral is not None else None) or {}


def _of_claim(sight: Sight, claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    if is_fully_bound(claim):
        yield from _shared(claim)
        return
    if SELECTED_NODE in claim.annotations:
        yield _without_selected_node(claim)
    storage_class = sight.state.objects.of(StorageClass).get(class_of_claim(claim))
    waits = storage_class is not None and storage_class.volume_binding_mode == _WAITS
    if not waits or claim.spec.volume_name:
        yield from _bound(sight, claim)
    yield from _other_class(sight, claim)
    yield from _smaller(sight, claim)
    if waits:
        yield from _one_more_volume(sight, claim)
    yield from _shared(claim)


def _without_selected_node(claim: PersistentVolumeClaim) -> Remedy:
    def edit(draft: Draft) -> None:
        metadata = part(draft.edit(claim), "metadata")
        part(metadata, "annotations").pop(SELECTED_NODE, None)
        drop_if_empty(metadata, "annotations")

    node = claim.annotations[SELECTED_NODE]
    text = f"the claim {claim.key} were not promised to node {node}"
    return Remedy("selected node", text, 20, edit, fixes=_UNBOUND)


def _shared(claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    if _ONCE_POD not in claim.spec.access_modes:
        return

    def edit(draft: Draft) -> None:
        spec = part(draft.edit(claim), "spec")
        modes = ["ReadWriteOnce" if mode == _ONCE_POD else mode for mode in claim.spec.access_modes]
        spec["accessModes"] = list(dict.fromkeys(modes))

    text = f"the claim {claim.key} were ReadWriteOnce, for several pods of a node"
    yield Remedy("access mode", text, 55, edit, fixes=frozenset({"VolumeRestrictions"}))


def _could_be(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    try:
        selector = parse_selector(claim.spec.selector) if claim.spec.selector is not None else None
        enough = capacity_of(volume) >= request_of(claim)
    except (SelectorError, QuantityError):
        return False
    reference = volume.spec.claim_ref
    is_free = reference is None or (reference.namespace, reference.name) == (claim.namespace, claim.name)
    return (
        is_free
        and enough
        and not volume.deleting
        and class_of_volume(volume) == class_of_claim(claim)
        and Traits.of(volume).serve(Traits.of(claim))
        and (selector is None or selector.matches(volume.labels))
        and claim.spec.volume_name in ("", volume.name)
    )


def _bound(sight: Sight, claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    """A volume that the claim could have: what the volume controller would write, were it to bind them."""
    volumes = [each for each in sight.state.objects.of(PersistentVolume).list() if _could_be(each, claim)]
    for volume in sorted(volumes, key=lambda each: (capacity_of(each), each.name))[:3]:

        def edit(draft: Draft, volume: PersistentVolume = volume) -> None:
            document = draft.edit(claim)
            part(document, "metadata", "annotations")[BIND_COMPLETED] = "yes"
            part(document, "spec")["volumeName"] = volume.name
            part(document, "status")["phase"] = "Bound"
            reference = part(draft.edit(volume), "spec", "claimRef")
            reference |= {"kind": claim.kind, "namespace": claim.namespace, "name": claim.name}
            if claim.uid:
                reference["uid"] = claim.uid

        text = f"the claim {claim.key} were bound to the volume {volume.name}"
        yield Remedy("binding", text, 24, edit, fixes=PLUGINS)


def _other_class(sight: Sight, claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    for storage_class in _waiting_classes(sight):
        if storage_class.name == class_of_claim(claim) and not claim.spec.volume_name:
            continue

        def edit(draft: Draft, name: str = storage_class.name) -> None:
            document = draft.edit(claim)
            part(document, "spec")["storageClassName"] = name
            document["spec"].pop("volumeName", None)
            annotations = part(document, "metadata").get("annotations") or {}
            for key in ("volume.beta.kubernetes.io/storage-class", SELECTED_NODE):
                annotations.pop(key, None)

        text = f"the claim {claim.key} were of storage class {storage_class.name}"
        yield Remedy("storage class", text, 50, edit, fixes=PLUGINS)


def _smaller(sight: Sight, claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    """As much as its class has, or the largest free volume."""
    wanted = nanos(claim.spec.resources.requests.get("storage"))
    sizes = set()
    for capacity in sight.state.objects.of(CSIStorageCapacity).list():
        if capacity.storage_class_name == class_of_claim(claim):
            try:
                sizes.add((volume_limit(capacity) or 0) * 10**9)
            except QuantityError:
                continue
    for volume in sight.state.objects.of(PersistentVolume).list():
        if class_of_volume(volume) == class_of_claim(claim) and volume.spec.claim_ref is None:
            sizes.add(nanos(volume.spec.capacity.get("storage")))
    for size in sorted((size for size in sizes if 0 < size < wanted), reverse=True)[:3]:

        def edit(draft: Draft, size: int = size) -> None:
            part(draft.edit(claim), "spec", "resources", "requests")["storage"] = written("storage", size)

        text = f"the claim {claim.key} asked for {written('storage', size)} or less"
        yield Remedy("claim size", text, 22 + 50 * (wanted - size) / wanted, edit, fixes=_UNBOUND)


def _one_more_volume(sight: Sight, claim: PersistentVolumeClaim) -> Iterator[Remedy]:
    spec = claim.raw.get("spec") or {}
    try:
        labels = {
            line.key: line.values[0]
            for line in (parse_selector(claim.spec.selector).requirements if claim.spec.selector else ())
            if line.values
        }
    except SelectorError:
        return
    size = max(nanos(claim.spec.resources.requests.get("storage")), NANOS)
    document: Document = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": _free_name(sight, claim), "labels": labels},
        "spec": {
            "capacity": {"storage": written("storage", size)},
            "accessModes": list(claim.spec.access_modes),
            "storageClassName": class_of_claim(claim),
            "volumeMode": claim.spec.volume_mode or "Filesystem",
            "hostPath": {"path": f"/mnt/{claim.name}"},
        },
        "status": {"phase": "Available"},
    }
    if spec.get("volumeAttributesClassName"):
        document["spec"]["volumeAttributesClassName"] = spec["volumeAttributesClassName"]
    class_name = class_of_claim(claim)
    text = f"there were a free volume of {written('storage', size)} and storage class {class_name}"
    yield Remedy("volume", text, 60, lambda draft: draft.create(document), fixes=_UNBOUND)


def _free_name(sight: Sight, claim: PersistentVolumeClaim) -> str:
    """A name that no volume has."""
    volumes = sight.state.objects.of(PersistentVolume)
    for number in range(len(volumes) + 1):
        name = f"for-{claim.namespace}-{claim.name}"[:240] + (f"-{number}" if number else "")
        if volumes.get(name) is None:
            return name
    raise AssertionError("there are fewer volumes than that")


# Doing without


def _done_without(sight: Sight) -> Iterator[Remedy]:
    """Without each volume that could matter, then without all of these."""
    pod = sight.pod
    names = [volume.name for volume in pod.spec.volumes if _matters(volume)]
    for name in names[:_MOST_SINGLE]:
        yield _without(sight, [name], f"it did without the volume {name}", 70)
    if len(names) > 1:
        yield _without(sight, names, f"it did without the volumes {joined(names)}", 74)
    claims = [claim.name for claim in pod.spec.resource_claims]
    for name in claims[:_MOST_SINGLE]:
        yield _without_device(sight, [name], f"it did without the resource claim {name}", 70)
    if len(claims) > 1:
        yield _without_device(sight, claims, f"it did without the resource claims {joined(claims)}", 74)


def _matters(volume: Volume) -> bool:
    plain = Volume(name=volume.name)
    return volume != plain and volume.image is None


def _without(sight: Sight, names: list[str], text: str, cost: float) -> Remedy:
    def edit(draft: Draft) -> None:
        spec = part(draft.edit(sight.pod), "spec")
        spec["volumes"] = [volume for volume in items(spec, "volumes") if volume.get("name") not in names]
        drop_if_empty(spec, "volumes")
        for group in ("containers", "initContainers", "ephemeralContainers"):
            for container in items(spec, group):
                for listed in ("volumeMounts", "volumeDevices"):
                    if listed in container:
                        mounts = items(container, listed)
                        container[listed] = [each for each in mounts if each.get("name") not in names]
                        drop_if_empty(container, listed)

    return Remedy("without volume", text, cost, edit, fixes=PLUGINS)


def _without_device(sight: Sight, names: list[str], text: str, cost: float) -> Remedy:
    def edit(draft: Draft) -> None:
        document = draft.edit(sight.pod)
        spec = part(document, "spec")
        spec["resourceClaims"] = [
            claim for claim in items(spec, "resourceClaims") if claim.get("name") not in names
        ]
        drop_if_empty(spec, "resourceClaims")
        for group in ("containers", "initContainers"):
            for container in items(spec, group):
                resources = container.get("resources") or {}
                if "claims" in resources:
                    used = items(resources, "claims")
                    resources["claims"] = [each for each in used if each.get("name") not in names]
                    drop_if_empty(resources, "claims")
        status = document.get("status") or {}
        if "resourceClaimStatuses" in status:
            known = items(status, "resourceClaimStatuses")
            status["resourceClaimStatuses"] = [each for each in known if each.get("name") not in names]
            drop_if_empty(status, "resourceClaimStatuses")

    return Remedy("without device", text, cost, edit, fixes=frozenset({"DynamicResources"}))
