"""Volumes that a pod brings along: the claims for them are made when the pod is, and go with it."""

from __future__ import annotations

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.controllers.volumes.claims import CLAIMS, ClaimUsers
from moorage.cluster.objects.writes import InternalWriter


class EphemeralVolumes(Controller):
    name = "ephemeral volume"

    def __init__(self, writer: InternalWriter, clock: Clock, users: ClaimUsers) -> None:
        super().__init__(writer, clock)
        self._recorder = Recorder(writer, "ephemeral_volume", clock)
        self._users = users

    def _begin(self) -> None:
        self._listen("pods", self._pod_changed)
        self._listen(CLAIMS, self._claim_changed)
        for pod in self._store.iterate("pods"):
            self._look(pod)

    def _pod_changed(self, change: Change) -> None:
        if change.type == "ADDED":
            self._look(change.new)

    def _claim_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            for pod in self._users.of(change.new.key):
                self._look(pod)

    def _look(self, pod: Stored) -> None:
        if not pod.is_deleted and any("ephemeral" in each for each in pod.spec.get("volumes") or ()):
            self._queue.add(pod.key)

    async def _reconcile(self, key: objects.Key) -> None:
        pod = self._store.get("pods", *key)
        if pod is None or pod.is_deleted:
            return
        for volume in pod.spec.get("volumes") or ():
            if volume.get("ephemeral") is not None:
                self._ensure(pod, volume)

    def _ensure(self, pod: Stored, volume: Document) -> None:
        name = f"{pod.name}-{volume['name']}"
        present = self._store.get(CLAIMS, pod.namespace, name)
        if present is None:
            try:
                self._writer.create(CLAIMS, _claim(name, pod, volume["ephemeral"]))
            except Refusal as refusal:
                if objects.is_ending(self._store, pod.namespace):
                    return
                self._fail(pod, volume, f"create PVC {name}: {refusal.message}")
                raise
        elif not objects.is_controlled_by(present, pod):
            claim, owner = "/".join(present.key), "/".join(pod.key)
            self._fail(pod, volume, f"PVC {claim} was not created for pod {owner} (pod is not owner)")

    def _fail(self, pod: Stored, volume: Document, problem: str) -> None:
        text = f"ephemeral volume {volume['name']}: {problem}"
        self._recorder.tell(pod, "FailedBinding", text, warning=True)


def _claim(name: str, pod: Stored, source: Document) -> Document:
    template = source.get("volumeClaimTemplate") or {}
    given = template.get("metadata") or {}
    metadata = {
        "name": name,
        "namespace": pod.namespace,
        "ownerReferences": [objects.controller_reference(pod, "v1", "Pod")],
        **{each: given[each] for each in ("annotations", "labels") if given.get(each)},
    }
    return objects.copied({"metadata": metadata, "spec": template.get("spec") or {}})
