"""Claims and volumes that are deleted stay as long as they are in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from moorage.cluster.base.store import Change, Stored
from moorage.cluster.life.controllers.facts import (
    FINISHED,
    finalizers_of,
    is_deleted,
    key_of,
    spec_of,
    status_of,
)
from moorage.cluster.life.controllers.garbage import drop_finalizer
from moorage.cluster.life.controllers.queue import Key, Queue
from moorage.cluster.life.controllers.writer import Writer

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class VolumeProtection:
    """Takes away the finalizers that keep claims no pod on a node names and volumes no claim is bound to."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._store = writer.store
        self._claims = Queue("claim protection", self._reconcile_claim)
        self._volumes = Queue("volume protection", self._reconcile_volume)
        self._silencers: list[Callable[[], None]] = []

    def start(self) -> None:
        self._silencers = [
            self._store.listen(CLAIMS, lambda change: self._look(self._claims, change.new)),
            self._store.listen(VOLUMES, lambda change: self._look(self._volumes, change.new)),
            self._store.listen("pods", self._pod_changed),
        ]
        for claim in self._store.iterate(CLAIMS):
            self._look(self._claims, claim)
        for volume in self._store.iterate(VOLUMES):
            self._look(self._volumes, volume)
        self._claims.start()
        self._volumes.start()

    async def stop(self) -> None:
        for silence in self._silencers:
            silence()
        await self._claims.stop()
        await self._volumes.stop()

    @staticmethod
    def _look(queue: Queue, stored: Stored) -> None:
        if is_deleted(stored):
            queue.add(key_of(stored))

    def _pod_changed(self, change: Change) -> None:
        pod = change.new
        if change.type == "DELETED" or status_of(pod).get("phase") in FINISHED:
            for name in _claims_of(pod):
                self._claims.add((pod.namespace, name))

    async def _reconcile_claim(self, key: Key) -> None:
        claim = self._store.get(CLAIMS, *key)
        if claim is None or not is_deleted(claim) or CLAIM_FINALIZER not in finalizers_of(claim):
            return
        for pod in self._store.iterate("pods", claim.namespace):
            if spec_of(pod).get("nodeName") and claim.name in _claims_of(pod):
                return
        drop_finalizer(self._writer, CLAIMS, claim, CLAIM_FINALIZER)

    async def _reconcile_volume(self, key: Key) -> None:
        volume = self._store.get(VOLUMES, *key)
        if volume is None or not is_deleted(volume) or VOLUME_FINALIZER not in finalizers_of(volume):
            return
        if status_of(volume).get("phase") != "Bound":
            drop_finalizer(self._writer, VOLUMES, volume, VOLUME_FINALIZER)


def _claims_of(pod: Stored) -> Iterator[str]:
    """The claims a pod names; those made for it count as long as it is not finished."""
    finished = status_of(pod).get("phase") in FINISHED
    for volume in spec_of(pod).get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"].get("claimName", "")
        elif volume.get("ephemeral") is not None and not finished:
            yield f"{pod.name}-{volume.get('name', '')}"
