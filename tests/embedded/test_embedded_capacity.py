"""`moorage capacity` on `moorage up`: its plan for a drain is carried out by kubectl, with real evictions."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run_alone
from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded, Kubectl

SECONDS = "--timeout=60s"
NODES = """
apiVersion: v1
kind: Node
metadata: {name: %s, labels: {kubernetes.io/hostname: %s, topology.kubernetes.io/zone: %s}}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "20"}, capacity: {cpu: "4", memory: 16Gi, pods: "20"}}
"""
ZONES = {"a": "east", "b": "east", "c": "west", "d": "west", "e": "west"}
WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: nginx, resources: {requests: {cpu: "1"}}}]
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: c, image: nginx, resources: {requests: {cpu: 500m}}}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {app: db}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: nginx, resources: {requests: {cpu: 100m}}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 5, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: db}}}
"""
BUDGETS = "jsonpath={.metadata.name} {.status.currentHealthy} {.status.desiredHealthy}{'\\n'}"


@pytest.fixture(scope="module")
def cluster(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    nodes = tmp_path_factory.mktemp("nodes") / "nodes.yaml"
    nodes.write_text("---".join(NODES % (name, name, zone) for name, zone in ZONES.items()))
    with Embedded(f"--nodes={nodes}") as running:
        yield running


def get(kubectl: Kubectl, *arguments: str) -> Any:
    return json.loads(kubectl("get", *arguments, "-o", "json"))["items"]


def shell(script: str, kubectl: Kubectl, programs: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "KUBECONFIG": str(kubectl.kubeconfig),
        "KUBECTL_KUBERC": "false",
    }
    return subprocess.run(
        ["sh", "-c", script], env=environment, capture_output=True, text=True, timeout=150, check=False
    )


def test_a_plan_is_carried_out_with_every_budget_kept(cluster: Embedded, programs: Path) -> None:
    kubectl = cluster.kubectl
    kubectl("apply", "-f", "-", input=WORKLOADS)
    for what in ("deployment/web", "statefulset/db", "daemonset/agent"):
        kubectl("rollout", "status", what, SECONDS)
    wait_for(
        "the budgets",
        lambda: all(each["status"].get("disruptionsAllowed") == 1 for each in get(kubectl, "pdb")),
    )
    kubeconfig = f"--kubeconfig={cluster.kubeconfig}"
    asked = run_alone("capacity", "drain", kubeconfig, "-o", "json")
    assert asked.returncode == 0, asked.stderr
    plan = json.loads(asked.stdout)
    # Nine cpus in all are used, but three pods have to be on three nodes, in both zones.
    assert (plan["worth"], plan["atMost"]) == (2, 2)
    script = run_alone("capacity", "drain", kubeconfig, "--script").stdout

    before = {pod["metadata"]["uid"] for pod in get(kubectl, "pods")}
    with kubectl.started("get", "pdb", "--watch", "-o", BUDGETS) as watch:
        done = shell(script, kubectl, programs)
        assert done.returncode == 0, done.stderr
        for what in ("deployment/web", "statefulset/db", "daemonset/agent"):
            kubectl("rollout", "status", what, SECONDS)
        watch.terminate()
        seen = [line.split() for line in (watch.stdout or ()) if len(line.split()) == 3]
    assert {name for name, *_ in seen} == {"web", "db"}
    assert [each for each in seen if int(each[1]) < int(each[2])] == []

    pods = get(kubectl, "pods")
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    kinds = {pod["metadata"]["labels"]["app"] for pod in pods if pod["spec"]["nodeName"] in plan["removed"]}
    assert kinds == {"agent"}
    moved = [step for step in plan["steps"] if step["do"] == "evict"]
    assert len({pod["metadata"]["uid"] for pod in pods} - before) == len(moved)
    for node in plan["removed"]:
        kubectl("delete", "node", node)
    wait_for("what was there to go", lambda: len(get(kubectl, "pods", "-l", "app=agent")) == 3)
    after = run_alone("capacity", "drain", kubeconfig, "-o", "json")
    assert (after.returncode, json.loads(after.stdout)["removed"]) == (3, [])


def test_the_configuration_is_that_of_the_scheduler(cluster: Embedded, tmp_path: Path) -> None:
    kubeconfig = f"--kubeconfig={cluster.kubeconfig}"
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}"
    )
    found = run_alone("capacity", "room", pod, kubeconfig, "-o", "json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["fits"] > 0
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "from moorage import FilterPlugin\n\n\nclass Mine(FilterPlugin):\n"
        "    def filter(self, cycle, pod, node):\n        return None\n"
    )
    other = run_alone("capacity", "room", pod, kubeconfig, "--plugin", plugin)
    assert other.returncode == 1
    assert "has other plugins, such as Mine; give the --config, --plugin and --with" in other.stderr
