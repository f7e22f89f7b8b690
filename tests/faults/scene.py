"""A cluster that pods fill to the last core, schedulers with names of their own, and the audit at the end."""

import contextlib
import json
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.controlplane.schedulers import (
    Api,
    Document,
    Moorage,
    configuration,
    moorage,
    node,
    pod,
)
from tests.controlplane.servers import ControlPlane
from tests.faults.audit import findings, recorded, writes_of
from tests.faults.history import History

ELECTION = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
PATIENCE = 60.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


class Size(NamedTuple):
    """Pods ask for a core each, and fill the nodes: room that is lost or given away twice is noticed."""

    nodes: int
    cores: int
    rounds: int = 1

    @property
    def pods(self) -> int:
        return self.nodes * self.cores


SMALL, LARGE = Size(6, 10), Size(40, 50, rounds=3)


class Scene:
    """What one test does to a cluster, and the record of it.

    Schedulers are named: each asks in the name of its own user, so that the audit can tell them apart.
    """

    def __init__(self, plane: ControlPlane, size: Size, folder: Path) -> None:
        self.plane = plane
        self.api = Api(plane)
        self.size = size
        self.folder = folder
        self.history = History(plane)
        self._made = 0
        self.api.create(node(f"node-{number}", cpu=str(size.cores)) for number in range(size.nodes))

    def create_pods(self, count: int, prefix: str = "pod") -> list[str]:
        """Pods that ask for a core each."""
        names = [f"{prefix}-{number}" for number in range(self._made, self._made + count)]
        self._made += count
        self.api.create(pod(name, requests={"cpu": "1"}) for name in names)
        return names

    def delete_pods(self, names: Iterable[str]) -> None:
        self.api.delete(*(f"/api/v1/namespaces/default/pods/{name}" for name in names))

    def bound(self) -> int:
        return len(self.api.bound())

    def bound_in_etcd(self) -> int:
        """As `bound`, for when no API server answers."""
        pods = {change.key: change.document for change in self.history.read() if change.kind == "pod"}
        return sum(1 for pod in pods.values() if pod and pod["spec"].get("nodeName"))

    def all_bound(self) -> bool:
        return all(each["spec"].get("nodeName") for each in self.api.items("pods"))

    def wait_until_all_are_bound(self, process: Moorage) -> None:
        process.wait_until("all pods are bound", self.all_bound, seconds=PATIENCE + self.size.pods / 5)

    def kubeconfig(self, user: str, server: str = "", ca_file: Path | None = None) -> Path:
        """A kubeconfig for a scheduler's user, who may do everything."""
        content = json.loads(self.plane.kubeconfig.read_text())
        cluster = content["clusters"][0]["cluster"]
        cluster["server"] = server or cluster["server"]
        cluster["certificate-authority"] = str(ca_file or cluster["certificate-authority"])
        content["users"][0]["user"].update({"as": user, "as-groups": ["system:masters"]})
        return self.write_kubeconfig(content)

    def write_kubeconfig(self, content: Document) -> Path:
        file = self.folder / f"{secrets.token_hex(4)}.kubeconfig"
        file.write_text(json.dumps(content))
        return file

    @contextlib.contextmanager
    def scheduler(
        self,
        kubeconfig: Path,
        *flags: str,
        lease: str = "",
        qps: int = 5000,
        ready: bool = True,
        serve: bool = False,
    ) -> Iterator[Moorage]:
        """`moorage run`; with a lease it takes part in an election."""
        election = {**ELECTION, "resourceName": lease} if lease else None
        config = configuration(self.plane, kubeconfig=kubeconfig, election=election)
        config["clientConnection"].update(qps=qps, burst=qps)
        with moorage(self.plane, *flags, config=config, ready=ready, serve=serve) as process:
            yield process

    def metrics(self, scheduler: Moorage) -> str:
        answer = scheduler.get("/metrics", token=self.plane.admin_token)
        return answer.text if answer is not None else ""

    def holder(self, lease: str) -> str:
        found: str = self.api.request("GET", f"{LEASES}/{lease}")["spec"].get("holderIdentity", "")
        return found

    def writes_of(self, user: str) -> list[str]:
        """Everything that a scheduler has asked the API server to write so far."""
        return writes_of(user, self.plane.audit_log())

    def audit(self, *, lease: str = "", not_fitting: Iterable[str] = (), gone: Iterable[str] = ()) -> None:
        """Fails if any pod was lost, bound twice, put where there was no room, or bound without the lease.

        Pods may have been bound to the nodes in `gone` when these were no longer there.
        """
        changes = self.history.read()
        record = recorded(self.plane.audit_log())
        full_name = f"kube-system/{lease}" if lease else ""
        found = findings(changes, record, lease=full_name, not_fitting=not_fitting, gone=gone)
        assert not found, "\n".join(found)

    def clean_up(self) -> None:
        self.api.delete_all("pods", "nodes")
        self.api.delete("/api/v1/namespaces/default/events")
