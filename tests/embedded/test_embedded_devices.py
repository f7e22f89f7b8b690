"""Devices and claims: as kubectl shows them beside the real server, and with kube-scheduler v1.36 at work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.controlplane.servers import HOST, Program, free_ports, wait_for
from tests.embedded.clusters import Embedded, Kubectl
from tests.embedded.comparing import Pair
from tests.embedded.test_kube_scheduler import configuration

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpus_by_claims"

ALLOCATION = {
    "devices": {
        "results": [
            {
                "request": "one",
                "driver": "card.example.com",
                "pool": "cards",
                "device": "whole",
                "tolerations": [{"key": "card.example.com/broken", "operator": "Exists"}],
            }
        ]
    },
    "nodeSelector": {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["machine-1"]}]}
        ]
    },
    "allocationTimestamp": "2026-01-01T00:00:00Z",
}
RESERVED = [{"resource": "pods", "name": "user", "uid": "11111111-2222-3333-4444-555555555555"}]


FINALIZER = "resource.kubernetes.io/delete-protection"
TOLD = [{"driver": "card.example.com", "pool": "cards", "device": "whole"}]


def status(claim: str, *flags: str, **content: object) -> str:
    patch = json.dumps({"status": content})
    return f"patch resourceclaim {claim} --subresource=status --type=merge -p '{patch}' {' '.join(flags)}"


@pytest.fixture(scope="module")
def claims(pair: Pair) -> Pair:
    pair.prepare("create -f claims.yaml")
    return pair


def test_devices_as_kubectl_shows_them(claims: Pair) -> None:
    claims.compare("""
        get deviceclasses card
        get resourceclaimtemplates,resourceslices
        get resourceslices --field-selector spec.driver=card.example.com -o wide
        get deviceclass card -o yaml
        get resourceslices cards cards-counters -o yaml
        get resourceclaimtemplate per-pod -o yaml
        get pod user -o yaml
        describe deviceclass card
        describe resourceslice cards cards-counters
        describe resourceclaimtemplate per-pod
        describe resourceclaim either
        describe pod user
    """)


def test_the_life_of_a_claim_as_kubectl_shows_it(claims: Pair) -> None:
    shown = """
        get resourceclaims
        get resourceclaims -o wide --show-labels
        get resourceclaims exact -o yaml
        describe resourceclaim exact
    """
    claims.compare(f"""
        {shown}
        {status("exact", reservedFor=RESERVED)}
        {status("exact", allocation=ALLOCATION)}
        {shown}
        {status("exact", reservedFor=RESERVED)}
        {status("exact", reservedFor=RESERVED * 2)}
        {status("exact", devices=TOLD)}
        {shown}
        patch resourceclaim exact --type=merge -p '{{"metadata":{{"finalizers":["{FINALIZER}"]}}}}'
        delete resourceclaim exact --wait=false
        {shown}
        {status("exact", reservedFor=None, allocation=None)}
        {shown}
        patch resourceclaim exact --type=merge -p '{{"metadata":{{"finalizers":null}}}}'
        get resourceclaims
    """)


def test_who_may_give_devices_to_claims(claims: Pair) -> None:
    """It is not enough to be allowed to write the status."""
    claims.compare(f"""
        {status("either", "--as=jane", allocation=ALLOCATION)}
        {status("either", "--as=jane", allocation=ALLOCATION, devices=TOLD)}
        {status("either", allocation={**ALLOCATION, "devices": {}})}
        {status("either", "--as=jane", reservedFor=RESERVED)}
        {status("either", "--as=jane", devices=TOLD)}
        {status("either", "--as=jane", allocation=None)}
        {status("either", allocation=None)}
        get resourceclaim either -o yaml
    """)


def test_allocations_that_make_no_sense(claims: Pair) -> None:
    good = {"request": "card/large", "driver": "card.example.com", "pool": "cards", "device": "whole"}

    def given(*results: object, **more: object) -> str:
        return status("either", "--dry-run=server", allocation={"devices": {"results": results, **more}})

    opaque = {"driver": "card.example.com", "parameters": {"a": 1}}
    claims.compare(f"""
        {given(good)}
        {given({**good, "request": "card"})}
        {given({**good, "request": "card/none"})}
        {given({**good, "request": "a/b/c"})}
        {given({**good, "request": ""})}
        {given({**good, "driver": "Not_A_Driver", "pool": "", "device": "Whole"})}
        {given({"request": "card"})}
        {given(*[good] * 33)}
        {given(good, config=[{"source": "FromClass", "requests": ["card/large"], "opaque": opaque}])}
        {given(good, config=[{"source": "FromClaim", "requests": ["card", "no", "card"], "opaque": opaque}])}
        {given(good, config=[{"source": "FromClass", "requests": ["card"]}])}
    """)


def test_devices_that_others_use_are_for_some_namespaces_only(claims: Pair) -> None:
    watched = {"request": "second", "driver": "card.example.com", "pool": "cards", "device": "whole"}
    allocation = {"devices": {"results": [{**watched, "adminAccess": True}]}}
    claims.compare(f"""
        create -f admin-claims.yaml
        create -f admin-claims.yaml -n admins
        {status("watcher", "-n admins", allocation=allocation)}
        get resourceclaims -n admins -o yaml
        label namespace admins resource.kubernetes.io/admin-access-
        {status("watcher", "-n admins", reservedFor=RESERVED)}
        {status("watcher", "-n admins", allocation=None, reservedFor=None)}
        {status("watcher", "-n admins", allocation=allocation)}
    """)


# With a scheduler


@contextmanager
def kube_scheduler(programs: Path, cluster: Embedded, folder: Path) -> Iterator[Program]:
    config = folder / "config.json"
    config.write_text(json.dumps(configuration(cluster.kubeconfig, "")))
    [port] = free_ports(1)
    flags = (
        f"--config={config}",
        *(f"--{what}-kubeconfig={cluster.kubeconfig}" for what in ("authentication", "authorization")),
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        "-v=2",
    )
    scheduler = Program(programs / "kube-scheduler", flags, folder / "kube-scheduler.log")
    try:
        yield scheduler
    finally:
        scheduler.stop()


def allocated(kubectl: Kubectl) -> dict[str, tuple[str, ...]]:
    """The devices of each claim, whose generated end is left out."""
    found = json.loads(kubectl("get", "resourceclaims", "-o", "json"))["items"]
    return {
        each["metadata"].get("generateName", each["metadata"]["name"]): tuple(
            result["device"]
            for result in each["status"].get("allocation", {}).get("devices", {}).get("results", ())
        )
        for each in found
    }


def test_kube_scheduler_places_the_example(programs: Path, tmp_path: Path) -> None:
    devices = f"--devices={EXAMPLE / 'devices.yaml'}"
    with (
        Embedded("--no-scheduler", "--nodes=2", devices) as cluster,
        kube_scheduler(programs, cluster, tmp_path),
    ):
        kubectl = cluster.kubectl

        def ready(*pods: str) -> None:
            for pod in pods:
                kubectl("wait", f"pod/{pod}", "--for=create", "--timeout=30s")
                kubectl("wait", f"pod/{pod}", "--for=condition=Ready", "--timeout=30s")

        kubectl("apply", "-f", str(EXAMPLE / "manifests" / "train.yaml"))
        ready("train-0", "train-1")
        trained = {"train-0-devices-": ("gpu-0", "nic-0"), "train-1-devices-": ("gpu-0", "nic-0")}
        assert allocated(kubectl) == trained
        kubectl("apply", "-f", str(EXAMPLE / "manifests" / "serve.yaml"))
        ready("serve-blue", "serve-green")
        assert allocated(kubectl) == trained | {"half-for-two": ("gpu-1-half-0",)}
        kubectl("apply", "-f", str(EXAMPLE / "manifests" / "explore.yaml"))
        ready("explore-0", "explore-1")
        assert allocated(kubectl) == trained | {
            "half-for-two": ("gpu-1-half-0",),
            "explore-0-gpu-": ("gpu-1",),
            "explore-1-gpu-": ("gpu-1-half-1",),
        }
        nodes = kubectl(
            "get", "pods", "serve-blue", "serve-green", "-o", "jsonpath={.items[*].spec.nodeName}"
        )
        assert len(set(nodes.split())) == 1
        kubectl("scale", "statefulset", "train", "--replicas=3")
        kubectl("wait", "pod/train-2", "--for=create")
        kubectl("wait", "pod/train-2", "--for=condition=PodScheduled=false", "--timeout=30s")
        kubectl("delete", "statefulset", "explore", "train")
        kubectl("delete", "pod", "serve-blue", "serve-green")
        wait_for("the claims to be given up", lambda: allocated(kubectl) == {"half-for-two": ()})
        finalizers = "jsonpath={.metadata.finalizers}"
        assert kubectl("get", "resourceclaim", "half-for-two", "-o", finalizers) == ""
        assert "unexpected error" not in cluster.program.log_text()


def test_kube_scheduler_waits_for_a_device_and_for_a_node(programs: Path, tmp_path: Path) -> None:
    with (
        Embedded("--no-scheduler", "--nodes=1", "--devices=gpu=1") as cluster,
        kube_scheduler(programs, cluster, tmp_path),
    ):
        kubectl = cluster.kubectl
        template = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "gpu"},
            "spec": {
                "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
            },
        }
        kubectl("create", "-f", "-", input=json.dumps(template))
        for name in ("first", "second", "third"):
            spec = {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "nginx"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
            }
            metadata = {"name": name, "annotations": {"moorage/finish": "false"}}
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            kubectl("create", "-f", "-", input=json.dumps(pod))
            if name == "first":
                kubectl("wait", "pod/first", "--for=condition=Ready", "--timeout=30s")
        kubectl("wait", "pod/second", "--for=condition=PodScheduled=false", "--timeout=30s")
        # A pod that is done gives its device back, although it is still there.
        kubectl("annotate", "pod", "first", "moorage/finish=true", "--overwrite")

        def running() -> list[str]:
            text = kubectl("get", "pods", "--field-selector=status.phase=Running", "-o", "name")
            return text.split()

        wait_for("one of the others to run", lambda: len(running()) == 1)
        assert running() != ["pod/first"]
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "late"}}
        kubectl("create", "-f", "-", input=json.dumps(node))
        wait_for("both to run", lambda: len(running()) == 2)
        assert sorted(kubectl("get", "resourceslices", "-o", "name").split()) == [
            "resourceslice.resource.k8s.io/late-gpu.example.com",
            "resourceslice.resource.k8s.io/node-1-gpu.example.com",
        ]
        kubectl("delete", "node", "late")
        wait_for("the pod to go with its node", lambda: len(running()) == 1)
        wait_for("its claim to go with it", lambda: len(allocated(kubectl)) == 1)
        assert kubectl("get", "resourceslices", "-o", "name").split() == [
            "resourceslice.resource.k8s.io/node-1-gpu.example.com"
        ]


@pytest.mark.parametrize("resource", ["deviceclasses", "resourceslices"])
def test_what_is_not_asked_for_is_not_there(resource: str, kubectl: Kubectl) -> None:
    assert kubectl("get", resource, "-o", "name") == ""
