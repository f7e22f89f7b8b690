"""A real cluster but for the containers: the control plane, its controllers, and a kubelet that is played."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from moorage.client.connection import find
from moorage.client.errors import ApiError
from moorage.client.http import HttpClient
from tests.controlplane.schedulers import Api, node
from tests.controlplane.servers import HOST, ControlPlane, Program, free_ports

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
)
SECONDS = 1.0
"""That a pod runs which is not to run for ever, as in the embedded cluster."""
EXIT_CODE = "moorage/exit-code"
FINISH = "moorage/finish"
"""The annotation that keeps a pod running if it is `false`."""
_LOOK = 0.1  # seconds between two looks
_PODS = "/api/v1/pods"

Document = dict[str, Any]


@contextlib.contextmanager
def real_cluster(programs: Path, controller_manager: Path) -> Iterator[ControlPlane]:
    """With one node; it does what `moorage up` does with workloads, by the programs that are the original."""
    with cluster_without_scheduler(programs, controller_manager) as plane, plane.kube_scheduler():
        zone = {"topology.kubernetes.io/zone": "zone-a", "topology.kubernetes.io/region": "region-1"}
        Api(plane).create([node("node-1", labels=zone)])
        yield plane


@contextlib.contextmanager
def cluster_without_scheduler(programs: Path, controller_manager: Path) -> Iterator[ControlPlane]:
    """A control plane whose controllers work and whose pods run, once they have nodes."""
    plane = ControlPlane(
        programs,
        disabled_admission=["TaintNodesByCondition"],
        apiserver_flags=["--service-cluster-ip-range=10.96.0.0/16"],
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(plane)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="controllers-")))
        [port] = free_ports(1)
        flags = (
            f"--kubeconfig={plane.kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            f"--root-ca-file={plane.ca_file}",
            f"--cert-dir={folder}",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            "--leader-elect=false",
        )
        manager = Program(controller_manager, flags, folder / "log")
        stack.callback(manager.stop)
        stack.enter_context(Kubelet(plane.kubeconfig))
        yield plane


class Kubelet:
    """Says of the pods of all nodes what a kubelet would, in a thread of its own, for a `with` block."""

    def __init__(self, kubeconfig: Path) -> None:
        self._config = find(str(kubeconfig))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(10)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        since: dict[str, float] = {}
        async with HttpClient(self._config, qps=-1) as client:
            while not self._stopped.is_set():
                found = await client.request_json("GET", _PODS)
                for pod in found["items"]:
                    if pod["spec"].get("nodeName"):
                        began = since.setdefault(pod["metadata"]["uid"], loop.time())
                        # What has changed meanwhile is seen at the next look.
                        with contextlib.suppress(ApiError):
                            await _tend(client, pod, loop.time() - began)
                await asyncio.sleep(_LOOK)


async def _tend(client: HttpClient, pod: Document, age: float) -> None:
    metadata = pod["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    if "deletionTimestamp" in metadata:
        await client.request_json("DELETE", path, {"gracePeriodSeconds": 0})
        return
    told, phase = pod["status"].get("phase"), "Running"
    annotations = metadata.get("annotations") or {}
    code = int(annotations.get(EXIT_CODE, 0))
    ends = pod["spec"]["restartPolicy"] != "Always" and annotations.get(FINISH) != "false"
    if ends and age > SECONDS:
        phase = "Failed" if code else "Succeeded"
    if phase != told and told in ("Pending", "Running"):
        status = {**pod["status"], **_status(pod, phase, code)}
        await client.request_json("PUT", f"{path}/status", {**pod, "status": status})


def _status(pod: Document, phase: str, code: int) -> Document:
    runs = phase == "Running"
    states = {"running": {}} if runs else {"terminated": {"exitCode": code, "reason": "Completed"}}
    kept = [each for each in pod["status"].get("conditions") or () if each["type"] == "PodScheduled"]
    ready = [{"type": each, "status": str(runs)} for each in ("Ready", "ContainersReady")]
    containers = [
        {
            "name": each["name"],
            "image": each["image"],
            "imageID": "",
            "ready": runs,
            "restartCount": 0,
            "state": states,
        }
        for each in pod["spec"]["containers"]
    ]
    return {"phase": phase, "conditions": [*kept, *ready], "containerStatuses": containers}
