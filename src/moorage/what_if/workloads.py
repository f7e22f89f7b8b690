"""Made-up clusters and pods for simulations and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod

Document = dict[str, Any]

ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"
_ZONES = 3
_GROUPS = 100


def make_nodes(count: int) -> Iterator[Node]:
    """Nodes of 32 cpus and 128 Gi in three zones; one in four has the label disk=ssd."""
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "500Gi"}
    for number in range(count):
        name = f"node-{number:05d}"
        labels = {
            HOSTNAME: name,
            ZONE: f"zone-{number % _ZONES}",
            "disk": "ssd" if number % 4 == 0 else "hdd",
        }
        yield from_document(
            Node,
            {
                "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
                "status": {"allocatable": amounts, "capacity": amounts},
            },
        )


def make_pods(workload: str, count: int, prefix: str = "pod") -> Iterator[Pod]:
    """Pods of a workload, by one of the names in WORKLOADS.

    Claims for devices are named as if they had been made; `make_claims` makes them.
    """
    shape = WORKLOADS[workload]
    for number in range(count):
        name = f"{prefix}-{number:06d}"
        labels: dict[str, str] = {"app": f"app-{number % _GROUPS}"}
        spec: Document = {"containers": [_container("100m", "128Mi")]}
        shape(number, labels, spec)
        document: Document = {
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels},
            "spec": spec,
        }
        if "resourceClaims" in spec:
            document["status"] = {
                "resourceClaimStatuses": [
                    {"name": each["name"], "resourceClaimName": f"{name}-{each['name']}"}
                    for each in spec["resourceClaims"]
                ]
            }
        yield from_document(Pod, document)


def _container(cpu: str, memory: str) -> Document:
    return {
        "name": "main",
        "image": "registry.example/app:v1",
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }


def _plain(number: int, labels: dict[str, str], spec: Document) -> None:
    pass


def _distinct(number: int, labels: dict[str, str], spec: Document) -> None:
    """Every pod has labels and requests of its own."""
    labels["pod"] = f"p{number}"
    spec["containers"] = [_container(f"{50 + number % 200}m", f"{64 + number % 300}Mi")]


def _spread(number: int, labels: dict[str, str], spec: Document) -> None:
    spec["topologySpreadConstraints"] = [
        {
            "maxSkew": 5,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": labels["app"]}},
        }
    ]


def _affinity(number: int, labels: dict[str, str], spec: Document) -> None:
    spec["affinity"] = {"podAffinity": {_REQUIRED: [_term(labels, ZONE)]}}


def _anti_affinity(number: int, labels: dict[str, str], spec: Document) -> None:
    spec["affinity"] = {"podAntiAffinity": {_REQUIRED: [_term(labels, HOSTNAME)]}}


def _preferred_affinity(number: int, labels: dict[str, str], spec: Document) -> None:
    term = {"weight": 10, "podAffinityTerm": _term(labels, ZONE)}
    spec["affinity"] = {"podAffinity": {_PREFERRED: [term]}}


def _node_affinity(number: int, labels: dict[str, str], spec: Document) -> None:
    expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
    spec["affinity"] = {
        "nodeAffinity": {
            _REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]},
            _PREFERRED: [
                {
                    "weight": 5,
                    "preference": {
                        "matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-1"]}]
                    },
                }
            ],
        }
    }


def _claims(number: int, labels: dict[str, str], spec: Document) -> None:
    """Every pod has a claim for one device."""
    spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
    spec["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]


def _gangs(number: int, labels: dict[str, str], spec: Document) -> None:
    """Every pod is a member of a gang of 2 to 16; `make_pod_groups` makes their groups."""
    from moorage.contrib.objects import GROUP_LABEL
    from moorage.what_if.gang_workloads import gang_of_pod

    labels[GROUP_LABEL] = gang_of_pod(number)
    spec["containers"] = [_container("2", "4Gi")]


def _term(labels: dict[str, str], topology_key: str) -> Document:
    return {"topologyKey": topology_key, "labelSelector": {"matchLabels": {"app": labels["app"]}}}


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

WORKLOADS: dict[str, Callable[[int, dict[str, str], Document], None]] = {
    "plain": _plain,
    "distinct": _distinct,
    "spread": _spread,
    "affinity": _affinity,
    "antiaffinity": _anti_affinity,
    "prefaffinity": _preferred_affinity,
    "nodeaffinity": _node_affinity,
    "claims": _claims,
    "gangs": _gangs,
}
"""What `--workload` takes."""
