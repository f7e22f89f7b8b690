"""explain, pending and top on a running `moorage up`, as somebody at a terminal has them."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import MOORAGE, run_alone
from tests.cli.terminal.sessions import Session
from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded, Kubectl

SECONDS = 30.0


def pod(name: str, cpu: str, **spec: Any) -> str:
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [container], **spec},
        }
    )


@pytest.fixture(scope="module")
def cluster(programs: Path) -> Iterator[Embedded]:
    with Embedded("--nodes=4") as running:
        kubectl = running.kubectl
        kubectl("taint", "node", "node-4", "gpu=true:NoSchedule")
        for document in (
            pod("small", "500m"),
            pod("big", "6"),
            pod("gated", "1", schedulingGates=[{"name": "a"}]),
        ):
            kubectl("apply", "-f", "-", input=document)
        kubectl("wait", "--for=condition=PodScheduled", "pod/small")
        kubectl("wait", "--for=condition=PodScheduled=false", "pod/big")
        yield running


def ask(cluster: Embedded, *args: str, code: int = 0) -> str:
    done = run_alone(*args, "--kubeconfig", cluster.kubeconfig)
    assert (done.returncode, done.stderr) == (code, "")
    return done.stdout


def refused(cluster: Embedded, *args: str) -> str:
    done = run_alone(*args, "--kubeconfig", cluster.kubeconfig)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line


def test_a_pending_pod(cluster: Embedded) -> None:
    text = ask(cluster, "explain", "big", code=3)
    first, causes, following, *advice = text.splitlines()
    assert first.startswith("Pending for ")
    assert re.fullmatch(
        r"3 of 4 nodes lack cpu \(closest: node-[123], short by 2; the largest has only 4, even when "
        r"empty\); 1 has the taint gpu=true:NoSchedule\.",
        causes,
    )
    assert following.startswith("It is tried again when a node is added, offers more or loses a taint; ")
    assert advice[0].startswith("It would fit if: its cpu request were 4 or less (node-")


def test_a_placed_pod_with_all_tables(cluster: Embedded) -> None:
    text = ask(cluster, "explain", "pod/small", "-o", "wide")
    assert text.startswith("Placed on node-")
    assert "\n3 of 4 nodes fit; node-" in text
    assert "\nIt was bound " in text
    assert "TaintToleration: node(s) had untolerated taint(s)" in text
    assert "\nTries:\nTIME " in text
    document = json.loads(ask(cluster, "explain", "small", "-o", "json", "--nodes"))
    assert document["state"] == "placed"
    chosen = [row for row in document["matrix"]["rows"] if row.get("chosen")]
    assert [row["node"] for row in chosen] == [document["node"]]


def test_a_gated_pod(cluster: Embedded) -> None:
    text = ask(cluster, "explain", "gated", code=3)
    assert "Held back by its scheduling gates a: it is tried when they are removed." in text


def test_a_pod_of_another_scheduler(cluster: Embedded) -> None:
    cluster.kubectl("apply", "-f", "-", input=pod("foreign", "1", schedulerName="other"))

    def known() -> bool:
        return run_alone("explain", "foreign", "--kubeconfig", cluster.kubeconfig).returncode == 3

    wait_for("the pod", known, seconds=SECONDS)
    text = ask(cluster, "explain", "foreign", code=3)
    assert text == "It belongs to another scheduler: its spec.schedulerName is other.\n"


def test_what_if_leaves_the_cluster_alone(cluster: Embedded, tmp_path: Path) -> None:
    less = ("--set", "spec.containers[0].resources.requests.cpu=1")
    assert ask(cluster, "explain", "big", *less).startswith("It would go to ")
    text = ask(cluster, "explain", "big", "--tolerate", "gpu=true", code=3)
    assert "All 4 nodes lack cpu" in text
    node = tmp_path / "node.yaml"
    node.write_text(cluster.kubectl("get", "node", "node-1", "-o", "json").replace('"node-1"', '"large"'))
    large = json.loads(node.read_text())
    large["status"]["allocatable"]["cpu"] = large["status"]["capacity"]["cpu"] = "64"
    node.write_text(json.dumps(large))
    assert ask(cluster, "explain", "big", "--extra-node", str(node)).startswith("It would go to node large.")
    assert ask(cluster, "explain", "big", code=3).startswith("Pending for ")
    assert refused(cluster, "explain", "big", "--without-pod", "default/nobody").endswith(
        "withoutPods: there is no pod 'default/nobody'; write it like default/web-1"
    )


def test_pending(cluster: Embedded) -> None:
    text = ask(cluster, "pending", code=3)
    assert text.startswith("2 pods wait, for 2 causes.")
    assert "nodes lack cpu and have taints that it does not tolerate." in text
    assert ask(cluster, "pending", "-n", "kube-system") == "No pod is waiting.\n"
    document = json.loads(ask(cluster, "pending", "-o", "json", code=3))
    assert {group["pods"][0] for group in document["groups"]} == {"default/big", "default/gated"}


def test_top_without_a_terminal(cluster: Embedded) -> None:
    text = ask(cluster, "top")
    assert "4 nodes, 1 pod placed" in text.splitlines()[0]
    assert "\nNodes    cpu " in text


def test_who_may_not_ask(cluster: Embedded) -> None:
    assert refused(cluster, "explain", "big", "--token", "wrong").endswith(
        "does not know this token (401); give one of the cluster's with --token or --token-file"
    )
    token = cluster.kubectl("create", "token", "default").strip()
    line = refused(cluster, "pending", "--token", token)
    assert "(403); it takes a ClusterRole with the nonResourceURL /insight/v1/* and the verbs get" in line


def test_a_pod_that_nobody_knows(cluster: Embedded) -> None:
    assert refused(cluster, "explain", "bigg").endswith(
        "knows no pod default/bigg; did you mean default/big?"
    )


def test_top_sees_a_scheduler_go_and_come_back(programs: Path, tmp_path: Path) -> None:
    with Embedded("--nodes=2", folder=tmp_path) as cluster:
        command = [MOORAGE, "top", f"--kubeconfig={cluster.kubeconfig}"]
        with Session(command, tmp_path) as session:
            session.wait_for_row("Nodes    cpu ")
            assert not session.echoes()
            session.resize(60, 12)
            session.wait_for_row("Queue    0 in line")
            cluster.stop()
            session.wait_for_row("No answer for ")
            cluster.start()
            wait_for("the address", lambda: Path(f"{cluster.kubeconfig}.scheduler").exists(), seconds=SECONDS)
            session.wait_for("an answer", lambda: not any("No answer" in row for row in session.screen()))
            session.type("q")
            assert session.exit_code() == 0
            assert session.echoes()
        for number, code in ((None, 130), (signal.SIGTERM, 143)):
            with Session(command, tmp_path) as session:
                session.wait_for_row("Nodes    cpu ")
                assert session.end(number) == code
                assert session.echoes()


def test_no_scheduler(tmp_path: Path) -> None:
    done = run_alone("top", "--kubeconfig", tmp_path / "kubeconfig")
    assert done.returncode == 1
    assert done.stderr == (
        f"no scheduler is running here: there is no {tmp_path}/kubeconfig.scheduler; start one with "
        "`moorage up`, or name one with --scheduler URL\n"
    )


def test_pods_of_a_template_name_it(cluster: Embedded) -> None:
    kubectl: Kubectl = cluster.kubectl
    kubectl("create", "deployment", "heavy", "--image=nginx", "--replicas=0")
    patch = {
        "spec": {
            "template": {"spec": {"containers": [{"name": "nginx", "resources": {"requests": {"cpu": "9"}}}]}}
        }
    }
    kubectl("patch", "deployment", "heavy", "-p", json.dumps(patch))
    kubectl("scale", "deployment", "heavy", "--replicas=1")
    kubectl("wait", "--for=create", "pod", "-l", "app=heavy")
    name = kubectl("get", "pods", "-l", "app=heavy", "-o", "jsonpath={.items[0].metadata.name}")
    kubectl("wait", "--for=condition=PodScheduled=false", f"pod/{name}")
    text = ask(cluster, "explain", name, code=3)
    assert "What concerns the pod belongs in spec.template of " in text
    kubectl("delete", "deployment", "heavy")
