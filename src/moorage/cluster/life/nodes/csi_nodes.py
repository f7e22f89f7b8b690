"""What each node says about the built-in CSI driver: that it has it, and how many volumes it can take."""

from __future__ import annotations

from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Key, delete_if_there
from moorage.cluster.life.controllers.volumes.provisioner import HOSTNAME, PROVISIONER

CSI_NODES = "csinodes.storage.k8s.io"
MOST_VOLUMES = 256


class CsiNodes(Controller):
    """Gives a node its CSINode when it appears. What people make of it afterwards stays."""

    name = "csinode"

    def _begin(self) -> None:
        self._listen("nodes", self._changed)
        self._add_all("nodes")

    def _changed(self, change: Change) -> None:
        if change.type == "ADDED":
            self._queue.add(change.new.key)

    async def _reconcile(self, key: Key) -> None:
        node = self._store.get("nodes", *key)
        if node is None:
            return
        known = self._store.get(CSI_NODES, *key)
        if known is not None and _is_of_another(known, node):
            delete_if_there(self._writer, CSI_NODES, known)
            known = self._store.get(CSI_NODES, *key)
        if known is None:
            self._writer.create(CSI_NODES, _csi_node(node))


def _is_of_another(csi_node: Stored, node: Stored) -> bool:
    """Whether it was that of a node of the same name, which is gone: then it is about to go, too."""
    owners = {owner.get("uid") for owner in csi_node.owners if owner.get("kind") == "Node"}
    return bool(owners) and node.uid not in owners


def _csi_node(node: Stored) -> Document:
    driver = {
        "name": PROVISIONER,
        "nodeID": node.name,
        "topologyKeys": [HOSTNAME],
        "allocatable": {"count": MOST_VOLUMES},
    }
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    return {"metadata": {"name": node.name, "ownerReferences": [owner]}, "spec": {"drivers": [driver]}}
