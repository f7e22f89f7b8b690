"""The cells of workloads and services, as kube-apiserver v1.36 shows them for the same objects."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.serving.tables.builtin import columns_of
from moorage.cluster.serving.tables.durations import seconds_since_epoch

NOW = seconds_since_epoch("2026-11-15T23:15:00Z") or 0.0
CREATED = "2026-11-15T23:14:40Z"
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web", "a-b": "1", "a": "2"}},
    "spec": {"containers": [{"name": "a", "image": "nginx:1"}, {"name": "b", "image": "redis"}]},
}
SELECTOR = {"matchLabels": {"app": "web", "a-b": "1", "a": "2"}}
PLACED = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"disk": "ssd", "a": "b"}}}
MIXED_SELECTOR = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [
        {"key": "app", "operator": "In", "values": ["web", "b"]},
        {"key": "a", "operator": "NotIn", "values": ["z", "y"]},
        {"key": "a-b", "operator": "Exists"},
        {"key": "q", "operator": "DoesNotExist"},
    ],
}


def named(name: str, metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": CREATED, **(metadata or {})}, **fields}


def service(name: str, status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    return named(name, spec={"type": "ClusterIP", **spec}, status=status or {})


CELLS: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("podtemplates", named("pt", template=TEMPLATE), ["pt", "a,b", "nginx:1,redis", "a-b=1,a=2,app=web"]),
    (
        "podtemplates",
        named("pt2", template={"spec": TEMPLATE["spec"]}),
        ["pt2", "a,b", "nginx:1,redis", "<none>"],
    ),
    (
        "replicationcontrollers",
        named(
            "rc",
            spec={"replicas": 3, "selector": {"app": "web"}, "template": TEMPLATE},
            status={"replicas": 2, "readyReplicas": 1},
        ),
        ["rc", 3, 2, 1, "20s", "a,b", "nginx:1,redis", "app=web"],
    ),
    (
        "replicasets.apps",
        named(
            "rs",
            spec={"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
            status={"replicas": 2, "readyReplicas": 1},
        ),
        ["rs", 3, 2, 1, "20s", "a,b", "nginx:1,redis", "a=2,a-b=1,app=web"],
    ),
    (
        "replicasets.apps",
        named("rs2", spec={"replicas": 0, "selector": MIXED_SELECTOR, "template": TEMPLATE}),
        [
            *("rs2", 0, 0, 0, "20s", "a,b", "nginx:1,redis"),
            "a notin (y,z),a-b,app=web,app in (b,web),!q",
        ],
    ),
    (
        "deployments.apps",
        named(
            "d",
            spec={"replicas": 3, "selector": SELECTOR, "template": TEMPLATE},
            status={"replicas": 3, "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        ),
        ["d", "1/3", 2, 1, "20s", "a,b", "nginx:1,redis", "a=2,a-b=1,app=web"],
    ),
    (
        "statefulsets.apps",
        named("s", spec={"replicas": 3, "template": TEMPLATE}, status={"replicas": 3, "readyReplicas": 1}),
        ["s", "1/3", "20s", "a,b", "nginx:1,redis"],
    ),
    (
        "daemonsets.apps",
        named(
            "ds",
            spec={"selector": SELECTOR, "template": PLACED},
            status={
                "desiredNumberScheduled": 5,
                "currentNumberScheduled": 4,
                "numberReady": 3,
                "updatedNumberScheduled": 2,
                "numberAvailable": 1,
            },
        ),
        ["ds", 5, 4, 3, 2, 1, "a=b,disk=ssd", "20s", "a,b", "nginx:1,redis", "a=2,a-b=1,app=web"],
    ),
    (
        "daemonsets.apps",
        named("ds2", spec={"selector": SELECTOR, "template": TEMPLATE}),
        ["ds2", 0, 0, 0, 0, 0, "<none>", "20s", "a,b", "nginx:1,redis", "a=2,a-b=1,app=web"],
    ),
    (
        "controllerrevisions.apps",
        named(
            "cr",
            {
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": "n"},
                    {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True},
                ]
            },
            revision=7,
        ),
        ["cr", "statefulset.apps/s", 7, "20s"],
    ),
    ("controllerrevisions.apps", named("cr2", revision=1), ["cr2", "<none>", 1, "20s"]),
    (
        "poddisruptionbudgets.policy",
        named("pdb", spec={"minAvailable": 0}, status={"disruptionsAllowed": 2}),
        ["pdb", "0", "N/A", 2, "20s"],
    ),
    (
        "poddisruptionbudgets.policy",
        named("pdb2", spec={"maxUnavailable": "30%"}),
        ["pdb2", "N/A", "30%", 0, "20s"],
    ),
    (
        "services",
        service(
            "svc",
            clusterIPs=["10.0.0.200"],
            selector={"a": "b", "c": "d"},
            ports=[{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}],
            externalIPs=["1.2.3.4"],
        ),
        ["svc", "ClusterIP", "10.0.0.200", "1.2.3.4", "80/TCP,53/UDP", "20s", "a=b,c=d"],
    ),
    (
        "services",
        service("headless", clusterIPs=["None"], selector={"a": "b"}),
        ["headless", "ClusterIP", "None", "<none>", "<none>", "20s", "a=b"],
    ),
    (
        "services",
        service(
            "np",
            type="NodePort",
            clusterIPs=["10.0.0.119"],
            ports=[{"port": 80, "nodePort": 32092, "protocol": "TCP"}],
        ),
        ["np", "NodePort", "10.0.0.119", "<none>", "80:32092/TCP", "20s", "<none>"],
    ),
    (
        "services",
        service(
            "lb",
            {
                "loadBalancer": {
                    "ingress": [
                        {"ip": "9.9.9.9"},
                        {"hostname": "a-very-long-name.example.com"},
                        {"ip": "8.8.8.8"},
                        {"ip": "9.9.9.9"},
                    ]
                }
            },
            type="LoadBalancer",
            clusterIPs=["10.0.0.78"],
            externalIPs=["1.2.3.4"],
            ports=[{"port": 80, "nodePort": 32031, "protocol": "TCP"}],
        ),
        [
            *("lb", "LoadBalancer", "10.0.0.78"),
            *("8.8.8.8,9.9.9.9,a-very-long-name.example.com,1.2.3.4", "80:32031/TCP", "20s", "<none>"),
        ],
    ),
    (
        "services",
        service("lb2", type="LoadBalancer", clusterIPs=["10.0.0.230"]),
        ["lb2", "LoadBalancer", "10.0.0.230", "<pending>", "<none>", "20s", "<none>"],
    ),
    (
        "services",
        service("ext", type="ExternalName", externalName="example.com"),
        ["ext", "ExternalName", "<none>", "example.com", "<none>", "20s", "<none>"],
    ),
    (
        "endpoints",
        named(
            "e1",
            subsets=[
                {"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [{"port": 80}, {"port": 81}]}
            ],
        ),
        ["e1", "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...", "20s"],
    ),
    (
        "endpoints",
        named("e2", subsets=[{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}]),
        ["e2", "[fd00::1]:80", "20s"],
    ),
    ("endpoints", named("e3"), ["e3", "<none>", "20s"]),
    (
        "endpoints",
        named("e4", subsets=[{"addresses": [{"ip": f"10.0.0.{i}"} for i in (1, 2, 3, 4)]}]),
        ["e4", "10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...", "20s"],
    ),
    (
        "endpoints",
        named("e5", subsets=[{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]),
        ["e5", "", "20s"],
    ),
    (
        "endpointslices.discovery.k8s.io",
        named(
            "es1",
            addressType="IPv4",
            endpoints=[{"addresses": [f"10.0.0.{i}"]} for i in (1, 2, 3, 4)],
            ports=[{"name": "", "port": 80}, {"name": "n"}, {}],
        ),
        ["es1", "IPv4", "80,n,*", "10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...", "20s"],
    ),
    (
        "endpointslices.discovery.k8s.io",
        named("es2", addressType="IPv4"),
        ["es2", "IPv4", "<unset>", "<unset>", "20s"],
    ),
    (
        "scales.autoscaling",
        named("d", spec={"replicas": 3}, status={"replicas": 2}),
        ["d", 3, 2, "20s"],
    ),
]


@pytest.mark.parametrize(
    ("storage", "document", "cells"), CELLS, ids=[f"{row[0]}-{row[1]['metadata']['name']}" for row in CELLS]
)
def test_cells(storage: str, document: dict[str, Any], cells: list[Any]) -> None:
    columns = columns_of(storage)

    found = columns.cells(document, NOW)

    assert found == cells
    assert [type(cell) for cell in found] == [type(cell) for cell in cells]
    assert len(found) == len(columns.columns)
