"""Claims and volumes that are deleted stay as long as they are in use."""

from __future__ import annotations

from moorage.cluster.base.store import Change, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Key, drop_finalizer, is_controlled_by, is_finished
from moorage.cluster.life.controllers.volumes.claims import CLAIMS, VOLUMES, ClaimUsers, claim_names
from moorage.cluster.objects.writes import InternalWriter

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class VolumeProtection(Controller):
    """Takes away the finalizers that keep claims no pod on a node names and volumes no claim is bound to."""

    name = "volume protection"

    def __init__(self, writer: InternalWriter, clock: Clock, users: ClaimUsers) -> None:
        super().__init__(writer, clock)
        self._users = users

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
            for name in claim_names(pod):
                self._queue.add((pod.namespace, name))

    async def _reconcile(self, key: Key) -> None:
        resource, finalizer = (CLAIMS, CLAIM_FINALIZER) if key[0] else (VOLUMES, VOLUME_FINALIZER)
        stored = self._store.get(resource, *key)
        if stored is None or not stored.is_deleted or finalizer not in stored.finalizers:
            return
        if not (self._is_used(stored) if key[0] else stored.status.get("phase") == "Bound"):
            drop_finalizer(self._writer, resource, stored, finalizer)

    def _is_used(self, claim: Stored) -> bool:
        """Whether a pod on a node names a claim; one made for a pod counts until that pod is finished."""
        return any(
            pod.spec.get("nodeName") and not (is_finished(pod) and is_controlled_by(claim, pod))
            for pod in self._users.of(claim.key)
        )
