"""The built-in CSI driver: makes volumes for claims of its storage classes, and deletes them again."""

from __future__ import annotations

from moorage.cluster.base.parts import texts
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.controllers.volumes import claims
from moorage.cluster.life.controllers.volumes.claims import CLAIMS, CLASSES, VOLUMES
from moorage.cluster.objects.admission.storage import default_class
from moorage.cluster.objects.writes import InternalWriter

PROVISIONER = "local.moorage.example"
"""The name of the driver, by which classes, volumes and CSINodes refer to it."""
DEFAULT_CLASS = "standard"
DRIVERS = "csidrivers.storage.k8s.io"
HOSTNAME = "kubernetes.io/hostname"
_OF_ONE_NODE = {"ReadWriteOnce", "ReadWriteOncePod"}


def standard_class() -> Document:
    return {
        "metadata": {
            "name": DEFAULT_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def csi_driver() -> Document:
    return {"metadata": {"name": PROVISIONER}, "spec": {"attachRequired": False}}


class Provisioner(Controller):
    """Volumes are folders of a node. A claim that the scheduler has chosen a node for gets one of that node,
    if it is for pods of one node only; all other volumes can be reached from everywhere.

    Keys with a namespace are claims, those without are volumes.
    """

    name = "volume provisioner"

    def __init__(self, writer: InternalWriter, clock: Clock, *, in_new_cluster: bool) -> None:
        super().__init__(writer, clock)
        self._recorder = Recorder(writer, PROVISIONER, clock)
        self._in_new_cluster = in_new_cluster

    def _begin(self) -> None:
        if self._in_new_cluster:
            self._furnish()
        self._listen(CLAIMS, self._claim_changed)
        self._listen(VOLUMES, self._volume_changed)
        self._add_all(CLAIMS)
        self._add_all(VOLUMES)

    def _furnish(self) -> None:
        """Makes what people may later change or delete."""
        if self._store.get(DRIVERS, "", PROVISIONER) is None:
            self._writer.create(DRIVERS, csi_driver())
        if not default_class(self._store):
            self._writer.create(CLASSES, standard_class())

    def _claim_changed(self, change: Change) -> None:
        if change.type != "DELETED" and _is_asked(change.new):
            self._queue.add(change.new.key)

    def _volume_changed(self, change: Change) -> None:
        if change.type != "DELETED" and _is_given_up(change.new):
            self._queue.add(change.new.key)

    async def _reconcile(self, key: objects.Key) -> None:
        if not key[0]:
            volume = self._store.get(VOLUMES, *key)
            if volume is not None and _is_given_up(volume):
                objects.delete_if_there(self._writer, VOLUMES, volume)
            return
        claim = self._store.get(CLAIMS, *key)
        found = self._store.get(CLASSES, "", claims.class_of(claim)) if claim is not None else None
        if claim is not None and found is not None and _is_asked(claim):
            self._provide(claim, found)

    def _provide(self, claim: Stored, storage_class: Stored) -> None:
        name = f"pvc-{claim.uid}"
        selected = claim.annotations.get(claims.SELECTED_NODE)
        if self._store.get(VOLUMES, "", name) is not None:
            return
        if selected is None and claims.waits_for_pod(self._store, claim):
            return
        text = f'External provisioner is provisioning volume for claim "{"/".join(claim.key)}"'
        self._recorder.tell(claim, "Provisioning", text)
        node = self._store.get("nodes", "", selected) if selected is not None else None
        if selected is not None and node is None:
            self._fail(claim, f'failed to get target node: nodes "{selected}" not found')
            # The scheduler chooses again.
            self._writer.change(CLAIMS, claim, _deselect_node)
        elif problem := _problem(claim):
            text = f'failed to provision volume with StorageClass "{storage_class.name}": {problem}'
            self._fail(claim, text)
        else:
            self._writer.create(VOLUMES, _volume(name, claim, storage_class, node))
            self._recorder.tell(claim, "ProvisioningSucceeded", f"Successfully provisioned volume {name}")

    def _fail(self, claim: Stored, text: str) -> None:
        self._recorder.tell(claim, "ProvisioningFailed", text, warning=True)


def _is_asked(claim: Stored) -> bool:
    mark = claim.annotations.get(claims.PROVISIONER_MARK)
    return mark == PROVISIONER and not claim.spec.get("volumeName") and not claim.is_deleted


def _is_given_up(volume: Stored) -> bool:
    return (
        volume.annotations.get(claims.PROVISIONED_BY) == PROVISIONER
        and volume.spec.get("persistentVolumeReclaimPolicy") == "Delete"
        and volume.status.get("phase") in claims.RELEASED
        and not volume.is_deleted
    )


def _problem(claim: Stored) -> str:
    """Why there cannot be a volume for a claim; none of this can be changed later."""
    if claim.spec.get("selector") is not None:
        return "a claim with a selector can only get a volume that exists; leave spec.selector out"
    if claim.spec.get("volumeMode") == "Block":
        return "volumes are folders, not block devices; use volumeMode Filesystem"
    if claim.spec.get("dataSourceRef") is not None:
        return "volumes are made empty; leave spec.dataSource and spec.dataSourceRef out"
    return ""


def _volume(name: str, claim: Stored, storage_class: Stored, node: Stored | None) -> Document:
    options = storage_class.document
    modes = texts(claim.spec, "accessModes")
    spec: Document = {
        "accessModes": modes,
        "capacity": {"storage": claim.spec["resources"]["requests"]["storage"]},
        "claimRef": claims.claim_reference(claim),
        "csi": {"driver": PROVISIONER, "volumeHandle": name},
        "persistentVolumeReclaimPolicy": options.get("reclaimPolicy") or "Delete",
        "storageClassName": storage_class.name,
        "volumeMode": "Filesystem",
    }
    if options.get("mountOptions"):
        spec["mountOptions"] = options["mountOptions"]
    if terms := _places(options, node if _OF_ONE_NODE.issuperset(modes) else None):
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    metadata = {"name": name, "annotations": {claims.PROVISIONED_BY: PROVISIONER}}
    return objects.copied({"metadata": metadata, "spec": spec})


def _places(storage_class: Document, node: Stored | None) -> list[Document]:
    """Where a volume can be reached: on its node, or wherever its class says."""
    if node is not None:
        values = [node.labels.get(HOSTNAME, node.name)]
        return [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": values}]}]
    return [
        {
            "matchExpressions": [
                {"key": each["key"], "operator": "In", "values": each["values"]}
                for each in term.get("matchLabelExpressions") or ()
            ]
        }
        for term in storage_class.get("allowedTopologies") or ()
    ]


def _deselect_node(document: Document) -> None:
    document["metadata"]["annotations"].pop(claims.SELECTED_NODE, None)
