"""How many volumes a node can take, changed with kubectl and obeyed by the scheduler of `moorage up`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded, Kubectl

POD_AND_CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers: [{{name: main, image: nginx}}]
  volumes: [{{name: data, persistentVolumeClaim: {{claimName: {name}}}}}]
"""


@pytest.fixture(scope="module")
def kubectl(programs: Path) -> Iterator[Kubectl]:
    with Embedded("--nodes=1") as cluster:
        yield cluster.kubectl


def limit_volumes(kubectl: Kubectl, count: int) -> None:
    patch = [{"op": "replace", "path": "/spec/drivers/0/allocatable/count", "value": count}]
    kubectl("patch", "csinode", "node-1", "--type=json", f"--patch={json.dumps(patch)}")


def test_a_pod_waits_for_room_for_its_volume(kubectl: Kubectl) -> None:
    wait_for("the CSINode", lambda: kubectl.run("get", "csinode", "node-1").code == 0)
    assert kubectl("get", "csidriver", "-o", "name") == "csidriver.storage.k8s.io/local.moorage.example\n"
    limit_volumes(kubectl, 1)
    kubectl("apply", "-f", "-", input=POD_AND_CLAIM.format(name="first"))
    kubectl("wait", "pod/first", "--for=condition=Ready")
    source = "jsonpath={.items[0].spec.csi.driver} {.items[0].spec.csi.volumeHandle}"
    volume = kubectl("get", "pv", "-o", "jsonpath={.items[0].metadata.name}")
    assert kubectl("get", "pv", "-o", source) == f"local.moorage.example {volume}"

    kubectl("apply", "-f", "-", input=POD_AND_CLAIM.format(name="second"))
    kubectl("wait", "pod/second", "--for=condition=PodScheduled=false")
    message = kubectl("get", "pod", "second", "-o", "jsonpath={.status.conditions[0].message}")
    assert message == (
        "0/1 nodes are available: 1 node(s) exceed max volume count. no new claims to deallocate,"
        " preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    limit_volumes(kubectl, 2)
    kubectl("wait", "pod/second", "--for=condition=Ready")
    assert len(kubectl("get", "pv", "-o", "name").split()) == 2
