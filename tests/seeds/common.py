"""The common ground of the seed systems' walks: nodes, pods and a scheduler, on either kind of cluster."""

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import HOST, free_ports, wait_for
from tests.embedded.clusters import Kubectl, Result

EXAMPLES = Path(__file__).parents[2] / "examples"
BOUND_SECONDS = 20.0
RETRY_SECONDS = 15.0

Document = dict[str, Any]


@dataclass(frozen=True)
class Cluster:
    """A cluster without a scheduler: the embedded one, or the real API server alone."""

    is_embedded: bool
    kubeconfig: Path
    token: str
    """Of somebody who may do everything."""
    kubectl: Kubectl

    # NODES

    def create_nodes(self, *names_and_cpus: str) -> None:
        """Makes ready nodes, each given as `name:cpu`."""
        nodes = [node(*text.split(":")) for text in names_and_cpus]
        self.create(*nodes)
        # Where nothing taints new nodes, there is nothing to take away.
        self.kubectl.run("taint", "nodes", "--all", "node.kubernetes.io/not-ready:NoSchedule-")

    # POD, and any other object

    def create(self, *documents: Document) -> str:
        return self.kubectl("create", "-f", "-", input=_stream(documents))

    def apply(self, *documents: Document) -> str:
        return self.kubectl("apply", "-f", "-", input=_stream(documents))

    def try_to(self, command: str, *documents: Document) -> Result:
        """`kubectl create` or `apply` of what may be refused."""
        return self.kubectl.run(command, "-f", "-", input=_stream(documents))

    def delete_all(self, *plurals: str) -> None:
        """Removes all objects at once; those with a namespace in `default`."""
        for plural in plurals:
            self.kubectl("delete", plural, "--all", "--force", "--grace-period=0")

    # BOUND

    def node_of(self, pod: str) -> str:
        """The node a pod has now; empty if there is none."""
        return self.kubectl("get", "pod", pod, "-o", "jsonpath={.spec.nodeName}")

    def bound(self, pod: str, seconds: float = BOUND_SECONDS) -> str:
        """The node that a pod gets within the time."""
        return wait_for(f"the bind of {pod}", lambda: self.node_of(pod), seconds=seconds)

    # What became of a pod

    def notes(self, pod: str, reason: str) -> list[str]:
        """The texts of a pod's events, and of those of an earlier pod of that name."""
        chosen = f"--field-selector=involvedObject.name={pod},reason={reason}"
        events = json.loads(self.kubectl("get", "events", chosen, "-o", "json"))["items"]
        return [event["message"] for event in events]

    def note(self, pod: str, reason: str = "FailedScheduling") -> str:
        """The text of the first such event of a pod."""
        return wait_for(f"{reason} of {pod}", lambda: self.notes(pod, reason), seconds=BOUND_SECONDS)[0]

    def condition(self, pod: str, kind: str = "PodScheduled") -> Document:
        """A condition of a pod; empty if it has none of that kind."""
        status = json.loads(self.kubectl("get", "pod", pod, "-o", "json"))["status"]
        return next((each for each in status.get("conditions", []) if each["type"] == kind), {})

    # RUN

    @contextlib.contextmanager
    def run(self, config: Path | Document, *flags: str, ready: bool = True) -> Iterator[Moorage]:
        """`moorage run -v=5` for the length of a `with` block, from when `/readyz` says ok; its log is kept.

        The configuration is used with the path of this cluster's kubeconfig in it. Flags come last, so they
        win. With `ready=False` nothing is waited for.
        """
        content = yaml.safe_load(config.read_text()) if isinstance(config, Path) else config
        connection = {**(content.get("clientConnection") or {}), "kubeconfig": str(self.kubeconfig)}
        with tempfile.TemporaryDirectory(prefix="moorage-seed-") as name:
            folder = Path(name)
            file = folder / "scheduler-config.yaml"
            file.write_text(yaml.safe_dump({**content, "clientConnection": connection}))
            [port] = free_ports(1)
            own = (
                f"--config={file}",
                "-v=5",
                f"--bind-address={HOST}",
                f"--secure-port={port}",
                f"--authentication-kubeconfig={self.kubeconfig}",
                f"--authorization-kubeconfig={self.kubeconfig}",
            )
            process = Moorage((*own, *flags), folder / "sched.log", port)
            try:
                if ready:
                    process.wait_ready()
                yield process
            finally:
                process.stop()


def node(name: str, cpu: str) -> Document:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "Fixture", "message": "fixture"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
    }


def pod(
    name: str,
    scheduler: str = "",
    *,
    requests: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Document:
    """A pod of one container, whose limits equal its requests; `spec` are further fields of its spec."""
    container: Document = {"name": "c", "image": "registry.k8s.io/pause:3.10"}
    if requests:
        container["resources"] = {"requests": dict(requests), "limits": dict(requests)}
    if scheduler:
        spec = {"schedulerName": scheduler, **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {"containers": [container], **spec},
    }


def lines_with(process: Moorage, *texts: str) -> list[str]:
    """The lines of a scheduler's log that contain all these texts."""
    return [line for line in process.log_text().splitlines() if all(text in line for text in texts)]


def _stream(documents: tuple[Document, ...]) -> str:
    return yaml.safe_dump_all(documents)
