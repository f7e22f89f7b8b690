"""A StatefulSet with volumes on an embedded cluster, scheduled by the real kube-scheduler."""

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.controlplane.servers import Program, wait_for
from tests.embedded.clusters import Embedded
from tests.embedded.conftest import MANIFESTS


@contextlib.contextmanager
def kube_scheduler(programs: Path, cluster: Embedded) -> Iterator[None]:
    access = [
        f"--{what}kubeconfig={cluster.kubeconfig}" for what in ("", "authentication-", "authorization-")
    ]
    flags = (*access, "--leader-elect=false", "--secure-port=0")
    scheduler = Program(programs / "kube-scheduler", flags, cluster.folder / "kube-scheduler.log")
    try:
        yield
    finally:
        scheduler.stop()


def listed(cluster: Embedded, what: str) -> dict[str, Any]:
    found = json.loads(cluster.kubectl("get", what, "-A", "-o", "json"))["items"]
    return {each["metadata"]["name"]: each for each in found}


def diary(cluster: Embedded, pod: str) -> str:
    return cluster.kubectl.run("logs", pod).output.strip()


def test_a_stateful_set_keeps_its_volumes(programs: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    real = ("--run-image=worker:1", "--run-image=worker:2", "--run-namespace=default")
    flags = ("--no-scheduler", f"--data={data}", *real)
    with Embedded(*flags, folder=tmp_path) as cluster:
        kubectl = cluster.kubectl
        with kube_scheduler(programs, cluster):
            kubectl("apply", "-f", str(MANIFESTS / "stateful.yaml"))
            kubectl("rollout", "status", "sts/db", "--timeout=60s")
            assert diary(cluster, "db-0") == "so far: db-0"
            claims = listed(cluster, "pvc")
            assert {name: each["status"]["phase"] for name, each in claims.items()} == {
                "data-db-0": "Bound",
                "data-db-1": "Bound",
            }
            places = {each["spec"]["claimRef"]["name"]: each for each in listed(cluster, "pv").values()}
            pods = listed(cluster, "pods")
            for name, pod in pods.items():
                [term] = places[f"data-{name}"]["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
                assert term["matchExpressions"][0]["values"] == [pod["spec"]["nodeName"]]

            kubectl("set", "image", "sts/db", "main=worker:2")
            kubectl("rollout", "status", "sts/db", "--timeout=60s")
            assert diary(cluster, "db-1") == "so far: db-1 db-1", "the volume has outlived the pod"
            kubectl("rollout", "undo", "sts/db")
            kubectl("rollout", "status", "sts/db", "--timeout=60s")
            assert kubectl("rollout", "history", "sts/db").split()[-4:] == ["2", "<none>", "3", "<none>"]
            images = {each["spec"]["containers"][0]["image"] for each in listed(cluster, "pods").values()}
            assert images == {"worker:1"}

            cluster.program.send(signal.SIGKILL)
            cluster.stop()
            cluster.kubeconfig.unlink()
        cluster.start()
        with kube_scheduler(programs, cluster):
            wait_for("db-0 running again", lambda: diary(cluster, "db-0") == f"so far:{' db-0' * 4}")
            folders = {each["metadata"]["name"] for each in places.values()}
            assert {each.name for each in data.with_name("data.volumes").iterdir()} == folders
            kubectl("scale", "sts/db", "--replicas=1")
            wait_for("one volume left", lambda: len(listed(cluster, "pv")) == 1)
            assert list(listed(cluster, "pvc")) == ["data-db-0"], "the set says so for what is scaled away"
            kubectl("delete", "sts", "db")
            kubectl("delete", "pvc", "--all")
            wait_for("no volumes", lambda: not listed(cluster, "pv"))
            assert list(data.with_name("data.volumes").iterdir()) == []


def test_everything_in_a_namespace_goes_with_it(programs: Path) -> None:
    with Embedded("--no-scheduler") as cluster, kube_scheduler(programs, cluster):
        kubectl = cluster.kubectl
        kubectl("create", "namespace", "shop")
        kubectl("create", "quota", "all", "-n", "shop", "--hard=pods=2,requests.storage=9Gi")
        kubectl("apply", "-n", "shop", "-f", str(MANIFESTS / "stateful.yaml"))
        kubectl("rollout", "status", "sts/db", "-n", "shop", "--timeout=60s")
        quota = listed(cluster, "quota")["all"]
        assert quota["status"]["used"] == {"pods": "2", "requests.storage": "2Gi"}
        kubectl("delete", "pv", "--all", "--wait=false")
        kubectl("delete", "pvc", "data-db-0", "-n", "shop", "--wait=false")
        kubectl("delete", "namespace", "shop", "--timeout=30s")
        wait_for("no volumes", lambda: not listed(cluster, "pv"))
