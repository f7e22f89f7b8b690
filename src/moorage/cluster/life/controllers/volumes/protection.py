"""Claims and volumes that are deleted stay as long as they are in use."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.store import Change, Stored
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Key, drop_finalizer, is_finished

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class VolumeProtection(Controller):
    """Takes away the finalizers that keep claims no pod on a node names and volumes no claim is bound to."""

    name = "volume protection"

    def _begin(self) -> None:
        for resource in (CLAIMS, VOLUMES):
            self._listen(resource, lambda change: self._look(change.new))
            for stored in self._store.iterate(resource):
                self._look(stored)
        self._listen("pods", self._pod_changed)

    def _look(self, stored: Stored) -> None:
        if stored.is_deleted:
            self._queue.add(stored.key)

    def _pod_changed(self, change: Change) -> None:
        pod = change.new
        if change.type == "DELETED" or is_finished(pod):
            for name in _claims_of(pod):
                self._queue.add((pod.namespace, name))

    async def _reconcile(self, key: Key) -> None:
        resource, finalizer = (CLAIMS, CLAIM_FINALIZER) if key[0] else (VOLUMES, VOLUME_FINALIZER)
        stored = self._store.get(resource, *key)
        if stored is None or not stored.is_deleted or finalizer not in stored.finalizers:
            return
        if not (self._is_named(stored) if key[0] else stored.status.get("phase") == "Bound"):
            drop_finalizer(self._writer, resource, stored, finalizer)

    def _is_named(self, claim: Stored) -> bool:
        return any(
            pod.spec.get("nodeName") and claim.name in _claims_of(pod)
            for pod in self._store.iterate("pods", claim.namespace)
        )


def _claims_of(pod: Stored) -> Iterator[str]:
    """The claims a pod names; those made for it count as long as it is not finished."""
    for volume in pod.spec.get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"].get("claimName", "")
        elif volume.get("ephemeral") is not None and not is_finished(pod):
            yield f"{pod.name}-{volume.get('name', '')}"
