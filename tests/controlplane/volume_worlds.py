"""A small world of nodes, volumes and claims for one scheduler, apart from others on the same API server."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.controlplane.schedulers import Api, Document, condition, node, pod
from tests.controlplane.servers import wait_for

ZONE = "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
COMPLETED = "pv.kubernetes.io/bind-completed"
BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
HOST = "kubernetes.io/hostname"
ROOMS = "/api/v1/namespaces"
STORAGE = "/apis/storage.k8s.io/v1"
WAIT = 40.0


def affinity(key: str, *values: str) -> Document:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


class World:
    """Objects with names of their own; pods stay on the nodes of their world.

    Nodes and volumes are named by short names, in methods and in what methods return. The test plays the
    controllers: `hand_over` is what a provisioner and the controller of volumes do.
    """

    def __init__(self, api: Api, scheduler: str, name: str) -> None:
        self.api = api
        self.scheduler = scheduler
        self.name = name
        self.api.request("POST", ROOMS, {"metadata": {"name": name}})

    def full(self, short: str) -> str:
        return f"{self.name}-{short}"

    # What there is

    def node(
        self, short: str, zone: str = "", *, labels: Mapping[str, str] | None = None, cpu: str = "32"
    ) -> None:
        zones = {ZONE: zone} if zone else {}
        mine = {"world": self.name, "short": short, **zones, **(labels or {})}
        self.api.create([node(self.full(short), labels=mine, cpu=cpu)])

    def two_nodes(self) -> None:
        self.node("n1", "a")
        self.node("n2", "b")

    def storage_class(self, short: str, **fields: Any) -> None:
        """Waits for the first consumer unless told otherwise."""
        body: Document = {
            "metadata": {"name": self.full(short)},
            "provisioner": f"{self.name}.example",
            "volumeBindingMode": "WaitForFirstConsumer",
            **fields,
        }
        self.api.request("POST", f"{STORAGE}/storageclasses", body)

    def claim(
        self, name: str, of_class: str = "", *, size: str = "1Gi", bound_to: str = "", **more: Any
    ) -> None:
        """A claim; `bound_to` is the volume of one whose binding is complete."""
        annotations: Document = {COMPLETED: "yes"} if bound_to else {}
        metadata = {"name": name, "annotations": annotations, **more.pop("metadata", {})}
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": self.full(of_class) if of_class else "",
            "resources": {"requests": {"storage": size}},
            **({"volumeName": self.full(bound_to)} if bound_to else {}),
            **more,
        }
        path = f"{ROOMS}/{self.name}/persistentvolumeclaims"
        self.api.request("POST", path, {"metadata": metadata, "spec": spec})

    def volume(
        self,
        short: str,
        of_class: str = "",
        *,
        size: str = "1Gi",
        claim: str = "",
        source: Document | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        """A volume that is available, or bound to a claim of that name."""
        name = self.full(short)
        if claim:
            spec["claimRef"] = {"kind": "PersistentVolumeClaim", "namespace": self.name, "name": claim}
        body = {
            "metadata": {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": self.full(of_class) if of_class else "",
                **(source or {"csi": {"driver": f"{self.name}.example", "volumeHandle": name}}),
                **spec,
            },
        }
        made = self.api.request("POST", "/api/v1/persistentvolumes", body)
        made["status"]["phase"] = "Bound" if claim else "Available"
        self.api.request("PUT", f"/api/v1/persistentvolumes/{name}/status", made)

    def csi_node(self, short: str, *, count: int | None = None, migrated: str = "", driver: str = "") -> None:
        annotations = {"storage.alpha.kubernetes.io/migrated-plugins": migrated} if migrated else {}
        body: Document = {
            "metadata": {"name": self.full(short), "annotations": annotations},
            "spec": {"drivers": [_driver(driver or f"{self.name}.example", count)]},
        }
        self.api.request("POST", f"{STORAGE}/csinodes", body)

    def allow(self, short: str, count: int) -> None:
        """Raises the number of volumes that a node can have."""
        path = f"{STORAGE}/csinodes/{self.full(short)}"
        found = self.api.request("GET", path)
        found["spec"]["drivers"] = [_driver(f"{self.name}.example", count)]
        self.api.request("PUT", path, found)

    def pod(
        self, name: str, *claims: str, on: str = "", profile: str = "", requests: Any = None, **spec: Any
    ) -> None:
        """A pod with claims, held to this world and, with `on`, to one node of it."""
        volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
        body = pod(
            name,
            scheduler=self.scheduler + profile,
            requests=requests,
            volumes=[*volumes, *spec.pop("volumes", [])],
            nodeSelector={"world": self.name, **({"short": on} if on else {})},
            **spec,
        )
        body["metadata"]["namespace"] = self.name
        self.api.create([body])

    def running(self, name: str, on: str, *claims: str, **spec: Any) -> None:
        """A pod that has its node already."""
        self.pod(name, *claims, nodeName=self.full(on), **spec)

    # What controllers do

    def hand_over(self, claim: str, volume: str) -> None:
        """Completes the binding of a claim to a volume."""
        patch = f"{ROOMS}/{self.name}/persistentvolumeclaims/{claim}"
        found = self.api.request("GET", patch)
        found["spec"]["volumeName"] = self.full(volume)
        found["metadata"].setdefault("annotations", {}).update({COMPLETED: "yes", BY_CONTROLLER: "yes"})
        self.api.request("PUT", patch, found)

    def annotate_claim(self, claim: str, **annotations: str | None) -> None:
        """Sets annotations of a claim, by full names; None removes one."""
        path = f"{ROOMS}/{self.name}/persistentvolumeclaims/{claim}"
        found = self.api.request("GET", path)
        kept = {**found["metadata"].get("annotations", {}), **annotations}
        found["metadata"]["annotations"] = {key: value for key, value in kept.items() if value is not None}
        self.api.request("PUT", path, found)

    # What came of it

    def get_pod(self, name: str) -> Document:
        return self.api.pod(name, self.name)

    def get_claim(self, name: str) -> Document:
        return self.api.request("GET", f"{ROOMS}/{self.name}/persistentvolumeclaims/{name}")

    def get_volume(self, short: str) -> Document:
        return self.api.request("GET", f"/api/v1/persistentvolumes/{self.full(short)}")

    def owner(self, volume: str) -> str:
        """The claim that a volume is for."""
        reference: Document = self.get_volume(volume)["spec"].get("claimRef") or {}
        return str(reference.get("name", ""))

    def selected(self, claim: str) -> str:
        """The node selected for a claim; empty if there is none."""
        found: Document = self.get_claim(claim)["metadata"].get("annotations") or {}
        return self._short(found.get(SELECTED, ""))

    def where(self, name: str) -> str:
        return self._short(self.get_pod(name)["spec"].get("nodeName", ""))

    def wait_where(self, name: str) -> str:
        """The node that a pod gets."""
        return str(wait_for(f"{self.name}: a node for {name}", lambda: self.where(name), seconds=WAIT))

    def wait_selected(self, claim: str) -> str:
        what = f"{self.name}: a node selected for {claim}"
        return str(wait_for(what, lambda: self.selected(claim), seconds=WAIT))

    def wait_owned(self, volume: str) -> str:
        what = f"{self.name}: a claim for volume {volume}"
        return str(wait_for(what, lambda: self.owner(volume), seconds=WAIT))

    def wait_message(self, name: str, *parts: str) -> str:
        """Waits until the reason why a pod is not scheduled has all these parts."""

        def found() -> str:
            message: str = condition(self.get_pod(name)).get("message", "")
            return message if all(part in message for part in parts) else ""

        what = f"{self.name}: {name} to say {' and '.join(parts)}"
        try:
            return str(wait_for(what, found, seconds=WAIT))
        except Exception as error:
            raise AssertionError(f"{error}; it says {condition(self.get_pod(name))}") from None

    def wait_event(self, name: str, text: str) -> None:
        """Waits for a FailedScheduling event of a pod with this text."""

        def found() -> Sequence[Document]:
            path = f"/apis/events.k8s.io/v1/namespaces/{self.name}/events"
            items: list[Document] = self.api.request("GET", path)["items"]
            return [
                each
                for each in items
                if each["reason"] == "FailedScheduling"
                and each["regarding"]["name"] == name
                and text in each.get("note", "")
            ]

        wait_for(f"{self.name}: an event of {name} with {text}", found, seconds=WAIT)

    def _short(self, full: str) -> str:
        return full.removeprefix(f"{self.name}-")


def _driver(name: str, count: int | None) -> Document:
    allocatable = {} if count is None else {"allocatable": {"count": count}}
    return {"name": name, "nodeID": "x", "topologyKeys": [], **allocatable}
