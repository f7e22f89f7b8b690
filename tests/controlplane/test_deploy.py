"""The manifests in deploy/, as a real API server sees them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.config import load, load_file
from tests.controlplane.schedulers import deployed_configuration
from tests.controlplane.servers import ControlPlane

DEPLOY = Path(__file__).parents[2] / "deploy"
STATIC_POD = DEPLOY / "static-pod" / "kube-scheduler.yaml"
USER = "system:serviceaccount:kube-system:moorage"

READ = ("get", "list", "watch")
WATCHED = [
    "nodes",
    "namespaces",
    "services",
    "replicationcontrollers",
    "pods",
    "replicasets.apps",
    "statefulsets.apps",
    "poddisruptionbudgets.policy",
    "persistentvolumes",
    "persistentvolumeclaims",
    "storageclasses.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "csidrivers.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
    "deviceclasses.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "resourceclaims.resource.k8s.io",
]
ALLOWED = [
    *(f"{verb} {resource}" for resource in WATCHED for verb in READ),
    *(f"{verb} {events}" for events in ("events", "events.events.k8s.io") for verb in ("create", "patch")),
    "create pods --subresource=binding",
    "patch pods --subresource=status",
    "delete pods",
    "update persistentvolumes",
    "update persistentvolumeclaims",
    "create leases.coordination.k8s.io -n kube-system",
    "get leases.coordination.k8s.io/moorage -n kube-system",
    "update leases.coordination.k8s.io/moorage -n kube-system",
    "get configmaps/extension-apiserver-authentication -n kube-system",
    "create tokenreviews.authentication.k8s.io",
    "create subjectaccessreviews.authorization.k8s.io",
]
DENIED = [
    "get secrets",
    "list secrets -n kube-system",
    "get configmaps/other -n kube-system",
    "create pods",
    "update pods",
    "patch pods",
    "deletecollection pods",
    "create pods --subresource=exec",
    "create pods --subresource=eviction",
    "delete nodes",
    "patch nodes",
    "create persistentvolumes",
    "delete persistentvolumes",
    "update persistentvolumes --subresource=status",
    "create persistentvolumeclaims",
    "delete persistentvolumeclaims",
    "update resourceclaims.resource.k8s.io --subresource=driver",
    "update resourceslices.resource.k8s.io",
    "delete events",
    "create leases.coordination.k8s.io -n default",
    "update leases.coordination.k8s.io/kube-scheduler -n kube-system",
    "get leases.coordination.k8s.io/other -n kube-system",
    "update leases.coordination.k8s.io/moorage -n default",
    "delete leases.coordination.k8s.io/moorage -n kube-system",
    "update endpoints/moorage -n kube-system",
    "impersonate users",
    "escalate clusterroles.rbac.authorization.k8s.io",
    "get /metrics",
]


@pytest.fixture(scope="module")
def applied(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    control_plane.kubectl("apply", "-k", str(DEPLOY))
    yield control_plane


def test_the_server_accepts_the_base(control_plane: ControlPlane) -> None:
    said = control_plane.kubectl("apply", "--dry-run=server", "-k", str(DEPLOY))
    names = {line.split()[0] for line in said.splitlines()}
    assert names == {
        "serviceaccount/moorage",
        "clusterrole.rbac.authorization.k8s.io/moorage",
        "clusterrolebinding.rbac.authorization.k8s.io/moorage",
        "role.rbac.authorization.k8s.io/moorage",
        "rolebinding.rbac.authorization.k8s.io/moorage",
        "rolebinding.rbac.authorization.k8s.io/moorage-extension-apiserver-authentication-reader",
        "configmap/moorage",
        "deployment.apps/moorage",
        "poddisruptionbudget.policy/moorage",
    }


def test_the_server_accepts_the_static_pod(control_plane: ControlPlane) -> None:
    said = control_plane.kubectl("apply", "--dry-run=server", "-f", str(STATIC_POD))
    assert said.strip() == "pod/kube-scheduler created (server dry run)"


def test_the_pods_of_the_deployment_pass_the_restricted_standard(applied: ControlPlane) -> None:
    template = json.loads(applied.kubectl("get", "deployment", "moorage", "-n", "kube-system", "-o", "json"))
    applied.kubectl("create", "namespace", "restricted")
    applied.kubectl("label", "namespace", "restricted", "pod-security.kubernetes.io/enforce=restricted")
    spec = template["spec"]["template"]["spec"]
    del spec["priorityClassName"]  # reserved for kube-system
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "moorage", "namespace": "restricted"},
        "spec": spec,
    }
    applied.kubectl("apply", "--dry-run=server", "-f", "-", input=json.dumps(pod))


@pytest.mark.parametrize(
    ("questions", "answer"), [(ALLOWED, "yes"), (DENIED, "no")], ids=["allowed", "denied"]
)
def test_the_service_account_may_do_what_it_must_and_no_more(
    applied: ControlPlane, questions: list[str], answer: str
) -> None:
    answers = {
        question: applied.kubectl("auth", "can-i", *question.split(), f"--as={USER}", check=False).strip()
        for question in questions
    }
    assert {question: said for question, said in answers.items() if said != answer} == {}


def test_the_configurations_are_valid() -> None:
    config = load(deployed_configuration((DEPLOY / "moorage.yaml").read_text())).config
    assert [profile.scheduler_name for profile in config.profiles] == ["moorage"]
    assert config.leader_election.resource_name == "moorage"

    config = load_file(DEPLOY / "static-pod" / "scheduler-config.yaml").config
    assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]
    assert config.leader_election.resource_name == "kube-scheduler"
    assert config.client_connection.kubeconfig == "/etc/kubernetes/scheduler.conf"
