"""The walk with a second scheduler as a Deployment: T4 to T7 and T18 of the seed systems."""

import contextlib
import json
import re
import signal
from collections.abc import Iterator
from typing import Protocol

import pytest
import yaml

from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import wait_for
from tests.seeds.common import EXAMPLES, Cluster, Document, lines_with, pod
from tests.seeds.watching import lines_until

EXAMPLE = EXAMPLES / "most_available_cpu"
MANIFESTS = EXAMPLE / "manifests"
DEPLOYMENT = MANIFESTS / "custom-scheduler-deployment.yaml"
PLUGIN = f"--plugin={EXAMPLE / 'plugin.py'}"
NAME = "custom-scheduler"
IN_SYSTEM = ("-n", "kube-system")
SELECTED = (*IN_SYSTEM, "-l", f"component={NAME}")
HONOR = "--legacy-scheduler-annotation=honor"
HEADER = re.compile(r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.]+:\d+\] ")
CREATED = [
    "serviceaccount/custom-scheduler",
    "clusterrolebinding.rbac.authorization.k8s.io/custom-scheduler-as-kube-scheduler",
    "clusterrolebinding.rbac.authorization.k8s.io/custom-scheduler-as-volume-scheduler",
    "rolebinding.rbac.authorization.k8s.io/custom-scheduler-extension-apiserver-authentication-reader",
    "configmap/custom-scheduler-config",
    "deployment.apps/custom-scheduler",
]
END_SECONDS = 10.0


class SecondScheduler(Protocol):
    """The scheduler of T4."""

    def log(self) -> str: ...

    def restart(self, flag: str) -> None:
        """Starts it again with one more flag."""

    def end(self) -> None:
        """Asks it to end; checks that this takes no more than 10 s and that the exit code is 0."""


class Deployed:
    """Where pods run: the Deployment's own pod."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pod = ""
        self.wait()

    def wait(self) -> None:
        """Waits until it works, and gives it a node as the cluster's own scheduler would."""
        self._pod = wait_for("the Deployment's pod", self._pod_without_node)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": self._pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        }
        path = f"/api/v1/namespaces/kube-system/pods/{self._pod}/binding"
        self._cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(binding))
        self._cluster.kubectl("wait", "--for=condition=Ready", f"pod/{self._pod}", *IN_SYSTEM)
        self._cluster.kubectl("rollout", "status", "deployment", NAME, *IN_SYSTEM, "--timeout=30s")
        wait_for("the end of old pods", lambda: self.pods() == [self._pod], seconds=END_SECONDS)

    def pods(self) -> list[str]:
        names = self._cluster.kubectl("get", "pods", *SELECTED, "-o", "jsonpath={.items[*].metadata.name}")
        return names.split()

    def log(self) -> str:
        return self._cluster.kubectl("logs", *SELECTED)

    def restart(self, flag: str) -> None:
        change = [{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": flag}]
        patch = ("--type=json", "-p", json.dumps(change))
        self._cluster.kubectl("patch", "deployment", NAME, *IN_SYSTEM, *patch)
        self.wait()

    def end(self) -> None:
        kubectl = self._cluster.kubectl
        code = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}{'\\n'}"
        with kubectl.started("get", "pod", self._pod, *IN_SYSTEM, "--watch", "-o", code) as watch:
            lines_until(watch, "")  # it runs, and the watch has begun
            assert kubectl("delete", "deployment", NAME, *IN_SYSTEM).startswith(
                f'deployment.apps "{NAME}" deleted'
            )
            wait_for("the end", lambda: not self.pods(), seconds=END_SECONDS)
            lines_until(watch, "0")

    def _pod_without_node(self) -> str:
        pods = json.loads(self._cluster.kubectl("get", "pods", *SELECTED, "-o", "json"))["items"]
        return next((each["metadata"]["name"] for each in pods if not each["spec"].get("nodeName")), "")


class Started:
    """Where no pods run: a process with the ConfigMap's content."""

    def __init__(self, cluster: Cluster, stack: contextlib.ExitStack) -> None:
        self._cluster = cluster
        self._stack = stack
        self._process = self._start()

    def _start(self, *flags: str) -> Moorage:
        path = r"jsonpath={.data.scheduler-config\.yaml}"
        content = self._cluster.kubectl("get", "cm", "custom-scheduler-config", *IN_SYSTEM, "-o", path)
        return self._stack.enter_context(self._cluster.run(yaml.safe_load(content), "-v=3", *flags))

    def log(self) -> str:
        return self._process.log_text()

    def restart(self, flag: str) -> None:
        self._end_process()
        self._process = self._start(flag)

    def end(self) -> None:
        assert self._cluster.kubectl("delete", "deployment", NAME, *IN_SYSTEM).startswith(
            f'deployment.apps "{NAME}" deleted'
        )
        self._end_process()

    def _end_process(self) -> None:
        self._process.send(signal.SIGTERM)
        assert self._process.exit_code(END_SECONDS) == 0


@pytest.fixture(scope="module")
def applied(cluster: Cluster) -> tuple[Cluster, str]:
    """With the objects of T4 and two nodes, and what `kubectl apply` said."""
    cluster.create_nodes("n1:4", "n2:4")
    return cluster, cluster.kubectl("apply", "-f", str(DEPLOYMENT))


@pytest.fixture(scope="module")
def second(applied: tuple[Cluster, str]) -> Iterator[SecondScheduler]:
    """The only scheduler there is."""
    cluster, _ = applied
    with contextlib.ExitStack() as stack:
        yield Deployed(cluster) if cluster.is_embedded else Started(cluster, stack)


def test_T4_the_second_scheduler_is_deployed(applied: tuple[Cluster, str], second: SecondScheduler) -> None:
    cluster, said = applied
    assert said.splitlines() == [f"{name} created" for name in CREATED]
    found = yaml.safe_load(cluster.kubectl("get", "deploy", NAME, *IN_SYSTEM, "-o", "yaml"))
    spec = found["spec"]
    assert spec["replicas"] == 1
    assert spec["selector"] == {"matchLabels": {"component": NAME}}
    template = spec["template"]
    assert template["metadata"]["labels"] == {"component": NAME}
    assert template["spec"]["serviceAccountName"] == NAME
    [container] = template["spec"]["containers"]
    assert (container["name"], container["image"]) == (NAME, f"{NAME}:latest")
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["command"] == ["moorage", "run"]
    assert container["args"][0] == "--config=/etc/kubernetes/scheduler-config.yaml"
    assert container["volumeMounts"] == [{"name": "config-volume", "mountPath": "/etc/kubernetes/"}]
    [volume] = template["spec"]["volumes"]
    assert volume["name"] == "config-volume"
    assert volume["configMap"]["name"] == "custom-scheduler-config"
    if cluster.is_embedded:
        [line] = cluster.kubectl("get", "pods", *SELECTED, "--no-headers").splitlines()
        assert line.split()[1:3] == ["1/1", "Running"]


def described(cluster: Cluster, name: str) -> str:
    return cluster.kubectl("describe", "pod", name)


def test_T5_and_T6_pods_are_steered_and_the_log_tells(
    applied: tuple[Cluster, str], second: SecondScheduler
) -> None:
    cluster, _ = applied
    cluster.kubectl("apply", "-f", str(MANIFESTS / "custom-scheduler-pod.yaml"))
    cluster.kubectl("apply", "-f", str(MANIFESTS / "custom-scheduler-pod-2.yaml"))

    # What is named in the spec is bound, which is after the older pod was seen.
    node = cluster.bound("custom-scheduler-pod-2")
    assert node in ("n1", "n2")
    note = f"Successfully assigned default/custom-scheduler-pod-2 to {node}"
    assert cluster.note("custom-scheduler-pod-2", "Scheduled") == note
    shown = described(cluster, "custom-scheduler-pod-2")
    assert re.search(rf"^Node: +{node}/", shown, re.MULTILINE)
    assert re.search(r"^  PodScheduled +True *$", shown, re.MULTILINE)
    event = rf"^  Normal +Scheduled +\S+ +{NAME} +{re.escape(note)}$"
    assert re.search(event, shown, re.MULTILINE)

    log = second.log()
    attempt = '"Attempting to schedule pod" pod="default/custom-scheduler-pod-2"'
    bound = (
        '"Successfully bound pod to node" pod="default/custom-scheduler-pod-2" '
        f'node="{node}" evaluatedNodes=2 feasibleNodes=2'
    )
    assert attempt in log
    assert bound in log
    lines = [line for line in log.splitlines() if line[:1] not in ("\t", " ")]
    assert [line for line in lines if not HEADER.match(line)] == []

    # What is named in the annotation is not.
    name = ("get", "pod", "custom-scheduler-pod", "-o", "jsonpath={.spec.schedulerName}")
    assert cluster.kubectl(*name) == "default-scheduler"
    assert cluster.node_of("custom-scheduler-pod") == ""
    assert re.search(
        r"^Events: +<none>$", described(cluster, "custom-scheduler-pod").rstrip().splitlines()[-1]
    )
    annotation = "scheduler.alpha.kubernetes.io/name"
    [line] = [line for line in log.splitlines() if annotation in line and "spec.schedulerName" in line]
    assert 'pod="default/custom-scheduler-pod"' in line

    second.restart(HONOR)
    node = cluster.bound("custom-scheduler-pod")
    note = f"Successfully assigned default/custom-scheduler-pod to {node}"
    assert cluster.note("custom-scheduler-pod", "Scheduled") == note
    event = rf"^  Normal +Scheduled +\S+ +{NAME} +{re.escape(note)}$"
    assert re.search(event, described(cluster, "custom-scheduler-pod"), re.MULTILINE)


def test_T18_everything_is_removed(applied: tuple[Cluster, str], second: SecondScheduler) -> None:
    cluster, _ = applied
    second.end()
    pods = ("custom-scheduler-pod", "custom-scheduler-pod-2")
    said = cluster.kubectl("delete", "pod", *pods, "--force", "--grace-period=0").splitlines()
    assert [line.split()[1] for line in said if " deleted" in line] == [f'"{name}"' for name in pods]
    for name in reversed(CREATED[:-1]):
        assert "deleted" in cluster.kubectl("delete", name, *(IN_SYSTEM if "cluster" not in name else ()))
    # Without leader election there is no lease of its own to delete.
    leases = cluster.kubectl("get", "leases", *IN_SYSTEM, "-o", "name")
    assert NAME not in leases
    assert cluster.kubectl.run("get", "all", *SELECTED).errors.startswith("No resources found")

    cluster.apply(pod("late", NAME))
    shown = described(cluster, "late")
    assert re.search(r"^Status: +Pending$", shown, re.MULTILINE)
    assert shown.rstrip().splitlines()[-1].split() == ["Events:", "<none>"]
    cluster.delete_all("pods", "nodes")


# T7: the plugin


@pytest.fixture(scope="module")
def sized(cluster: Cluster) -> Iterator[Cluster]:
    cluster.create_nodes("cpu-2:2", "cpu-4:4", "cpu-8:8")
    yield cluster
    cluster.delete_all("pods", "nodes")


def config(**args: str) -> Document:
    content: Document = yaml.safe_load((EXAMPLE / "scheduler-config.yaml").read_text())
    content["profiles"][0]["pluginConfig"] = [{"name": "MostAvailableCPU", "args": args}]
    return content


def scores(process: Moorage, name: str) -> dict[str, int]:
    """The plugin's scores for a pod, by node, from the log."""
    lines = lines_with(process, '"Plugin scored node for pod"', f'pod="default/{name}"', "MostAvailableCPU")
    found = (re.search(r'node="(\S+)" score=(\d+)$', line) for line in lines)
    return {match[1]: int(match[2]) for match in found if match}


def test_T7_the_node_with_the_most_cpu_wins(sized: Cluster) -> None:
    with sized.run(config(), PLUGIN, "-v=10") as process:
        sized.apply(pod("a", NAME))
        assert sized.bound("a") == "cpu-8"
        assert scores(process, "a") == {"cpu-2": 25, "cpu-4": 50, "cpu-8": 100}

        sized.apply(pod("filler", requests={"cpu": "7"}, nodeName="cpu-8"))
        seen = '"Add event for scheduled pod" pod="default/filler"'
        process.wait_until("the filler", lambda: seen in process.log_text())
        sized.apply(pod("b", NAME))
        assert sized.bound("b") == "cpu-4"
        assert scores(process, "b") == {"cpu-2": 50, "cpu-4": 100, "cpu-8": 25}
    with sized.run(config(source="allocatable"), PLUGIN, "-v=10") as process:
        sized.apply(pod("c", NAME))
        assert sized.bound("c") == "cpu-8"
        assert scores(process, "c") == {"cpu-2": 25, "cpu-4": 50, "cpu-8": 100}


def test_T7_another_source_is_refused(sized: Cluster) -> None:
    with sized.run(config(source="x"), PLUGIN, ready=False) as process:
        assert process.exit_code(END_SECONDS) != 0
        assert "args.source: Invalid enum value 'x'" in process.log_text()
