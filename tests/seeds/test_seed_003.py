"""The walk with a PreFilter plugin in the cluster's own scheduler: T12 to T14 of the seed systems."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.running import run_alone
from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import HOST, free_ports
from tests.seeds.common import EXAMPLES, RETRY_SECONDS, Cluster, Document, pod
from tests.seeds.metrics import metrics

EXAMPLE = EXAMPLES / "my_prefilter"
PLUGIN = f"--plugin={EXAMPLE / 'plugin.py'}"
TEST_POD = EXAMPLE / "manifests" / "test-pod.yaml"
STATIC_POD = EXAMPLES.parent / "deploy" / "static-pod" / "kube-scheduler.yaml"
KEY = "mycompany.com/environment"
NOTE = (
    f'0/3 nodes are available: pods with annotation "{KEY}" are not allowed. no new claims to deallocate, '
    "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
)
CONFIG: Document = {
    "apiVersion": "kubescheduler.config.k8s.io/v1beta3",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": True},
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {"multiPoint": {"enabled": [{"name": "MyPreFilter"}]}},
        }
    ],
}
DESCRIBED = [
    r"^Name: +test-pod$",
    r"^Namespace: +default$",
    r"^Priority: +0$",
    r"^Service Account: +default$",
    r"^Node: +<none>$",
    r"^Labels: +<none>$",
    rf"^Annotations: +{KEY}: abc$",
    r"^Status: +Pending$",
    r"^IP: *$",
    r"^IPs: +<none>$",
    r"^Containers:$",
    r"^  nginx:$",
    r"^    Image: +nginx$",
    r"^    Port: +80/TCP$",
    r"^    Host Port: +0/TCP$",
    r"^Conditions:$",
    r"^  PodScheduled +False *$",
    r"^Volumes:$",
    r"^QoS Class: +BestEffort$",
    r"^Node-Selectors: +<none>$",
    r"^Tolerations: +key=value:NoSchedule$",
    r"^Events:$",
    rf"^  Warning +FailedScheduling +\S+ +default-scheduler +{re.escape(NOTE)}$",
]
"""What `kubectl describe` shows, in this order."""


@pytest.fixture(scope="module")
def with_nodes(cluster: Cluster) -> Cluster:
    cluster.create_nodes("n1:4", "n2:4", "n3:4")
    return cluster


@pytest.fixture
def tidy(with_nodes: Cluster) -> Iterator[Cluster]:
    yield with_nodes
    with_nodes.delete_all("pods", "events")


def counted(cluster: Cluster, process: Moorage) -> list[float]:
    """How many pods wait because of the plugin."""
    labels = {"plugin": "MyPreFilter", "profile": "default-scheduler"}
    return metrics(cluster, process, "scheduler_unschedulable_pods", **labels)


def test_T12_and_T13_a_pod_is_rejected_and_recovers(tidy: Cluster) -> None:
    with tidy.run(CONFIG, PLUGIN) as process:
        tidy.kubectl("apply", "-f", str(TEST_POD))
        assert tidy.note("test-pod") == NOTE
        assert tidy.kubectl("get", "pod", "test-pod", "--no-headers").split()[2] == "Pending"
        described = tidy.kubectl("describe", "pod", "test-pod").splitlines()
        where = [[bool(re.search(pattern, line)) for line in described] for pattern in DESCRIBED]
        assert [pattern for pattern, found in zip(DESCRIBED, where, strict=True) if True not in found] == []
        places = [found.index(True) for found in where]
        assert places == sorted(places)
        # One event, and nothing after it.
        assert described[places[-1] + 1 :] == []

        process.wait_until("the count", lambda: counted(tidy, process) == [1])
        attempts = {"profile": "default-scheduler", "result": "unschedulable"}
        assert metrics(tidy, process, "scheduler_schedule_attempts_total", **attempts)[0] >= 1
        evaluated = "scheduler_plugin_evaluation_total"
        assert sum(metrics(tidy, process, evaluated, extension_point="PreFilter", plugin="MyPreFilter")) >= 1
        assert sum(metrics(tidy, process, evaluated, extension_point="Filter")) == 0

        tidy.apply(pod("free"), pod("empty", annotations={KEY: ""}))
        assert tidy.bound("free") in ("n1", "n2", "n3")
        assert tidy.note("empty") == NOTE
        tidy.kubectl("delete", "pod", "empty", "--force", "--grace-period=0")

        # T13
        uid = ("get", "pod", "test-pod", "-o", "jsonpath={.metadata.uid}")
        before = tidy.kubectl(*uid)
        tidy.kubectl("annotate", "pod", "test-pod", f"{KEY}-")
        node = tidy.bound("test-pod", RETRY_SECONDS)
        assert tidy.note("test-pod", "Scheduled") == f"Successfully assigned default/test-pod to {node}"
        assert tidy.condition("test-pod")["status"] == "True"
        assert tidy.kubectl(*uid) == before
        process.wait_until("the count", lambda: counted(tidy, process) == [0])


@pytest.fixture
def config(tidy: Cluster, tmp_path: Path) -> Path:
    """The file of T12."""
    file = tmp_path / "scheduler-config.yaml"
    file.write_text(yaml.safe_dump({**CONFIG, "clientConnection": {"kubeconfig": str(tidy.kubeconfig)}}))
    return file


def test_T14_the_command_line_of_a_static_pod(tidy: Cluster, config: Path, tmp_path: Path) -> None:
    [port] = free_ports(1)
    flags = (
        f"--authentication-kubeconfig={tidy.kubeconfig}",
        f"--authorization-kubeconfig={tidy.kubeconfig}",
        f"--bind-address={HOST}",
        "--kubeconfig=/does/not/exist",
        "--leader-elect=true",
        f"--config={config}",
        f"--secure-port={port}",
        PLUGIN,
    )
    process = Moorage(flags, tmp_path / "sched.log", port)
    try:
        process.wait_ready()
        for path in ("/livez", "/readyz", "/healthz"):
            assert process.get(path) == (200, "ok")
        refused = process.get("/metrics")
        assert refused is not None and refused.status in (401, 403)
        holder = (
            "get",
            "lease",
            "kube-scheduler",
            "-n",
            "kube-system",
            "-o",
            "jsonpath={.spec.holderIdentity}",
        )
        identity = process.wait_until("the lease", lambda: tidy.kubectl.run(*holder).output)
        uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
        assert re.fullmatch(f"{re.escape(socket.gethostname())}_{uuid}", identity)
        tidy.kubectl("apply", "-f", str(TEST_POD))
        assert tidy.note("test-pod") == NOTE
    finally:
        process.stop()


def test_T14_the_whole_configuration_is_written(config: Path, tmp_path: Path) -> None:
    written = tmp_path / "f.yaml"
    assert run_alone("run", f"--config={config}", PLUGIN, f"--write-config-to={written}").returncode == 0
    content = yaml.safe_load(written.read_text())
    assert content["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    enabled = content["profiles"][0]["plugins"]["multiPoint"]["enabled"]
    assert "MyPreFilter" in [plugin["name"] for plugin in enabled]


def test_T14_words_that_are_no_flags_are_refused(config: Path) -> None:
    assert run_alone("run", f"--config={config}", PLUGIN, "word").returncode != 0


def test_T14_the_sample_of_the_static_pod_is_accepted(tidy: Cluster) -> None:
    assert "--config=/etc/kubernetes/scheduler-config.yaml" in STATIC_POD.read_text()
    said = tidy.kubectl("apply", "--dry-run=server", "-f", str(STATIC_POD))
    assert said == "pod/kube-scheduler created (server dry run)\n"
