"""The real thing: etcd, kube-apiserver, kube-scheduler and kubectl."""

import json
import os
import ssl
import urllib.request

import pytest

from tests.controlplane.go_programs import KUBERNETES_VERSION
from tests.controlplane.servers import ControlPlane, ControlPlaneError, wait_for

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1"},
    "status": {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod-1"},
    "spec": {
        "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
    },
}


def test_kube_scheduler_binds_a_pod(control_plane: ControlPlane) -> None:
    for created in (NODE, POD):
        control_plane.kubectl("create", "-f", "-", input=json.dumps(created))

    with control_plane.kube_scheduler() as scheduler:

        def node() -> str:
            scheduler.check_running()
            return control_plane.kubectl("get", "pod", "pod-1", "-o", "jsonpath={.spec.nodeName}")

        assert wait_for("the binding of pod-1", node) == "node-1"


@pytest.mark.skipif("KUBEBUILDER_ASSETS" in os.environ, reason="KUBEBUILDER_ASSETS brings its own versions")
def test_versions_are_the_pinned_ones(control_plane: ControlPlane) -> None:
    versions = json.loads(control_plane.kubectl("version", "-o", "json"))
    client, server = versions["clientVersion"], versions["serverVersion"]
    assert client["gitVersion"] == server["gitVersion"] == KUBERNETES_VERSION
    assert (server["major"], server["minor"]) == ("1", "36")


def test_clients_without_kubectl_get_in(control_plane: ControlPlane) -> None:
    headers = {"Authorization": f"Bearer {control_plane.admin_token}"}
    request = urllib.request.Request(f"{control_plane.url}/api/v1/namespaces/default", headers=headers)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=control_plane.ca_file)),
    )
    with opener.open(request, timeout=30) as answer:
        assert json.load(answer)["metadata"]["name"] == "default"


def test_kubectl_failure_carries_its_message(control_plane: ControlPlane) -> None:
    with pytest.raises(ControlPlaneError, match="not found"):
        control_plane.kubectl("get", "pod", "absent")
    assert control_plane.kubectl("get", "pod", "absent", check=False) == ""
