"""Schedulers as child processes, and quick ways to fill a cluster and to look at it."""

import asyncio
import contextlib
import http.client
import json
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import yaml

from moorage.client.connection import find
from moorage.client.http import HttpClient
from tests.controlplane.servers import (
    HOST,
    Cluster,
    ControlPlaneError,
    Program,
    free_ports,
    wait_for,
)

MOORAGE = Path(sys.executable).with_name("moorage")
NAME = "moorage"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
SCHEDULES = "Caches are synced, starting to schedule"
FAST = {"qps": 5000, "burst": 5000}

Document = dict[str, Any]


class Answer(NamedTuple):
    status: int
    text: str


def ask(
    port: int, path: str, *, token: str = "", method: str = "GET", body: str | None = None
) -> Answer | None:
    """What a scheduler's server answers; None while it does not."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # its certificate is its own
    connection = http.client.HTTPSConnection(HOST, port, timeout=10, context=context)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode())
    except (OSError, http.client.HTTPException):
        return None


class Moorage(Program):
    """A running `moorage run`."""

    def __init__(self, flags: Sequence[str], log: Path, port: int) -> None:
        super().__init__(MOORAGE, ("run", *flags), log)
        self.port = port

    def get(
        self, path: str, *, token: str = "", method: str = "GET", body: str | None = None
    ) -> Answer | None:
        """What its server answers; None while it does not."""
        return ask(self.port, path, token=token, method=method, body=body)

    def wait_until(self, what: str, condition: Callable[[], Any], *, seconds: float = 40.0) -> Any:
        """Waits as `wait_for` does, but not for a process that has ended."""

        def check() -> Any:
            self.check_running()
            return condition()

        try:
            return wait_for(what, check, seconds=seconds)
        except ControlPlaneError as error:
            raise ControlPlaneError(f"{error}; the end of the log:\n{self.log_end()}") from None

    def wait_ready(self) -> None:
        if self.port:
            self.wait_until("readiness", lambda: self.get("/readyz") == (200, "ok"), seconds=START_SECONDS)
        else:
            self.wait_until(SCHEDULES, lambda: SCHEDULES in self.log_text(), seconds=START_SECONDS)


def configuration(
    plane: Cluster, *names: str, kubeconfig: Path | None = None, election: Document | None = None
) -> Document:
    """A configuration with a default profile per name, without a limit to speak of on requests."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig or plane.kubeconfig), **FAST},
        "leaderElection": {"leaderElect": election is not None, **(election or {})},
        "profiles": [{"schedulerName": name} for name in names or (NAME,)],
    }


def deployed_configuration(manifests: str) -> str:
    """The scheduler configuration in what `moorage manifests` printed."""
    [found] = [each for each in yaml.safe_load_all(manifests) if each["kind"] == "ConfigMap"]
    text: str = found["data"]["scheduler.yaml"]
    return text


@contextlib.contextmanager
def moorage(
    plane: Cluster, *flags: str, config: Document | None = None, serve: bool = False, ready: bool = True
) -> Iterator[Moorage]:
    """`moorage run` for the length of a `with` block, from when it schedules on; `serve` gives it a port.

    With `ready=False` nothing is waited for.
    """
    with tempfile.TemporaryDirectory(prefix="moorage-") as name:
        folder = Path(name)
        file = folder / "config.yaml"
        file.write_text(json.dumps(config or configuration(plane)))
        [port] = free_ports(1) if serve else [0]
        reviews = ("authentication", "authorization") if serve else ()
        defaults = (
            f"--config={file}",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            *(f"--{what}-kubeconfig={plane.kubeconfig}" for what in reviews),
            "-v=1",
        )
        process = Moorage((*defaults, *flags), folder / "moorage.log", port)
        try:
            if ready:
                process.wait_ready()
            yield process
        finally:
            process.stop()


class Api:
    """The cluster as its administrator sees it, in plain documents."""

    def __init__(self, plane: Cluster) -> None:
        self._config = find(str(plane.kubeconfig))

    def create(self, documents: Iterable[Document]) -> list[Document]:
        """Makes objects, many at once."""
        return self._together(("POST", _collection(document), document) for document in documents)

    def delete(self, *paths: str, grace: int = 0) -> None:
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace}
        self._together(("DELETE", path, options) for path in paths)

    def delete_all(self, *plurals: str) -> None:
        """Removes every object of these kinds at once; those of pods in all namespaces."""
        for plural in plurals:
            items = self.items(plural)
            spaces = [each["metadata"].get("namespace", "") for each in items]
            self.delete(
                *(
                    _path(plural, space, each["metadata"]["name"])
                    for space, each in zip(spaces, items, strict=True)
                )
            )

    def request(self, method: str, path: str, body: Any = None) -> Document:
        return self._together([(method, path, body)])[0]

    def items(self, plural: str, **params: str) -> list[Document]:
        query = f"?{urlencode(params)}" if params else ""
        items: list[Document] = self.request("GET", _path(plural, "", "") + query)["items"]
        return items

    def pod(self, name: str, namespace: str = "default") -> Document:
        return self.request("GET", _path("pods", namespace, name))

    def pods(self, **params: str) -> dict[str, Document]:
        return {each["metadata"]["name"]: each for each in self.items("pods", **params)}

    def bound(self) -> dict[str, str]:
        """The nodes of all pods that have one, by pod."""
        return {
            name: pod["spec"]["nodeName"] for name, pod in self.pods().items() if pod["spec"].get("nodeName")
        }

    def events(self, reason: str, name: str = "") -> list[Document]:
        """The events of a reason, of all pods or of one."""
        return [
            event
            for event in self.items("events", fieldSelector=f"reason={reason}")
            if not name or event["involvedObject"]["name"] == name
        ]

    def _together(self, requests: Iterable[tuple[str, str, Any]]) -> list[Document]:
        slots = asyncio.Semaphore(32)

        async def one(client: HttpClient, method: str, path: str, body: Any) -> Document:
            async with slots:
                answer: Document = await client.request_json(method, path, body)
                return answer

        async def everything() -> list[Document]:
            async with HttpClient(self._config, qps=-1) as client:
                return await asyncio.gather(*(one(client, *request) for request in requests))

        return asyncio.run(everything())


ROOTS = {
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    **dict.fromkeys(
        ("storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
        "/apis/storage.k8s.io/v1",
    ),
    **dict.fromkeys(("deviceclasses", "resourceslices", "resourceclaims"), "/apis/resource.k8s.io/v1"),
}


def _path(plural: str, namespace: str, name: str) -> str:
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{ROOTS.get(plural, '/api/v1')}{inside}/{plural}" + (f"/{name}" if name else "")


def _collection(document: Mapping[str, Any]) -> str:
    kind = document["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}es" if kind.endswith("s") else f"{kind}s"
    return _path(plural, document["metadata"].get("namespace", ""), "")


def node(
    name: str,
    *,
    cpu: str = "32",
    memory: str = "64Gi",
    pods: str = "110",
    labels: Mapping[str, str] | None = None,
    spec: Document | None = None,
    more: Mapping[str, str] | None = None,
) -> Document:
    """A ready node; `more` are further resources."""
    amounts = {"cpu": cpu, "memory": memory, "pods": pods, **(more or {})}
    labels = {"kubernetes.io/hostname": name, **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec or {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    *,
    scheduler: str = NAME,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    ports: Sequence[int] = (),
    requests: Mapping[str, str] | None = None,
    **spec: Any,
) -> Document:
    """A pod of one container; `spec` are further fields of its spec."""
    container: Document = {"name": "main", "image": "none", "resources": {"requests": dict(requests or {})}}
    extended = {key: value for key, value in (requests or {}).items() if "/" in key}
    if extended:
        container["resources"]["limits"] = extended
    if ports:
        container["ports"] = [{"containerPort": port, "hostPort": port} for port in ports]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
    }


def condition(pod: Document, kind: str = "PodScheduled") -> Document:
    """A condition of a pod without its times; empty if it has none of that kind."""
    found = pod["status"].get("conditions") or []
    times = ("lastProbeTime", "lastTransitionTime")
    return next(
        (
            {key: value for key, value in each.items() if key not in times}
            for each in found
            if each["type"] == kind
        ),
        {},
    )
