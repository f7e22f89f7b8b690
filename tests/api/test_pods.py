from __future__ import annotations

from typing import Any

import pytest

from moorage.api import decoding
from moorage.api.pods import (
    Condition,
    Container,
    ContainerPort,
    NodeAffinity,
    Pod,
    PodAffinityTerm,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    parse_preferred,
    restartable,
)
from moorage.api.selectors import LabelSelector, NodeSelectorTerm, Requirement, SelectorError
from tests.api.complete import METADATA, assert_complete

SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}]}
NODE_TERM = {
    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}],
}
AFFINITY_TERM = {
    "topologyKey": "zone",
    "labelSelector": SELECTOR,
    "namespaces": ["shop"],
    "namespaceSelector": SELECTOR,
}
POD_AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": [AFFINITY_TERM],
    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": AFFINITY_TERM}],
}
RESOURCES = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}
CONTAINER = {
    "name": "c",
    "image": "i",
    "resources": RESOURCES,
    "ports": [{"containerPort": 80, "hostPort": 81, "hostIP": "10.0.0.1", "protocol": "UDP"}],
    "restartPolicy": "Always",
    "restartPolicyRules": [{"action": "Restart"}],
}
STATUS = {"name": "c", "resources": RESOURCES, "allocatedResources": {"cpu": "1"}}


def test_every_field() -> None:
    assert_complete(
        Pod,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": METADATA,
            "spec": {
                "nodeName": "n",
                "schedulerName": "special",
                "priority": 5,
                "priorityClassName": "high",
                "preemptionPolicy": "Never",
                "containers": [CONTAINER],
                "initContainers": [CONTAINER],
                "overhead": {"cpu": "1"},
                "resources": RESOURCES,
                "nodeSelector": {"disk": "ssd"},
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [NODE_TERM]},
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 5, "preference": NODE_TERM}
                        ],
                    },
                    "podAffinity": POD_AFFINITY,
                    "podAntiAffinity": POD_AFFINITY,
                },
                "tolerations": [
                    {
                        "key": "k",
                        "operator": "Equal",
                        "value": "v",
                        "effect": "NoExecute",
                        "tolerationSeconds": 5,
                    }
                ],
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": SELECTOR,
                        "minDomains": 2,
                        "nodeAffinityPolicy": "Honor",
                        "nodeTaintsPolicy": "Ignore",
                        "matchLabelKeys": ["app"],
                    }
                ],
                "schedulingGates": [{"name": "gate"}],
                "volumes": [
                    {
                        "name": "v",
                        "persistentVolumeClaim": {"claimName": "claim", "readOnly": True},
                        "ephemeral": {"volumeClaimTemplate": {"spec": {}}},
                        "image": {"reference": "i"},
                        "gcePersistentDisk": {"pdName": "d"},
                        "awsElasticBlockStore": {"volumeID": "d"},
                        "azureDisk": {"diskName": "d"},
                        "azureFile": {"shareName": "d"},
                        "cinder": {"volumeID": "d"},
                        "vsphereVolume": {"volumePath": "d"},
                        "portworxVolume": {"volumeID": "d"},
                        "rbd": {"image": "d"},
                        "iscsi": {"iqn": "d"},
                        "csi": {"driver": "d"},
                    }
                ],
                "resourceClaims": [{"name": "r", "resourceClaimName": "s", "resourceClaimTemplateName": "t"}],
                "schedulingGroup": {"podGroupName": "g"},
                "hostNetwork": True,
                "hostUsers": True,
                "terminationGracePeriodSeconds": 30,
            },
            "status": {
                "phase": "Pending",
                "startTime": "2026-01-01T00:00:00Z",
                "nominatedNodeName": "n",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "full",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                        "observedGeneration": 2,
                    }
                ],
                "containerStatuses": [STATUS],
                "initContainerStatuses": [STATUS],
                "resources": RESOURCES,
                "allocatedResources": {"cpu": "1"},
                "resourceClaimStatuses": [{"name": "r", "resourceClaimName": "s"}],
            },
        },
    )


def test_defaults() -> None:
    pod = Pod()
    assert pod.spec.scheduler_name == "default-scheduler"
    assert pod.priority == 0
    assert Pod(spec=PodSpec(priority=-5)).priority == -5
    assert pod.host_ports == ()
    assert pod.requests == {}


@pytest.mark.parametrize(
    ("phase", "finished"),
    [
        ("", False),
        ("Pending", False),
        ("Running", False),
        ("Unknown", False),
        ("Succeeded", True),
        ("Failed", True),
    ],
)
def test_finished(phase: str, finished: bool) -> None:
    assert Pod(status=PodStatus(phase=phase)).finished is finished


def test_the_first_condition_of_a_type() -> None:
    first, second = Condition("Ready", "True"), Condition("Ready", "False")
    pod = Pod(status=PodStatus(conditions=(Condition("Other"), first, second)))
    assert pod.condition("Ready") is first
    assert pod.condition("Missing") is None


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("Always", True), ("", False), ("Never", False), ("OnFailure", False), ("always", False)],
)
def test_restartable(policy: str, expected: bool) -> None:
    assert restartable(Container(restart_policy=policy)) is expected


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({"hostPort": 80}, ("0.0.0.0", "TCP", 80)),
        ({"hostPort": 80, "hostIP": ""}, ("0.0.0.0", "TCP", 80)),
        ({"hostPort": 80, "hostIP": "0.0.0.0", "protocol": "TCP"}, ("0.0.0.0", "TCP", 80)),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, ("10.0.0.1", "TCP", 80)),
        ({"hostPort": 80, "hostIP": "::"}, ("::", "TCP", 80)),
        ({"hostPort": 80, "protocol": "UDP"}, ("0.0.0.0", "UDP", 80)),
        ({"hostPort": 80, "protocol": "SCTP", "containerPort": 81}, ("0.0.0.0", "SCTP", 80)),
        ({"containerPort": 80}, None),
        ({"containerPort": 80, "hostPort": 0}, None),
        ({"containerPort": 80, "hostPort": -1}, None),
        ({"containerPort": 80, "hostPort": None}, None),
    ],
)
def test_a_host_port(port: dict[str, Any], expected: tuple[str, str, int] | None) -> None:
    pod = decoding.from_document(Pod, {"spec": {"containers": [{"name": "c", "ports": [port]}]}})
    assert pod.host_ports == (() if expected is None else (expected,))


def test_host_ports_of_containers_and_sidecars_count() -> None:
    def container(port: int, policy: str = "") -> Container:
        return Container(ports=(ContainerPort(host_port=port),), restart_policy=policy)

    spec = PodSpec(
        containers=(container(1), container(2), container(2)),
        init_containers=(container(3), container(4, "Always"), container(5, "OnFailure")),
    )
    assert sorted(port for _, _, port in Pod(spec=spec).host_ports) == [1, 2, 2, 4]


def test_an_empty_node_selector_is_kept_apart_from_an_absent_one() -> None:
    assert decoding.decode(Pod, b'{"spec": {"nodeSelector": {}}}').spec.node_selector == {}
    assert decoding.decode(Pod, b'{"spec": {}}').spec.node_selector is None


def test_an_empty_affinity_is_kept_apart_from_an_absent_one() -> None:
    affinity = decoding.decode(Pod, b'{"spec": {"affinity": {"podAffinity": {}}}}').spec.affinity
    assert affinity is not None
    assert affinity.pod_affinity is not None
    assert affinity.pod_anti_affinity is None
    assert decoding.decode(Pod, b'{"spec": {}}').spec.affinity is None


def test_an_empty_label_selector_is_kept_apart_from_an_absent_one() -> None:
    source = b'{"spec": {"topologySpreadConstraints": [{"labelSelector": {}}, {}]}}'
    present, absent = decoding.decode(Pod, source).spec.topology_spread_constraints
    assert present.label_selector == LabelSelector()
    assert absent.label_selector is None


def test_terms_and_constraints_are_hashable_values() -> None:
    def selector() -> LabelSelector:
        return LabelSelector({"a": "b"}, (Requirement("c", "Exists"),))

    assert (
        len({PodAffinityTerm("zone", selector()), PodAffinityTerm("zone", selector()), PodAffinityTerm()})
        == 2
    )
    constraints = {TopologySpreadConstraint(1, "zone", label_selector=selector()) for _ in range(2)}
    assert len(constraints) == 1
    assert len({NodeAffinity(preferred=(PreferredSchedulingTerm(1),)) for _ in range(2)}) == 1


VALID = NodeSelectorTerm((Requirement("a", "Exists"),))
BY_FIELD = NodeSelectorTerm((), (Requirement("metadata.name", "In", ("n",)),))
INVALID = NodeSelectorTerm((Requirement("a", "Exists"), Requirement("b", "In")))
INVALID_FIELD = NodeSelectorTerm((), (Requirement("metadata.name", "In", ("n", "m")),))


def preferred(*terms: tuple[int, NodeSelectorTerm]) -> tuple[PreferredSchedulingTerm, ...]:
    return tuple(PreferredSchedulingTerm(weight, term) for weight, term in terms)


@pytest.mark.parametrize(
    ("terms", "counted"),
    [
        (preferred(), preferred()),
        (preferred((5, VALID), (7, BY_FIELD)), preferred((5, VALID), (7, BY_FIELD))),
        (preferred((0, VALID), (7, BY_FIELD)), preferred((7, BY_FIELD))),
        (preferred((5, NodeSelectorTerm()), (7, BY_FIELD)), preferred((7, BY_FIELD))),
        (preferred((0, INVALID), (0, INVALID_FIELD), (7, VALID)), preferred((7, VALID))),
        (preferred((0, NodeSelectorTerm())), preferred()),
        (preferred((-3, VALID)), preferred((-3, VALID))),
    ],
)
def test_preferred_terms_that_count(
    terms: tuple[PreferredSchedulingTerm, ...], counted: tuple[PreferredSchedulingTerm, ...]
) -> None:
    assert parse_preferred(terms) == counted


@pytest.mark.parametrize(
    ("invalid", "problem"), [(INVALID, "at least one value"), (INVALID_FIELD, "exactly one value")]
)
def test_one_invalid_preferred_term_spoils_all(invalid: NodeSelectorTerm, problem: str) -> None:
    with pytest.raises(SelectorError, match=problem):
        parse_preferred(preferred((5, VALID), (1, invalid), (7, BY_FIELD)))
