"""What needs controllers and kubelets: deployments, roll-outs, logs, drains, the end of pods and namespaces.

The real API server alone cannot do these; what is expected is written down here.
"""

import json
import re
from pathlib import Path

import pytest

from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded, Kubectl

MANIFESTS = Path(__file__).parent / "manifests"


@pytest.fixture
def namespace(kubectl: Kubectl, request: pytest.FixtureRequest) -> str:
    """A namespace for the objects of one test; the next test does not wait for its end."""
    name = re.sub(r"\W|_", "-", request.node.name)
    kubectl("create", "namespace", name)
    request.addfinalizer(lambda: kubectl("delete", "namespace", name, "--wait=false"))
    return name


def lines(text: str) -> list[str]:
    return text.splitlines()


def test_the_first_steps(kubectl: Kubectl, namespace: str) -> None:
    created = kubectl("create", "deployment", "web", "--image=nginx", "--replicas=20", "-n", namespace)
    assert created == "deployment.apps/web created\n"
    status = lines(kubectl("rollout", "status", "deployment/web", "-n", namespace))
    assert status[-1] == 'deployment "web" successfully rolled out'
    waiting = re.compile(r'Waiting for deployment "web" rollout to finish: \d+ (of|out of) 20 .*')
    assert all(waiting.fullmatch(line) for line in status[:-1]), status
    [header, row] = lines(kubectl("get", "deployment", "web", "-n", namespace))
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row.split()[:4] == ["web", "20/20", "20", "20"]
    pods = [line.split() for line in lines(kubectl("get", "pods", "-n", namespace, "-o", "wide"))]
    assert pods[0] == [
        "NAME",
        "READY",
        "STATUS",
        "RESTARTS",
        "AGE",
        "IP",
        "NODE",
        "NOMINATED",
        "NODE",
        "READINESS",
        "GATES",
    ]
    assert len(pods) == 21
    assert all(row[1:4] == ["1/1", "Running", "0"] for row in pods[1:]), pods
    assert len({row[5] for row in pods[1:]}) == 20, "every pod has an IP of its own"
    assert {row[6] for row in pods[1:]} == {"node-1", "node-2", "node-3"}
    [header, row] = lines(kubectl("get", "replicaset", "-n", namespace))
    assert row.split()[1:4] == ["20", "20", "20"]


def test_scaling(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "-n", namespace)
    assert kubectl("scale", "deployment", "web", "--replicas=5", "-n", namespace) == (
        "deployment.apps/web scaled\n"
    )
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    waited = kubectl("wait", "--for=condition=Available", "deployment/web", "-n", namespace)
    assert waited == "deployment.apps/web condition met\n"
    ready = lines(kubectl("wait", "--for=condition=Ready", "pods", "-l", "app=web", "-n", namespace))
    assert len(ready) == 5
    assert all(line.endswith("condition met") for line in ready)
    kubectl("scale", "deployment", "web", "--replicas=1", "-n", namespace)
    wait_for(
        "the end of four pods",
        lambda: len(lines(kubectl("get", "pods", "-n", namespace, "-o", "name"))) == 1,
    )


def test_rolling_out(kubectl: Kubectl, namespace: str) -> None:
    def images() -> set[str]:
        return set(
            kubectl(
                "get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].spec.containers[*].image}"
            ).split()
        )

    kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=3", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    updated = kubectl("set", "image", "deployment/web", "nginx=nginx:2", "-n", namespace)
    assert updated == "deployment.apps/web image updated\n"
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    wait_for("new images", lambda: images() == {"nginx:2"})
    assert kubectl("rollout", "history", "deployment/web", "-n", namespace) == (
        "deployment.apps/web \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n"
    )
    assert kubectl("rollout", "undo", "deployment/web", "-n", namespace) == (
        "deployment.apps/web rolled back\n"
    )
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    wait_for("the old images", lambda: images() == {"nginx:1"})
    assert kubectl("rollout", "history", "deployment/web", "-n", namespace) == (
        "deployment.apps/web \nREVISION  CHANGE-CAUSE\n2         <none>\n3         <none>\n\n"
    )
    before = set(lines(kubectl("get", "pods", "-n", namespace, "-o", "name")))
    assert kubectl("rollout", "restart", "deployment/web", "-n", namespace) == (
        "deployment.apps/web restarted\n"
    )
    kubectl("rollout", "status", "deployment/web", "-n", namespace)

    def all_new() -> bool:
        after = set(lines(kubectl("get", "pods", "-n", namespace, "-o", "name")))
        return len(after) == 3 and not after & before

    wait_for("new pods", all_new)


def test_a_running_pod(kubectl: Kubectl, namespace: str) -> None:
    assert kubectl("run", "one", "--image=nginx", "-n", namespace) == "pod/one created\n"
    assert kubectl("wait", "--for=condition=Ready", "pod/one", "-n", namespace) == "pod/one condition met\n"
    kubectl("logs", "one", "-n", namespace)
    described = kubectl("describe", "pod", "one", "-n", namespace)
    reasons = [
        re.split(r"  +", line.strip())[1] for line in described.partition("Events:")[2].splitlines()[3:]
    ]
    assert reasons == ["Scheduled", "Pulled", "Created", "Started"]
    assert re.search(r"^Status: +Running$", described, re.MULTILINE)
    assert (
        kubectl("delete", "pod", "one", "-n", namespace) == f'pod "one" deleted from {namespace} namespace\n'
    )
    gone = kubectl.run("get", "pod", "one", "-n", namespace)
    assert gone.errors == 'Error from server (NotFound): pods "one" not found\n'
    result = kubectl.run("logs", "one", "-n", namespace)
    assert (
        result.errors
        == f'error: error from server (NotFound): pods "one" not found in namespace "{namespace}"\n'
    )


def test_a_deleted_pod_is_replaced(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    [old] = lines(kubectl("get", "pods", "-n", namespace, "-o", "name"))
    kubectl("delete", old, "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    [new] = lines(kubectl("get", "pods", "-n", namespace, "-o", "name"))
    assert new != old


def test_dependents_go_with_their_owner(kubectl: Kubectl, namespace: str) -> None:
    def left() -> str:
        return kubectl("get", "deployments,replicasets,pods", "-n", namespace, "-o", "name")

    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    kubectl("delete", "deployment", "web", "-n", namespace)
    wait_for("the end of all", lambda: not left())
    kubectl("create", "deployment", "web", "--image=nginx", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    kubectl("delete", "deployment", "web", "--cascade=foreground", "-n", namespace)
    assert not left(), "kubectl waits for the deployment, which waits for its dependents"
    kubectl("create", "deployment", "web", "--image=nginx", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    kubectl("delete", "deployment", "web", "--cascade=orphan", "-n", namespace)
    [replica_set, _] = lines(left())
    owners = json.loads(kubectl("get", replica_set, "-n", namespace, "-o", "json"))["metadata"]
    assert "ownerReferences" not in owners


def test_draining(kubectl: Kubectl, embedded: Embedded, namespace: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=6", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    kubectl("create", "pdb", "web", "--selector=app=web", "--min-available=6", "-n", namespace)
    wait_for(
        "the budget's status",
        lambda: (
            kubectl("get", "pdb", "web", "-n", namespace, "-o", "jsonpath={.status.currentHealthy}") == "6"
        ),
    )
    node = kubectl("get", "pods", "-n", namespace, "-o", "jsonpath={.items[0].spec.nodeName}")
    selector = "--pod-selector=app=web"
    blocked = kubectl.run("drain", node, selector, "--timeout=1s")
    assert blocked.code == 1
    assert "Cannot evict pod as it would violate the pod's disruption budget." in blocked.errors
    assert kubectl("get", "node", node).split()[6] == "Ready,SchedulingDisabled"
    kubectl("delete", "pdb", "web", "-n", namespace)
    drained = lines(kubectl("drain", node, selector))
    assert drained[0] == f"node/{node} already cordoned"
    assert drained[-1] == f"node/{node} drained"
    assert all(re.fullmatch(r"(evicting )?pod \S+|pod/\S+ evicted", line) for line in drained[1:-1]), drained
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    nodes = kubectl("get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].spec.nodeName}").split()
    assert len(nodes) == 6
    assert node not in nodes
    assert kubectl("uncordon", node) == f"node/{node} uncordoned\n"


def test_pods_that_do_as_they_are_told(kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "-f", str(MANIFESTS / "courses.yaml"), "-n", namespace)
    kubectl("wait", "pod/unready", "--for=jsonpath={.status.phase}=Running", "-n", namespace)
    [_, row] = lines(kubectl("get", "pod", "unready", "-n", namespace))
    assert row.split()[1:3] == ["0/1", "Running"]
    kubectl("annotate", "pod", "unready", "moorage/ready=true", "--overwrite", "-n", namespace)
    kubectl("wait", "pod/unready", "--for=condition=Ready", "-n", namespace)
    failed = "--for=jsonpath={.status.phase}=Failed"
    kubectl("wait", "pod/failing", "pod/late", failed, "-n", namespace)
    rows = [line.split() for line in lines(kubectl("get", "pods", "failing", "late", "-n", namespace))[1:]]
    assert [row[1:3] for row in rows] == [["0/1", "Error"], ["0/1", "Error"]]
    described = kubectl("describe", "pod", "late", "-n", namespace)
    assert re.search(r"^Reason: +DeadlineExceeded$", described, re.MULTILINE)
    message = "Pod was active on the node longer than the specified deadline"
    assert re.search(rf"^Message: +{message}$", described, re.MULTILINE)


def test_a_pod_that_takes_its_time_to_end(kubectl: Kubectl, namespace: str) -> None:
    kubectl("apply", "-f", str(MANIFESTS / "courses.yaml"), "-n", namespace)
    kubectl("wait", "pod/slow", "--for=condition=Ready", "-n", namespace)
    kubectl("delete", "pod", "slow", "--wait=false", "-n", namespace)
    kubectl("wait", "pod/slow", "--for=jsonpath={.status.observedGeneration}=2", "-n", namespace)
    [_, row] = lines(kubectl("get", "pod", "slow", "-n", namespace))
    assert row.split()[1:3] == ["1/1", "Terminating"]
    kubectl("delete", "pod", "slow", "--grace-period=1", "-n", namespace)
    assert "slow" not in kubectl("get", "pods", "-n", namespace)


def test_a_taint_that_is_not_tolerated(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=6", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    kubectl("taint", "node", "node-1", "broken:NoExecute")

    def places() -> list[str]:
        found = kubectl("get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].spec.nodeName}")
        return found.split()

    try:
        wait_for("the pods to leave", lambda: len(places()) == 6 and "node-1" not in places())
    finally:
        kubectl("taint", "node", "node-1", "broken-")
    assert " TaintManagerEviction " in kubectl("events", "-n", namespace)


def test_a_namespace_says_what_holds_it_up(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "held")
    kubectl("create", "configmap", "kept", "-n", "held")
    change = '{"metadata":{"finalizers":["example.com/keep"]}}'
    kubectl("patch", "configmap", "kept", "-n", "held", "--type=merge", "-p", change)
    kubectl("delete", "namespace", "held", "--wait=false")
    kubectl("wait", "namespace/held", "--for=condition=NamespaceFinalizersRemaining")
    shown = kubectl("describe", "namespace", "held")
    for condition, reason, message in (
        (
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        (
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: "
            "example.com/keep in 1 resource instances",
        ),
    ):
        assert re.search(rf"^  {condition} +True .* {reason} +{re.escape(message)}$", shown, re.MULTILINE)
    kubectl(
        "patch", "configmap", "kept", "-n", "held", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'
    )
    kubectl("wait", "namespace/held", "--for=delete")


def test_a_namespace_ends_with_its_content(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "passing")
    wait_for(
        "the service account",
        lambda: (
            kubectl("get", "serviceaccounts", "-n", "passing", "-o", "name") == "serviceaccount/default\n"
        ),
    )
    assert kubectl("get", "configmaps", "-n", "passing", "-o", "name") == "configmap/kube-root-ca.crt\n"
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3", "-n", "passing")
    kubectl("rollout", "status", "deployment/web", "-n", "passing")
    assert kubectl("delete", "namespace", "passing") == 'namespace "passing" deleted\n'
    assert kubectl.run("get", "namespace", "passing").errors == (
        'Error from server (NotFound): namespaces "passing" not found\n'
    )
    refused = kubectl.run("create", "configmap", "late", "-n", "passing")
    assert refused.errors == 'error: failed to create configmap: namespaces "passing" not found\n'
    assert not kubectl("get", "pods", "-n", "passing", "-o", "name")


def test_nodes(kubectl: Kubectl) -> None:
    header, *rows = (line.split() for line in lines(kubectl("get", "nodes")))
    assert header == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert [row[:3] for row in rows] == [[f"node-{number}", "Ready", "<none>"] for number in (1, 2, 3)]
    described = kubectl("describe", "node", "node-1")
    assert re.search(r"^  Ready +True .* KubeletReady ", described, re.MULTILINE)
    assert re.search(r"^Lease:\n  HolderIdentity:  node-1$", described, re.MULTILINE)


def test_events(kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "-n", namespace)
    kubectl("rollout", "status", "deployment/web", "-n", namespace)
    shown = kubectl("events", "-n", namespace)
    for reason in ("ScalingReplicaSet", "SuccessfulCreate", "Scheduled", "Started"):
        assert f" {reason} " in shown
