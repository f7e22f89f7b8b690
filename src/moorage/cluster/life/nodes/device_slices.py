"""What nodes publish about their devices, in the place of drivers that would run there."""

from __future__ import annotations

from moorage.api.simulated_devices import SimulatedDevices
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Key, controller_of, delete_if_there
from moorage.cluster.objects.writes import InternalWriter

SLICES = "resourceslices.resource.k8s.io"
CLASSES = "deviceclasses.resource.k8s.io"


class DeviceSlices(Controller):
    """Gives a node its slices when it appears. What people make of them afterwards stays."""

    name = "device"

    def __init__(self, writer: InternalWriter, clock: Clock, devices: SimulatedDevices) -> None:
        super().__init__(writer, clock)
        self._devices = devices

    def _begin(self) -> None:
        for document in self._devices.classes:
            self._ensure(CLASSES, document)
        for document in self._devices.of_no_node():
            self._ensure(SLICES, document)
        self._listen("nodes", self._changed)
        self._add_all("nodes")

    def _changed(self, change: Change) -> None:
        if change.type == "ADDED":
            self._queue.add(change.new.key)

    async def _reconcile(self, key: Key) -> None:
        node = self._store.get("nodes", *key)
        if node is None:
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid, "controller": True}
        for document in self._devices.of_node(node.name):
            known = self._store.get(SLICES, "", document["metadata"]["name"])
            if known is not None and _is_of_another(known, node):
                delete_if_there(self._writer, SLICES, known)
            document["metadata"]["ownerReferences"] = [owner]
            self._ensure(SLICES, document)

    def _ensure(self, resource: str, document: Document) -> None:
        if self._store.get(resource, "", document["metadata"]["name"]) is None:
            self._writer.create(resource, document)


def _is_of_another(published: Stored, node: Stored) -> bool:
    """Whether it was that of a node of the same name, which is gone: then it is about to go, too."""
    owner = controller_of(published)
    return owner is not None and owner.get("kind") == "Node" and owner.get("uid") != node.uid
