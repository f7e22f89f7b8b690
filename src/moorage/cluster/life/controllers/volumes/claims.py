"""Claims and volumes: what is written on them, what refers to what, and which pods name a claim."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Change, Document, Store, Stored
from moorage.cluster.kinds.storage import CLASS_ANNOTATION
from moorage.cluster.life.controllers.objects import Groups, Key, pods_of

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
CLASSES = "storageclasses.storage.k8s.io"

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER_MARK = "volume.kubernetes.io/storage-provisioner"
OLD_PROVISIONER_MARK = "volume.beta.kubernetes.io/storage-provisioner"

RELEASED = ("Released", "Failed")


def class_of(stored: Stored) -> str:
    """The storage class of a claim or of a volume; "" for none."""
    return stored.annotations.get(CLASS_ANNOTATION) or stored.spec.get("storageClassName") or ""


def claim_key(volume: Stored) -> Key | None:
    """The claim that a volume is for, if it is for one."""
    reference = volume.spec.get("claimRef")
    return (reference.get("namespace", ""), reference.get("name", "")) if reference else None


def is_for(volume: Stored, claim: Stored) -> bool:
    """Whether a volume is for this claim, be it by a reference that leaves the uid open."""
    uid = part(volume.spec, "claimRef").get("uid")
    return claim_key(volume) == claim.key and uid in (None, "", claim.uid)


def claim_reference(claim: Stored) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": claim.name,
        "namespace": claim.namespace,
        "resourceVersion": str(claim.revision),
        "uid": claim.uid,
    }


def waits_for_pod(store: Store, claim: Stored) -> bool:
    """Whether the class of a claim leaves the choice of a volume, or of its node, to the scheduler."""
    found = store.get(CLASSES, "", class_of(claim))
    return found is not None and found.document.get("volumeBindingMode") == "WaitForFirstConsumer"


def claim_names(pod: Stored) -> Iterator[str]:
    """The claims that a pod names, those made for it included."""
    for volume in pod.spec.get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"].get("claimName", "")
        elif volume.get("ephemeral") is not None:
            yield f"{pod.name}-{volume.get('name', '')}"


class ClaimUsers:
    """The pods that name each claim, from `start` to `stop`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods: Groups[Key, Key] = Groups()
        self._heard = ExitStack()

    def start(self) -> None:
        for pod in self._store.iterate("pods"):
            self._note(pod)
        self._heard.callback(self._store.listen("pods", self._changed))

    def stop(self) -> None:
        self._heard.close()

    def of(self, claim: Key) -> list[Stored]:
        return pods_of(self._store, sorted(self._pods.get(claim, ())))

    def _changed(self, change: Change) -> None:
        # The volumes of a pod never change.
        if change.type == "ADDED":
            self._note(change.new)
        elif change.type == "DELETED":
            for name in claim_names(change.new):
                self._pods.discard((change.new.namespace, name), change.new.key)

    def _note(self, pod: Stored) -> None:
        for name in claim_names(pod):
            self._pods.add((pod.namespace, name), pod.key)
