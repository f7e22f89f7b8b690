"""A plugin that never returns: kubectl is answered, the pod is told, and the process can be ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.controlplane.schedulers import MOORAGE
from tests.controlplane.servers import Program, wait_for
from tests.embedded.clusters import Embedded
from tests.embedded.hanging import MESSAGES, PLUGIN
from tests.seeds.common import Cluster, Document, pod

END_SECONDS = 20.0


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("plugin") / "stuck.py"
    file.write_text(PLUGIN)
    return file


@pytest.fixture(scope="module")
def up(programs: Path, plugin: Path) -> Iterator[Embedded]:
    with Embedded("--nodes=2", f"--plugin={plugin}", "--plugin-timeout=300ms") as running:
        yield running


@pytest.fixture(scope="module")
def cluster(up: Embedded) -> Cluster:
    return Cluster(True, up.kubeconfig, up.token, up.kubectl)


def hanging(point: str, name: str = "") -> Document:
    return pod(name or point.lower(), annotations={"hangs-at": point})


@pytest.mark.parametrize("point", MESSAGES)
def test_the_pod_is_told_and_others_go_on(point: str, up: Embedded, cluster: Cluster) -> None:
    name = point.lower()
    cluster.create(hanging(point))
    reason = "Scheduled" if point == "PostBind" else "FailedScheduling"
    assert cluster.note(name, reason).startswith(MESSAGES[point].format("0.3s"))
    cluster.create(pod(f"after-{name}"))
    assert cluster.bound(f"after-{name}")
    where = f'extensionPoint="{point.removeprefix("Normalize").rstrip("s")}" at="stuck.py:'
    assert any('"A plugin is interrupted"' in line and where in line for line in lines_of(up))
    cluster.delete_all("pods")


def lines_of(up: Embedded) -> list[str]:
    return up.program.log_text().splitlines()


@pytest.fixture
def stuck(programs: Path, plugin: Path, request: pytest.FixtureRequest) -> Iterator[Embedded]:
    """A cluster whose scheduler hangs in a filter for good."""
    with Embedded("--nodes=1", f"--plugin={plugin}", "--plugin-timeout=0", "-v=3") as up:
        cluster = Cluster(True, up.kubeconfig, up.token, up.kubectl)
        cluster.create(hanging(getattr(request, "param", "Filter"), name="stuck"))
        wait_for("the attempt", lambda: '"Attempting to schedule pod"' in up.program.log_text())
        yield up


def test_the_cluster_stays_responsive(stuck: Embedded) -> None:
    stuck.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3")
    wait_for(
        "the controllers", lambda: stuck.kubectl("get", "pods", "-l=app=web", "-o=name").count("pod/") == 3
    )
    assert stuck.kubectl("get", "pods", "-l=app=web", "-o=jsonpath={.items[*].spec.nodeName}") == ""


@pytest.mark.parametrize("stuck", ["Filter", "everywhere"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it(stuck: Embedded, number: signal.Signals) -> None:
    kubeconfig = stuck.kubeconfig
    stuck.program.send(number)
    stuck.program.exit_code(END_SECONDS)
    assert not kubeconfig.exists()


def test_an_ignored_interrupt_is_heard_all_the_same(programs: Path, plugin: Path, tmp_path: Path) -> None:
    command = f'trap "" INT; exec {MOORAGE} up --nodes=1 --plugin={plugin} --kubeconfig=kubeconfig'
    log = (tmp_path / "log").open("wb")
    with log, subprocess.Popen(["sh", "-c", command], cwd=tmp_path, stdout=log, stderr=log) as process:
        try:
            wait_for("readiness", (tmp_path / "kubeconfig").exists)
            process.send_signal(signal.SIGINT)
            assert process.wait(END_SECONDS) == 0
        finally:
            process.kill()


def test_the_same_holds_beside_an_api_server(programs: Path, plugin: Path, tmp_path: Path) -> None:
    with Embedded("--nodes=1", "--no-scheduler") as up:
        cluster = Cluster(True, up.kubeconfig, up.token, up.kubectl)
        config = tmp_path / "config.yaml"
        config.write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            f"clientConnection: {{kubeconfig: {up.kubeconfig}}}\nleaderElection: {{leaderElect: false}}\n"
            "profiles:\n- schedulerName: default-scheduler\n"
            "  plugins:\n    multiPoint: {enabled: [{name: Stuck}]}\n"
            "    queueSort: {enabled: [{name: Stuck}], disabled: [{name: PrioritySort}]}\n"
        )
        flags = (f"--config={config}", f"--plugin={plugin}", "--secure-port=0", "-v=3")
        limited = Program(MOORAGE, ("run", *flags, "--plugin-timeout=300ms"), tmp_path / "limited.log")
        try:
            cluster.create(hanging("Filter"))
            assert cluster.note("filter") == MESSAGES["Filter"].format("0.3s")
            cluster.create(pod("after"))
            assert cluster.bound("after")
        finally:
            limited.stop()
        for number in (signal.SIGINT, signal.SIGTERM):
            log = tmp_path / f"{number.name}.log"
            unlimited = Program(MOORAGE, ("run", *flags, "--plugin-timeout=0"), log)
            try:
                wait_for("the attempt", partial(_is_trying, log))
                unlimited.send(number)
                unlimited.exit_code(END_SECONDS)
            finally:
                unlimited.kill()


def _is_trying(log: Path) -> bool:
    return "Attempting to schedule" in log.read_text()


@pytest.mark.parametrize("text", ["soon", "-1s", ""])
def test_a_wrong_limit(text: str) -> None:
    done = subprocess.run(
        [MOORAGE, "up", f"--plugin-timeout={text}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"COLUMNS": "200"},
    )
    assert done.returncode == 2
    assert f"'{text}' is no limit; write it like 10s or 1m30s, or 0 for none" in done.stderr
