"""The walk with a second scheduler as a Deployment: T4 to T7 and T18 of the seed systems."""

import json
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.cli.running import run_alone
from tests.controlplane.schedulers import Moorage
from tests.controlplane.servers import wait_for
from tests.seeds.common import EXAMPLES, Cluster, Document, lines_with, pod

EXAMPLE = EXAMPLES / "most_available_cpu"
MANIFESTS = EXAMPLE / "manifests"
DEPLOYMENT = MANIFESTS / "custom-scheduler-deployment.yaml"
PLUGIN = f"--plugin={EXAMPLE / 'plugin.py'}"
NAME = "custom-scheduler"
IN_SYSTEM = ("-n", "kube-system")
SELECTED = (*IN_SYSTEM, "-l", f"component={NAME}")
ANNOTATION = "scheduler.alpha.kubernetes.io/name"
HEADER = re.compile(r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.]+:\d+\] ")


@dataclass(frozen=True)
class SecondScheduler:
    """The scheduler of T4: the Deployment's pod where pods run, else a process with the ConfigMap's content."""

    log: Callable[[], str]
    stop: Callable[[], None]
    """Asks it to end, waits at most 10 s for that and checks the exit code."""


def config_of(cluster: Cluster) -> Document:
    """The ConfigMap's content, as a pod would find it."""
    text = cluster.kubectl(
        "get", "cm", "custom-scheduler-config", *IN_SYSTEM, "-o", r"jsonpath={.data.scheduler-config\.yaml}"
    )
    config: Document = yaml.safe_load(text)
    return config


def place(cluster: Cluster) -> str:
    """Gives the Deployment's newest pod a node, as the cluster's own scheduler would; the pod's name."""

    def waiting() -> str:
        pods = json.loads(cluster.kubectl("get", "pods", *SELECTED, "-o", "json"))["items"]
        return next((each["metadata"]["name"] for each in pods if "nodeName" not in each["spec"]), "")

    name = wait_for("the Deployment's pod", waiting)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    path = f"/api/v1/namespaces/kube-system/pods/{name}/binding"
    cluster.kubectl("create", "--raw", path, "-f", "-", input=json.dumps(binding))
    return name


def deployed(cluster: Cluster) -> SecondScheduler:
    """The scheduler in the Deployment's pod, once that is ready."""
    name = place(cluster)
    cluster.kubectl("rollout", "status", "deployment", NAME, *IN_SYSTEM, "--timeout=30s")

    def stop() -> None:
        watch = ("get", "pod", name, *IN_SYSTEM, "--watch", "--output-watch-events", "-o", "json")
        with cluster.kubectl.started(*watch) as watching:
            assert watching.stdout is not None
            assert watching.stdout.readline()  # the watch has begun
            cluster.kubectl("delete", "pod", name, *IN_SYSTEM, "--timeout=10s")
            ...

    return SecondScheduler(lambda: cluster.kubectl("logs", *SELECTED), stop)
