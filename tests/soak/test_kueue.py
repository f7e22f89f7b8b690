"""Kueue's manager on `moorage up`, by its install manifest: it admits Jobs by quota, Moorage places them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.others import KUEUE_MANAGER, built
from tests.controlplane.programs import programs_for
from tests.controlplane.servers import free_ports, wait_for
from tests.embedded.clusters import Embedded, Kubectl

NAMESPACE = "kueue-system"
CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"
ACCESS = "/access"

Document = dict[str, Any]

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: plain, resources: [{name: cpu, nominalQuota: "4"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: mine, namespace: default}
spec: {clusterQueue: all}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  namespace: default
  labels: {{kueue.x-k8s.io/queue-name: mine}}
spec:
  parallelism: {pods}
  completions: {pods}
  suspend: {suspend}
  template:
    metadata: {{annotations: {{moorage/finish: "{finish}"}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: busybox, resources: {{requests: {{cpu: "1"}}}}}}]
"""


def job(name: str, pods: int, *, suspend: bool = True, finish: str = "false") -> str:
    return JOB.format(name=name, pods=pods, suspend=str(suspend).lower(), finish=finish)


def get(kubectl: Kubectl, *what: str) -> Any:
    return json.loads(kubectl("get", *what, "-o", "json"))


def install_manifest(kubectl: Path, config: Path) -> list[Document]:
    """What Kueue releases as its manifest, made as its Makefile does."""
    command = [str(kubectl), "kustomize", str(config / "default")]
    return list(yaml.safe_load_all(subprocess.check_output(command, text=True, timeout=60)))


def as_local_process(documents: list[Document], program: Path, server: str) -> list[Document]:
    """The manifest for a manager that is a process of this machine, with no file system of its own.

    Its ports are others, since those of the manifest may be taken; its certificates are where it finds them;
    a kubeconfig takes the place of the path at which Go looks for a token. Its rights stay as they are.
    """
    ports = dict(zip((8081, 8443, 9443), free_ports(3), strict=True))
    for document in documents:
        kind, name = document["kind"], document["metadata"]["name"]
        if kind == "Service":
            for port in document["spec"]["ports"]:
                port["targetPort"] = ports.get(port["targetPort"], port["targetPort"])
        elif kind == "ConfigMap" and name == "kueue-manager-config":
            data = document["data"]
            settings = yaml.safe_load(data["controller_manager_config.yaml"])
            settings["health"]["healthProbeBindAddress"] = f":{ports[8081]}"
            settings["metrics"]["bindAddress"] = f":{ports[8443]}"
            settings["leaderElection"]["resourceNamespace"] = NAMESPACE
            settings["webhook"] |= {"port": ports[9443], "certDir": "."}  # where the process runs
            data["controller_manager_config.yaml"] = yaml.safe_dump(settings)
        elif kind == "Deployment":
            _run_locally(document["spec"]["template"]["spec"], program, ports)
    return [*documents, _access(server)]


def _run_locally(spec: Document, program: Path, ports: dict[int, int]) -> None:
    [container] = spec["containers"]
    container["command"] = [str(program)]
    container["args"].append("--feature-gates=VisibilityOnDemand=false")  # it writes to a fixed path
    container["workingDir"] = CERTIFICATES
    container["env"] = [{"name": "KUBECONFIG", "value": f"{ACCESS}/kubeconfig"}]
    for port in container["ports"]:
        port["containerPort"] = ports.get(port["containerPort"], port["containerPort"])
    for probe in ("livenessProbe", "readinessProbe"):
        container[probe]["httpGet"] |= {"port": ports[8081], "host": "127.0.0.1"}
    container["volumeMounts"].append({"name": "access", "mountPath": ACCESS})
    sources = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt"}},
        {"configMap": {"name": "access"}},
    ]
    spec["volumes"].append({"name": "access", "projected": {"sources": sources}})


def _access(server: str) -> Document:
    """A kubeconfig with the token and the authority that lie beside it."""
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": server, "certificate-authority": "ca.crt"}}],
        "users": [{"name": "me", "user": {"tokenFile": "token"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me", "namespace": NAMESPACE}}],
        "current-context": "here",
    }
    metadata = {"name": "access", "namespace": NAMESPACE}
    data = {"kubeconfig": yaml.safe_dump(kubeconfig)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture(scope="module")
def kubectl(pytestconfig: pytest.Config) -> Iterator[Kubectl]:
    """A cluster of two nodes with Kueue in it, which is ready."""
    if not pytestconfig.getoption("--soak"):
        pytest.skip("Kueue takes minutes to build: make soak")
    programs = programs_for(pytestconfig)
    program = built(KUEUE_MANAGER, pytestconfig)
    documents = install_manifest(programs / "kubectl", program.parent / KUEUE_MANAGER.files)
    [deployment] = [each for each in documents if each["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    flags = (f"--run-namespace={NAMESPACE}", f"--run-image={container['image']}")
    with Embedded("--nodes=2", *flags) as cluster:
        adapted = as_local_process(documents, program, cluster.url)
        kubectl = cluster.kubectl
        kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump_all(adapted))
        name = f"deployment/{deployment['metadata']['name']}"
        waited = kubectl.run("-n", NAMESPACE, "rollout", "status", name, "--timeout=50s")
        assert not waited.code, kubectl("-n", NAMESPACE, "logs", name)
        yield kubectl


def placed(kubectl: Kubectl, name: str) -> list[str]:
    """The nodes on which the pods of a Job run."""
    found = get(kubectl, "pods", "-l", f"job-name={name}")["items"]
    return [each["spec"]["nodeName"] for each in found if each["status"]["phase"] == "Running"]


def suspended(kubectl: Kubectl, name: str) -> bool:
    return bool(get(kubectl, "job", name)["spec"]["suspend"])


@pytest.mark.soak
def test_jobs_run_as_the_quota_allows(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", input=QUEUES)
    kubectl("wait", "localqueue/mine", "--for=condition=Active", "--timeout=30s")
    kubectl("apply", "-f", "-", input=job("first", 3))
    wait_for("the first Job to be admitted and placed", lambda: len(placed(kubectl, "first")) == 3)
    assert not suspended(kubectl, "first")

    # Kueue's webhook suspends what is to wait in a queue, whatever it says.
    kubectl("apply", "-f", "-", input=job("second", 2, suspend=False))
    kubectl("apply", "-f", "-", input=job("small", 1, finish="true"))
    kubectl("wait", "job/small", "--for=condition=complete", "--timeout=30s")
    assert suspended(kubectl, "second")
    assert placed(kubectl, "second") == []
    [told] = [
        each["status"]["conditions"][0]
        for each in get(kubectl, "workloads")["items"]
        if each["metadata"]["ownerReferences"][0]["name"] == "second"
    ]
    assert (told["type"], told["status"]) == ("QuotaReserved", "False")
    assert "insufficient unused quota" in told["message"]

    kubectl("annotate", "pods", "-l", "job-name=first", "moorage/finish=true", "--overwrite")
    kubectl("wait", "job/first", "--for=condition=complete", "--timeout=30s")
    wait_for("the second Job to be admitted and placed", lambda: len(placed(kubectl, "second")) == 2)
    kubectl("delete", "job", "second")
    wait_for("its workload to go with it", lambda: len(get(kubectl, "workloads")["items"]) == 2)


@pytest.mark.soak
def test_its_webhooks_convert_and_refuse(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", input=QUEUES)
    assert get(kubectl, "clusterqueues.v1beta1.kueue.x-k8s.io", "all")["apiVersion"].endswith("v1beta1")
    created = job("wrong", 1).replace("queue-name: mine", "queue-name: Not_a_name")
    refused = kubectl.run("create", "-f", "-", input=created)
    assert 'admission webhook "vjob.kb.io" denied the request' in refused.errors
