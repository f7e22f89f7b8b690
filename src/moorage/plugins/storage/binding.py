"""Binding volumes: writing what was promised, and waiting until the cluster has done its part."""

from __future__ import annotations

import asyncio

from moorage.api.in_tree_volumes import TranslationError
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.framework.handle import Handle
from moorage.framework.logger import Logger
from moorage.plugins.storage.claims import is_fully_bound
from moorage.plugins.storage.judging import SELECTED_NODE, Binding
from moorage.plugins.storage.reach import fits
from moorage.plugins.storage.reserving import Reserved, give_back
from moorage.plugins.storage.storage import Storage

log = Logger(__name__)

CHECK_SECONDS = 1.0


class BindingFailed(Exception):
    """The volumes of a pod cannot be bound as was promised; it has to be scheduled again."""


async def write(handle: Handle, storage: Storage, reserved: Reserved) -> None:
    """Writes volumes and claims, and keeps what the API server made of them.

    Raises what the API server says. What was written by then stays: the next attempt finds it.
    """
    volumes = handle.resource_client(PersistentVolume)
    claims = handle.resource_client(PersistentVolumeClaim)
    written_volumes = written_claims = 0
    try:
        for place, (volume, claim) in enumerate(reserved.bindings):
            reserved.bindings[place] = Binding(await volumes.update(volume), claim)
            written_volumes += 1
            log.info(2, "Updated volume with claim, waiting for binding", volume=volume, claim=claim)
        for place, claim in enumerate(reserved.to_provision):
            reserved.to_provision[place] = await claims.update(claim)
            written_claims += 1
    finally:
        give_back(storage, reserved.bindings[written_volumes:], reserved.to_provision[written_claims:])


async def wait(
    handle: Handle, storage: Storage, pod: Pod, node_name: str, reserved: Reserved, seconds: float
) -> None:
    """Waits until all claims are bound; raises BindingFailed if they will not be, or not in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while (left := deadline - loop.time()) > 0:
        await asyncio.sleep(min(CHECK_SECONDS, left))
        if is_bound(handle, storage, pod, node_name, reserved):
            return
    raise BindingFailed("context deadline exceeded")


def is_bound(handle: Handle, storage: Storage, pod: Pod, node_name: str, reserved: Reserved) -> bool:
    """Whether everything is as it should be, by what the watches brought; raises BindingFailed."""
    info = handle.node(node_name)
    if info is None:
        raise BindingFailed(f'failed to get node "{node_name}": node "{node_name}" not found')
    if handle.services.door.find(pod) is None:
        raise BindingFailed(f'pod does not exist any more: pod "{pod.name}" not found')
    return all(_is_volume_bound(storage, binding, info.node) for binding in reserved.bindings) and all(
        _is_provisioned(storage, claim, info.node) for claim in reserved.to_provision
    )


def _is_volume_bound(storage: Storage, binding: Binding, node: Node) -> bool:
    volume = storage.volumes.stored(binding.volume.name)
    if volume is None:
        raise BindingFailed(f"failed to check binding: {storage.volumes.not_found(binding.volume.name)}")
    wanted = binding.claim
    claim = storage.claims.stored(wanted.name, namespace=wanted.namespace)
    if claim is None:
        problem = storage.claims.not_found(wanted.name, wanted.namespace)
        raise BindingFailed(f"failed to check binding: {problem}")
    if _is_older(volume, binding.volume):
        return False
    try:
        _check_affinity(storage, volume, node)
    except TranslationError as error:
        raise BindingFailed(f"failed to translate pv to csi: could not translate pv: {error}") from None
    if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
        raise BindingFailed(f'ClaimRef got reset for pv "{volume.name}"')
    return is_fully_bound(claim)


def _is_provisioned(storage: Storage, wanted: PersistentVolumeClaim, node: Node) -> bool:
    claim = storage.claims.stored(wanted.name, namespace=wanted.namespace)
    if claim is None:
        problem = storage.claims.not_found(wanted.name, wanted.namespace)
        raise BindingFailed(f"failed to check provisioning pvc: {problem}")
    if _is_older(claim, wanted):
        return False
    if not claim.annotations:
        raise BindingFailed(f'selectedNode annotation reset for PVC "{claim.name}"')
    if claim.annotations.get(SELECTED_NODE, "") != node.name:
        raise BindingFailed(f'provisioning failed for PVC "{claim.name}"')
    if claim.spec.volume_name:
        volume = storage.volumes.stored(claim.spec.volume_name)
        if volume is None:
            return False
        try:
            _check_affinity(storage, volume, node)
        except TranslationError as error:
            raise BindingFailed(f"could not translate pv: {error}") from None
    return is_fully_bound(claim)


def _check_affinity(storage: Storage, volume: PersistentVolume, node: Node) -> None:
    if not fits(volume, node.labels, storage.csi_nodes.get(node.name)):
        raise BindingFailed(
            f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": '
            "no matching NodeSelectorTerms"
        )


def _is_older(item: Object, than: Object) -> bool:
    """Whether the watch has yet to bring what the API server answered."""
    version, written = item.metadata.resource_version, than.metadata.resource_version
    try:
        return int(version) < int(written)
    except ValueError:
        return version != written
