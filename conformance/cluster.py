"""The embedded cluster that the suite is run on, with the scheduler under test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from tests.controlplane.build import assets
from tests.controlplane.schedulers import Api, Document
from tests.controlplane.servers import ControlPlaneError, Program, wait_for
from tests.embedded.clusters import Embedded

Scheduler = Literal["moorage", "kube-scheduler"]

NODES = 5
_MADE_BY_SUITE = "e2e-run"
_AWAITED = ("kube-proxy", "fluentd-elasticsearch", "node-problem-detector")
"""The suite waits a minute before many tests for a pod of each of these on every node."""
GONE_SECONDS = 120.0


class Cluster:
    def __init__(self, embedded: Embedded) -> None:
        self.kubeconfig = embedded.kubeconfig
        self._program = embedded.program
        self._api = Api(embedded)

    def becomes_clean(self) -> bool:
        """Whether the namespaces of the last test go away; its pods would take room from the next one's."""

        def gone() -> bool:
            self._program.check_running()
            return not self._api.items("namespaces", labelSelector=_MADE_BY_SUITE)

        try:
            return wait_for("the end of the test's namespaces", gone, seconds=GONE_SECONDS)
        except ControlPlaneError:
            self._program.check_running()
            return False

    def put_awaited_pods(self) -> None:
        """Puts a pod for each of those that the suite waits for on every node."""

        def has_account() -> bool:
            accounts = self._api.items("serviceaccounts", fieldSelector="metadata.name=default")
            return any(each["metadata"]["namespace"] == "kube-system" for each in accounts)

        wait_for("the service account of kube-system", has_account)
        nodes = [node["metadata"]["name"] for node in self._api.items("nodes")]
        self._api.create(_pod(f"{name}-{node}", node) for name in _AWAITED for node in nodes)


@contextlib.contextmanager
def cluster(scheduler: Scheduler, folder: Path) -> Iterator[Cluster]:
    """A cluster for the length of a `with` block, which logs into a folder."""
    flags = [f"--nodes={NODES}"]
    if scheduler == "kube-scheduler":
        flags.append("--no-scheduler")
    with Embedded(*flags, folder=folder) as embedded, contextlib.ExitStack() as stack:
        if scheduler == "kube-scheduler":
            stack.callback(_kube_scheduler(embedded.kubeconfig, folder).stop)
        running = Cluster(embedded)
        running.put_awaited_pods()
        yield running


def _kube_scheduler(kubeconfig: Path, folder: Path) -> Program:
    programs = assets()
    assert programs is not None
    flags = (f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0", "-v=2")
    return Program(programs / "kube-scheduler", flags, folder / "kube-scheduler.log")


def _pod(name: str, node: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "pause"}]},
    }
