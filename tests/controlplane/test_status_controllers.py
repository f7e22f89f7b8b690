"""PodGroups and ElasticQuotas on a real API server, with the rights that `moorage manifests` gives."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from moorage.contrib.objects import GROUP_LABEL
from tests.contrib import stand_ins
from tests.controlplane.schedulers import Api, Document, deployed_configuration, node, pod
from tests.controlplane.servers import ControlPlane, Program, wait_for

NAME = "gangs"
GROUP: Document = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "gang", "namespace": "default"},
    "spec": {"minMember": 2, "minResources": {"cpu": "1"}},
}
QUOTA: Document = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "ElasticQuota",
    "metadata": {"name": "quota", "namespace": "default"},
    "spec": {"min": {"cpu": "1"}, "max": {"memory": "1Gi", "pods": 5}},
}


@pytest.fixture
def program(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Program]:
    """A scheduler that has what is printed, and may do what is printed."""

    def start(*flags: str) -> Program:
        return Program(Path(sys.executable), (stand_ins.__file__, *flags), tmp_path / f"{flags[0]}.log")

    printing = start("manifests", "--with=coscheduling,capacity", f"--name={NAME}", "--replicas=1")
    assert printing.exit_code(60) == 0
    text = printing.log_text()
    control_plane.kubectl("apply", "-f", "-", input=text)
    for plural in ("podgroups", "elasticquotas"):
        name = f"crd/{plural}.scheduling.x-k8s.io"
        control_plane.kubectl("wait", "--for=condition=Established", name, "--timeout=30s")
    config = yaml.safe_load(deployed_configuration(text))
    kubeconfig = control_plane.kubeconfig_of(control_plane.token(NAME), tmp_path / "kubeconfig")
    config["clientConnection"] = {"kubeconfig": str(kubeconfig)}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    running = start("run", f"--config={tmp_path / 'config.yaml'}", "--secure-port=0")
    try:
        yield running
    finally:
        running.stop()
        control_plane.kubectl("delete", "--wait=false", "-f", "-", input=text)


def test_status_follows_the_pods(control_plane: ControlPlane, program: Program) -> None:
    api = Api(control_plane)

    def status(plural: str, name: str) -> Document:
        path = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/{plural}/{name}"
        found: Document = api.request("GET", path).get("status", {})
        return found

    def wait_phase(phase: str) -> None:
        program.check_running()
        wait_for(f"the group is {phase}", lambda: status("podgroups", "gang").get("phase") == phase)

    def set_phase(phase: str, name: str) -> None:
        patch = json.dumps({"status": {"phase": phase}})
        control_plane.kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p", patch)

    for each in (node("node-1"), GROUP, QUOTA):
        control_plane.kubectl("apply", "-f", "-", input=json.dumps(each))
    wait_phase("Pending")
    members = [pod(name, scheduler=NAME) for name in ("a", "b")]
    for each in members:
        each["metadata"]["labels"] = {GROUP_LABEL: "gang"}
        each["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "250m", "memory": "64Mi"}}
    api.create(members)
    wait_phase("Scheduling")
    wait_for("both are bound", lambda: len(api.bound()) == 2)
    used = {"cpu": "500m", "memory": "128Mi", "pods": "2"}
    wait_for("the quota knows both", lambda: status("elasticquotas", "quota").get("used") == used)
    for name in ("a", "b"):
        set_phase("Running", name)
    wait_phase("Running")
    set_phase("Succeeded", "a")
    wait_for("one has succeeded", lambda: status("podgroups", "gang").get("succeeded") == 1)
    assert status("podgroups", "gang")["phase"] == "Running"
    set_phase("Succeeded", "b")
    wait_phase("Finished")
    used = {"cpu": "0", "memory": "0", "pods": "0"}
    wait_for("the quota is free", lambda: status("elasticquotas", "quota").get("used") == used)
    wait_for("the event", lambda: api.events("Synced", "quota"))
    assert api.events("Synced", "quota")[0]["reportingComponent"] == "ElasticQuotaController"
    columns = control_plane.kubectl("get", "pg", "gang").splitlines()[0].split()
    assert columns == ["NAME", "PHASE", "MINMEMBER", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
    lease = control_plane.kubectl(
        "get", "lease", "-n", "kube-system", "sched-plugins-controllers", "-o", "name"
    )
    assert lease.strip() == "lease.coordination.k8s.io/sched-plugins-controllers"
    log = program.log_text()
    assert "Missing permission" not in log
    assert "forbidden" not in log.lower()
