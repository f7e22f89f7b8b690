"""Claims that nobody uses any more: they give their devices back, and go if they were made for a pod."""

from __future__ import annotations

from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.devices import claims
from moorage.cluster.life.controllers.devices.claims import CLAIMS, FINALIZER
from moorage.cluster.life.controllers.devices.users import DeviceUsers
from moorage.cluster.objects.admission.pod_groups import GROUPS
from moorage.cluster.objects.writes import InternalWriter


class Reservations(Controller):
    """Takes pods that are gone or done off the claims reserved for them, and sees what follows from that.

    Devices are given back when the last one who used them is gone, not merely because nobody uses them: a
    claim may be allocated before it is reserved. Consumers that are neither pods nor PodGroups stay.
    """

    name = "resource claim reservation"

    def __init__(self, writer: InternalWriter, clock: Clock, users: DeviceUsers) -> None:
        super().__init__(writer, clock)
        self._users = users

    def _begin(self) -> None:
        self._listen(CLAIMS, self._claim_changed)
        self._listen("pods", self._pod_changed)
        self._listen(GROUPS, self._group_changed)
        self._add_all(CLAIMS)

    def _claim_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            self._queue.add(change.new.key)

    def _pod_changed(self, change: Change) -> None:
        if change.type == "DELETED" or claims.is_done(change.new):
            for key in self._users.concerned_by(change.new):
                self._queue.add(key)

    def _group_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            for key in self._users.concerned_by(change.new):
                self._queue.add(key)

    async def _reconcile(self, key: objects.Key) -> None:
        claim = self._store.get(CLAIMS, *key)
        if claim is None:
            return
        known = claims.consumers(claim)
        left = [consumer for consumer in known if self._is_needed_by(claim, consumer)]
        current: Stored | None = claim
        if len(left) < len(known):
            current = self._release(claim, left)
        elif claim.is_deleted and not left and FINALIZER in claim.finalizers:
            current = self._unprotect(self._write(claim, reservedFor=None, allocation=None))
        if current is not None and not left and self._store.get(CLAIMS, *key) is current:
            self._delete_unused(current)

    def _is_needed_by(self, claim: Stored, consumer: Document) -> bool:
        name, uid = consumer.get("name", ""), consumer.get("uid", "")
        if claims.is_group(consumer):
            return objects.same_object(self._store, GROUPS, (claim.namespace, name), uid) is not None
        if consumer.get("apiGroup") or consumer.get("resource") != "pods":
            return True
        pod = objects.same_object(self._store, "pods", (claim.namespace, name), uid)
        return pod is not None and not claims.is_done(pod)

    def _release(self, claim: Stored, left: list[Document]) -> Stored | None:
        if left:
            return self._write(claim, reservedFor=left)
        if FINALIZER not in claim.finalizers:
            # Whoever allocated it without protecting it has its own way of taking that back.
            return self._write(claim, reservedFor=None)
        return self._unprotect(self._write(claim, reservedFor=None, allocation=None))

    def _write(self, claim: Stored, **changed: list[Document] | None) -> Stored | None:
        status = {**claim.status, **changed}
        kept = {name: value for name, value in status.items() if value is not None}
        return objects.write_status(self._writer, CLAIMS, claim, kept)

    def _unprotect(self, claim: Stored | None) -> Stored | None:
        """Lets a claim without devices go, if it is to be deleted."""
        if claim is None or FINALIZER not in claim.finalizers:
            return claim
        objects.drop_finalizer(self._writer, CLAIMS, claim, FINALIZER)
        return objects.same_object(self._store, CLAIMS, claim.key, claim.uid)

    def _delete_unused(self, claim: Stored) -> None:
        """Deletes a claim made for a pod that will not run; one whose pod is gone is for the collector."""
        owner = claims.owning_pod(claim)
        pod = self._store.get("pods", claim.namespace, owner.get("name", "")) if owner is not None else None
        if owner is None or pod is None or claim.is_deleted:
            return
        if pod.uid != owner.get("uid") or claims.is_done(pod):
            objects.delete_if_there(self._writer, CLAIMS, claim)
