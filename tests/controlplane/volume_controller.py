"""A small volume controller and provisioner for tests: they do their part when volumes are to be bound."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from moorage.api.quantities import parse
from moorage.client.errors import Conflict, NotFound
from tests.controlplane.schedulers import Api, Document

STEP_SECONDS = 0.1
NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY = "pv.kubernetes.io/bound-by-controller"
HOST_NAME = "kubernetes.io/hostname"

VOLUMES = "/api/v1/persistentvolumes"


def storage_class(name: str, provisioner: str = NO_PROVISIONER, *, immediate: bool = False) -> Document:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "Immediate" if immediate else "WaitForFirstConsumer",
    }


def volume(name: str, storage_class: str, *, node: str = "", size: str = "10Gi", **spec: Any) -> Document:
    """A volume; with a node, one that can be used there alone."""
    near = {"key": HOST_NAME, "operator": "In", "values": [node]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [near]}]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": "/data"},
            **({"nodeAffinity": affinity} if node else {}),
            **spec,
        },
    }


def claim(name: str, storage_class: str, *, size: str = "5Gi", **spec: Any) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": storage_class,
            **spec,
        },
    }


def mount(*claims: str) -> list[Document]:
    """The volumes of a pod that uses these claims."""
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]


class VolumeController:
    """Makes volumes available, binds claims to the volumes that name them, and makes volumes for claims.

    `held` are names of claims that nothing is done for; `failing` those for which no volume can be made: the
    node that was chosen for them is taken back.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self.held: set[str] = set()
        self.failing: set[str] = set()

    @contextlib.contextmanager
    def running(self) -> Iterator["VolumeController"]:
        """Works beside the test for the length of a `with` block."""
        ended = threading.Event()

        def work() -> None:
            while not ended.wait(STEP_SECONDS):
                self.step()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()

    def step(self) -> None:
        """Looks at everything once; who is slower than others tries again the next time."""
        classes = {each["metadata"]["name"]: each for each in self._api.items("storageclasses")}
        volumes = self._api.items("persistentvolumes")
        for found in volumes:
            if found["status"].get("phase", "Pending") == "Pending":
                self._set_phase(f"{VOLUMES}/{found['metadata']['name']}", "Available")
        for found in self._api.items("persistentvolumeclaims"):
            if COMPLETED not in found["metadata"].get("annotations", {}):
                with contextlib.suppress(Conflict, NotFound):
                    self._serve(found, classes, volumes)

    def _serve(self, found: Document, classes: dict[str, Document], volumes: list[Document]) -> None:
        meta = found["metadata"]
        its_class = classes.get(found["spec"].get("storageClassName", ""))
        if meta["name"] in self.held or its_class is None:
            return
        named = [each for each in volumes if each["spec"].get("claimRef", {}).get("uid") == meta["uid"]]
        if named:
            self._bind(found, named[0])
            return
        node = meta.get("annotations", {}).get(SELECTED, "")
        immediate = its_class["volumeBindingMode"] == "Immediate"
        if immediate and (fitting := _smallest(found, volumes)):
            fitting["spec"]["claimRef"] = _reference(found)
            self._bind(found, self._api.request("PUT", _path(fitting), fitting))
        elif (immediate or node) and its_class["provisioner"] != NO_PROVISIONER:
            self._provision(found, node)

    def _provision(self, found: Document, node: str) -> None:
        meta = found["metadata"]
        if meta["name"] in self.failing:
            if meta.get("annotations", {}).pop(SELECTED, None) is not None:
                self._api.request("PUT", _path(found), found)
            return
        size = found["spec"]["resources"]["requests"]["storage"]
        storage_class = found["spec"]["storageClassName"]
        made = volume(f"pvc-{meta['uid']}", storage_class, node=node, size=size, claimRef=_reference(found))
        self._bind(found, self._api.create([made])[0])

    def _bind(self, found: Document, to: Document) -> None:
        found["spec"]["volumeName"] = to["metadata"]["name"]
        found["metadata"].setdefault("annotations", {}).update({COMPLETED: "yes", BOUND_BY: "yes"})
        self._api.request("PUT", _path(found), found)
        self._set_phase(_path(found), "Bound")
        self._set_phase(_path(to), "Bound")

    def _set_phase(self, path: str, phase: str) -> None:
        with contextlib.suppress(Conflict, NotFound):
            document = self._api.request("GET", path)
            document["status"]["phase"] = phase
            self._api.request("PUT", f"{path}/status", document)


def _reference(found: Document) -> Document:
    meta = found["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": meta["name"],
        "namespace": meta["namespace"],
        "uid": meta["uid"],
    }


def _path(document: Document) -> str:
    meta = document["metadata"]
    if "namespace" in meta:
        return f"/api/v1/namespaces/{meta['namespace']}/persistentvolumeclaims/{meta['name']}"
    return f"{VOLUMES}/{meta['name']}"


def _smallest(found: Document, volumes: list[Document]) -> Document | None:
    """The smallest free volume of the class that is large enough."""
    wanted = found["spec"]
    fitting = [
        each
        for each in volumes
        if "claimRef" not in each["spec"]
        and each["spec"].get("storageClassName") == wanted["storageClassName"]
        and _size(each["spec"]["capacity"]) >= _size(wanted["resources"]["requests"])
    ]
    return min(fitting, key=lambda each: _size(each["spec"]["capacity"]), default=None)


def _size(amounts: Document) -> int:
    return parse(amounts["storage"])
