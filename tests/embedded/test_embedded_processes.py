"""Who may have processes of this machine run as pods, asked with the real kubectl."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded, Kubectl

WORKER = "--as=system:serviceaccount:shop:worker"
IMAGES = {
    "plain": "moorage",
    "tagged": "moorage:0.1.0",
    "elsewhere": "registry.example.com:5000/x/moorage:latest",
    "digest": f"moorage@sha256:{64 * '0'}",
    "named": "worker:1",
}


@pytest.fixture(scope="module")
def embedded(programs: Path) -> Iterator[Embedded]:
    with Embedded("--nodes=1", "--run-image=worker:1", "--run-namespace=lab") as running:
        kubectl = running.kubectl
        for name in ("shop", "lab"):
            kubectl("create", "namespace", name)
        kubectl("create", "serviceaccount", "worker", "-n", "shop")
        binding = ("--clusterrole=admin", "--serviceaccount=shop:worker")
        kubectl("create", "rolebinding", "worker", "-n", "shop", *binding)
        yield running


def status_shown(kubectl: Kubectl, namespace: str, name: str) -> str:
    return kubectl("get", "pod", name, "-n", namespace, "--no-headers").split()[2]


def start(kubectl: Kubectl, name: str, image: str, marker: Path, *more: str) -> None:
    """A pod that leaves a file behind if it really runs."""
    flags = (f"--image={image}", "--restart=Never", *more)
    kubectl("run", name, *flags, "--command", "--", "touch", str(marker))


def test_the_start_says_what_runs(embedded: Embedded) -> None:
    said = (embedded.folder / "moorage.log").read_text()
    assert (
        "Pods of the image moorage, worker:1 in kube-system, lab run as processes of this user"
        " (--no-processes forbids it)." in said.splitlines()
    )


def test_who_may_create_pods_in_one_namespace_has_no_process(embedded: Embedded, tmp_path: Path) -> None:
    kubectl = embedded.kubectl
    ran = tmp_path / "ran"
    for name, image in IMAGES.items():
        start(kubectl, name, image, ran, "-n=shop", WORKER)
    wait_for(
        "the refusals", lambda: kubectl("get", "pods", "-n", "shop").count("ProcessNotAllowed") == len(IMAGES)
    )
    described = kubectl("describe", "pod", "tagged", "-n", "shop", WORKER)
    assert "moorage up --run-namespace=shop allows it here" in described
    kubectl("create", "deployment", "web", "--image=nginx", "-n", "shop", WORKER)
    kubectl("rollout", "status", "deployment/web", "-n", "shop", "--timeout=60s")
    kubectl("set", "image", "deployment/web", "nginx=moorage", "-n", "shop", WORKER)
    wait_for(
        "the new pod", lambda: "ProcessNotAllowed" in kubectl("get", "pods", "-n", "shop", "-l", "app=web")
    )
    for namespace in ("kube-system", "lab"):
        refused = kubectl.run("run", "x", "--image=moorage", "-n", namespace, WORKER)
        assert "cannot create resource" in refused.errors
    assert not ran.exists()
    kubectl("delete", "pods", "--all", "-n", "shop", "--timeout=60s")


def test_where_it_is_allowed_it_runs(embedded: Embedded, tmp_path: Path) -> None:
    for namespace in ("kube-system", "lab"):
        ran = tmp_path / namespace
        start(embedded.kubectl, "real", IMAGES["tagged"], ran, "-n", namespace)
        wait_for("the process", ran.exists)


def test_none_runs_where_it_is_forbidden_and_data_goes_on(programs: Path, tmp_path: Path) -> None:
    turns = tmp_path / "turns"
    flags = ("--nodes=1", f"--data={tmp_path / 'data'}")
    with Embedded(*flags, folder=tmp_path) as cluster:
        kubectl = cluster.kubectl
        command = f"echo turn >> {turns}; sleep 600"
        kubectl("run", "p", "-n=kube-system", "--image=moorage", "--command", "--", "sh", "-c", command)
        wait_for("the first turn", lambda: turns.exists() and len(turns.read_text().split()) == 1)
        kubectl("wait", "--for=condition=Ready", "pod/p", "-n=kube-system")
        cluster.stop()
        cluster.start("--no-processes")
        assert "run as processes" not in (tmp_path / "moorage.log").read_text().split("The cluster is")[-1]
        wait_for("the refusal", lambda: status_shown(kubectl, "kube-system", "p") == "ProcessNotAllowed")
        found = json.loads(kubectl("get", "pod", "p", "-n=kube-system", "-o=json"))
        assert "--no-processes" in found["status"]["containerStatuses"][0]["state"]["waiting"]["message"]
        assert len(turns.read_text().split()) == 1
        cluster.stop()
        cluster.start()
        wait_for("the second turn", lambda: len(turns.read_text().split()) == 2)
        kubectl("wait", "--for=condition=Ready", "pod/p", "-n=kube-system")
