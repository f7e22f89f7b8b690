"""A real cluster, recorded beside kube-scheduler with read rights only, through cuts and ends."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.process.recording import RECORDED
from moorage.what_if.trace.files import read_trace
from tests.controlplane.schedulers import MOORAGE, Api, Document, node, pod
from tests.controlplane.servers import ControlPlane, Program, wait_for
from tests.faults.proxy import Balancer

SECONDS = 60.0


@pytest.fixture(scope="module")
def reader(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig of a service account that may read, and nothing else."""
    rules = [
        {"apiGroups": [kind.group], "resources": [kind.resource], "verbs": ["get", "list", "watch"]}
        for kind in RECORDED
        if kind.resource != "csinodes"
    ]
    subject = {"kind": "ServiceAccount", "name": "recorder", "namespace": "kube-system"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "recorder"}
    documents = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "recorder", "namespace": "kube-system"},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "recorder"},
            "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "recorder"},
            "subjects": [subject],
            "roleRef": role,
        },
    ]
    control_plane.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(documents))
    file = tmp_path_factory.mktemp("recorder") / "kubeconfig"
    return control_plane.kubeconfig_of(control_plane.token("recorder"), file)


@contextmanager
def recorder(out: Path, kubeconfig: Path, *flags: str) -> Iterator[Program]:
    log = out.with_suffix(f".{len(list(out.parent.glob('*.log')))}.log")
    running = Program(MOORAGE, ["record", "--out", str(out), "--kubeconfig", str(kubeconfig), *flags], log)
    try:
        yield running
    finally:
        running.stop()


def last_known(out: Path) -> dict[str, Pod]:
    """The pods that there are at the end of a trace."""
    pods: dict[str, Pod] = {}
    if out.exists() and out.stat().st_size:
        for change in read_trace(out):
            if isinstance(change.item, Pod):
                pods[change.item.name] = change.item
                if change.gone:
                    del pods[change.item.name]
    return pods


def nodes_of(out: Path) -> dict[str, str]:
    return {name: each.spec.node_name for name, each in last_known(out).items() if each.spec.node_name}


def ended(program: Program) -> int:
    program.send(signal.SIGTERM)
    return program.exit_code(SECONDS)


def test_a_cluster_is_recorded_through_cuts_and_ends(
    control_plane: ControlPlane, reader: Path, tmp_path: Path
) -> None:
    api, out = Api(control_plane), tmp_path / "trace.moor"
    api.create([node(f"node-{number}", cpu="4") for number in range(3)])
    config: Document = json.loads(reader.read_text())
    with (
        Balancer(config["clusters"][0]["cluster"]["server"]) as line,
        control_plane.kube_scheduler(),
    ):
        config["clusters"][0]["cluster"]["server"] = line.url
        through = tmp_path / "kubeconfig"
        through.write_text(json.dumps(config))

        def is_recorded(*gone: str) -> bool:
            found = nodes_of(out)
            return found == api.bound() and not found.keys() & set(gone) and bool(found)

        with recorder(out, through) as running:
            wait_for("the first list", lambda: out.exists() and out.stat().st_size > 500, seconds=SECONDS)
            api.create(
                [
                    pod(f"first-{number}", scheduler="default-scheduler", requests={"cpu": "1"})
                    for number in range(4)
                ]
            )
            wait_for("binds", lambda: len(api.bound()) == 4, seconds=SECONDS)
            wait_for("their recording", is_recorded, seconds=SECONDS)

            line.refuse()
            line.cut()
            api.create(
                [
                    pod(f"cut-{number}", scheduler="default-scheduler", requests={"cpu": "1"})
                    for number in range(3)
                ]
            )
            wait_for("binds in a cut", lambda: len(api.bound()) == 7, seconds=SECONDS)
            api.delete("/api/v1/namespaces/default/pods/first-0")
            wait_for("word of it", lambda: "does not answer" in running.log_text(), seconds=SECONDS)
            line.accept()
            wait_for("what was cut off", lambda: is_recorded("first-0"), seconds=SECONDS)
            running.kill()

        api.create([pod("unseen", scheduler="default-scheduler", requests={"cpu": "1"})])
        wait_for("a bind that nobody hears of", lambda: "unseen" in api.bound(), seconds=SECONDS)
        api.delete("/api/v1/namespaces/default/pods/first-1")
        with recorder(out, through) as again:
            wait_for("the differences", lambda: is_recorded("first-0", "first-1"), seconds=SECONDS)
            assert ended(again) == 0
            log = again.log_text()
            assert 'resources: ["csinodes"], verbs: ["list", "watch"]' in log
            assert log.count("may not") == 1

    trace = list(read_trace(out))
    assert [change.time for change in trace] == sorted(change.time for change in trace)
    assert {change.item.name for change in trace if isinstance(change.item, Node)} == {
        "node-0",
        "node-1",
        "node-2",
    }
    lives: dict[str, list[str]] = {}
    for change in trace:
        if isinstance(change.item, Pod):
            state = "gone" if change.gone else change.item.spec.node_name or "waits"
            lives.setdefault(change.item.name, []).append(state)
    for name in ("cut-0", "cut-1", "cut-2", "unseen"):
        assert lives[name][0] == "waits" and lives[name][-1] == api.bound()[name], lives[name]
    assert lives["first-0"][-1] == lives["first-1"][-1] == "gone"

    api.delete_all("pods", "nodes")


def test_another_cluster_is_refused(
    control_plane: ControlPlane, reader: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    out = tmp_path / "trace.moor"
    with recorder(out, reader, "--for", "1s", "--anonymize") as running:
        assert running.exit_code(SECONDS) == 0
    content = out.read_bytes()
    assert b"https://" not in content.splitlines()[0]
    head, _, rest = content.partition(b"\n")
    other = json.loads(head) | {"cluster": "another"}
    out.write_bytes(json.dumps(other).encode() + b"\n" + rest)
    with recorder(out, reader) as running:
        assert running.exit_code(SECONDS) == 1
        assert running.log_text() == (
            f"--out: {out} is a trace of another cluster, or {out}.key is the key of another trace; "
            "give a new file\n"
        )
