"""A cluster with devices in the default namespace, and what must hold of it in the end."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from moorage.client.errors import NotFound
from tests.controlplane.devices.device_documents import ANY, claim, device_class, devices, resource_slice
from tests.controlplane.schedulers import Api, Document, Moorage, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane, wait_for
from tests.faults.gateway import Gateway

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
PODS = "/api/v1/namespaces/default/pods"
FINALIZER = "resource.kubernetes.io/delete-protection"
PATIENCE = 60.0


class DeviceCluster:
    """Nodes with devices, and pods with a claim of the same name each."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.api = Api(plane)

    def furnish(self, *, nodes: int, devices_each: int, **of_class: Any) -> None:
        self.api.create([device_class(ANY, **of_class)])
        self.api.create(node(f"n{number}") for number in range(nodes))
        listed = devices(*(f"d{number}" for number in range(devices_each)))
        self.api.create(_slice(f"n{number}", listed) for number in range(nodes))

    def publish(self, on: str, *listed: Document) -> None:
        """A node has these devices from now on."""
        [found] = [each for each in self.api.items("resourceslices") if each["spec"]["nodeName"] == on]
        found["spec"]["devices"] = list(listed)
        self.api.request("PUT", f"{SLICES}/{found['metadata']['name']}", found)

    def add(self, *names: str, claim_of: str = "", **form: Any) -> None:
        """Pods, all with a claim of their own or all with that of one."""
        self.claim(*([claim_of] if claim_of else names))
        self.pods(*names, claim_of=claim_of, **form)

    def claim(self, *names: str) -> None:
        self.api.create(_here(claim(name)) for name in names)

    def plain(self, *names: str, **form: Any) -> None:
        self.api.create(pod(name, **form) for name in names)

    def pods(self, *names: str, claim_of: str = "", **form: Any) -> None:
        form = {"requests": {"cpu": "100m"}, **form}
        self.api.create(
            pod(name, resourceClaims=[{"name": "c", "resourceClaimName": claim_of or name}], **form)
            for name in names
        )

    def end(self, names: Iterable[str]) -> None:
        """Pods end, and their claims are freed, as the controller of claims does it."""
        gone = list(names)
        self.api.delete(*(f"{PODS}/{name}" for name in gone))
        for name in gone:
            found = self.api.request("GET", f"{CLAIMS}/{name}")
            self.api.request("PUT", f"{CLAIMS}/{name}/status", {**found, "status": {}})

    def claims(self) -> dict[str, Document]:
        return {each["metadata"]["name"]: each for each in self.api.items("resourceclaims")}

    def bound(self) -> dict[str, str]:
        return self.api.bound()

    def notes(self, name: str) -> str:
        """What events say of failed attempts of a pod."""
        return "\n".join(each["message"] for each in self.api.events("FailedScheduling", name))

    def all_bound(self) -> bool:
        return all(each["spec"].get("nodeName") for each in self.api.items("pods"))

    def wait_bound(self, scheduler: Moorage) -> None:
        scheduler.wait_until("all pods to be bound", self.all_bound, seconds=PATIENCE)

    def audit(self) -> None:
        """Fails if a device is in two claims, or a bound pod without its claim."""
        claims = self.claims()
        held = Counter(device for each in claims.values() for device in devices_of(each))
        assert [device for device, times in held.items() if times > 1] == []
        for each in self.api.items("pods"):
            if each["spec"].get("nodeName"):
                for name in claims_of(each):
                    users = claims[name]["status"].get("reservedFor", [])
                    assert [user["uid"] for user in users].count(each["metadata"]["uid"]) == 1
                    assert {pool for _, pool, _ in devices_of(claims[name])} == {each["spec"]["nodeName"]}

    def clean_up(self) -> None:
        self.api.delete_all("pods")
        for name, found in self.claims().items():
            if found["metadata"].get("finalizers"):
                free = {**found, "metadata": {**found["metadata"], "finalizers": []}}
                with contextlib.suppress(NotFound):
                    self.api.request("PUT", f"{CLAIMS}/{name}", free)
        for plural in ("resourceclaims", "resourceslices", "deviceclasses", "nodes"):
            self.api.delete_all(plural)
        wait_for("all claims to be gone", lambda: not self.claims())

    @contextlib.contextmanager
    def scheduler_behind(self, gateway: Gateway, folder: Path) -> Iterator[Moorage]:
        config = configuration(self.plane, kubeconfig=kubeconfig_behind(self.plane, gateway, folder))
        with moorage(self.plane, config=config) as process:
            yield process


def claims_of(found: Document) -> list[str]:
    named = [each["resourceClaimName"] for each in found["spec"].get("resourceClaims", [])]
    made = found["status"].get("extendedResourceClaimStatus")
    return named + ([made["resourceClaimName"]] if made else [])


def devices_of(found: Document) -> list[tuple[str, str, str]]:
    given = found.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [(each["driver"], each["pool"], each["device"]) for each in given]


def kubeconfig_behind(plane: ControlPlane, gateway: Gateway, folder: Path) -> Path:
    """A kubeconfig that leads to a gateway in front of the API server."""
    content = json.loads(plane.kubeconfig.read_text())
    cluster = content["clusters"][0]["cluster"]
    cluster |= {"server": gateway.url, "certificate-authority": str(gateway.ca_file)}
    file = folder / "kubeconfig"
    file.write_text(json.dumps(content))
    return file


def _slice(name: str, listed: Iterable[Document]) -> Document:
    return _here(resource_slice(listed, on=name, pool=name))


def _here(document: Document) -> Document:
    """Without the name of a stage."""
    text = json.dumps(document).replace('"HERE"', '"default"').replace(".HERE", "")
    made: Document = json.loads(text)
    return made
