from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.catalog import STRATEGIES
from tests.cluster.objects.admission.test_cluster_admission import Cluster, pod

GVISOR: Document = {
    "handler": "runsc",
    "overhead": {"podFixed": {"cpu": "100m", "memory": "64Mi"}},
    "scheduling": {
        "nodeSelector": {"runtime": "gvisor"},
        "tolerations": [{"key": "sandbox", "operator": "Exists", "effect": "NoSchedule"}],
    },
}


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.put("runtimeclasses.node.k8s.io", "", "gvisor", **GVISOR)
    cluster.put("runtimeclasses.node.k8s.io", "", "plain", handler="runc")
    return cluster


def test_a_pod_gets_what_its_class_needs(cluster: Cluster) -> None:
    spec = cluster.create("pods", pod(runtimeClassName="gvisor", nodeSelector={"disk": "ssd"}))["spec"]

    assert spec["overhead"] == {"cpu": "100m", "memory": "64Mi"}
    assert spec["nodeSelector"] == {"disk": "ssd", "runtime": "gvisor"}
    assert [toleration["key"] for toleration in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "sandbox",
    ]


def test_a_class_need_not_add_anything(cluster: Cluster) -> None:
    spec = cluster.create("pods", pod(runtimeClassName="plain"))["spec"]

    assert "overhead" not in spec
    assert "nodeSelector" not in spec


def test_the_same_overhead_may_be_given(cluster: Cluster) -> None:
    own = {"memory": "64Mi", "cpu": "100m"}

    spec = cluster.create("pods", pod(runtimeClassName="gvisor", overhead=own))["spec"]

    assert spec["overhead"] == own


@pytest.mark.parametrize(
    "own",
    [{"operator": "Exists"}, {"key": "sandbox", "operator": "Exists"}],
    ids=["everything", "every effect"],
)
def test_what_is_tolerated_already_is_not_added(cluster: Cluster, own: Document) -> None:
    spec = cluster.create("pods", pod(runtimeClassName="gvisor", tolerations=[own]))["spec"]

    assert spec["tolerations"][0] == own
    assert not [each for each in spec["tolerations"] if each.get("effect") == "NoSchedule"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        (
            {"runtimeClassName": "gvisor", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "plain", "overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
        (
            {"runtimeClassName": "gvisor", "nodeSelector": {"runtime": "kata"}},
            "conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; "
            "pod.spec.nodeSelector[runtime] = kata",
        ),
    ],
)
def test_a_pod_may_not_contradict_its_class(cluster: Cluster, spec: Document, why: str) -> None:
    assert cluster.refusal("pods", pod(**spec)).message == f'pods "p" is forbidden: {why}'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"overhead": {"podFixed": {"cpu": "-1"}}},
            'overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"scheduling": {"tolerations": [{"operator": "Exists", "effect": "Never"}]}},
            'scheduling.tolerations[0].effect: Unsupported value: "Never": '
            'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        ),
    ],
)
def test_what_a_class_adds_has_rules_too(fields: dict[str, Any], message: str) -> None:
    document = {"metadata": {"name": "bad"}, "handler": "runc", **fields}

    causes = STRATEGIES["runtimeclasses.node.k8s.io"].validate(document)

    assert [f"{cause.field}: {cause.message}" for cause in causes] == [message]
