"""What is special about pods beside what the recordings show."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.pods.pods import PodStrategy, default_pull_policy
from moorage.cluster.kinds.pods.resources import quality_class

PODS = PodStrategy()


def pod(**spec: Any) -> Document:
    document: Document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "c", "image": "nginx", "resources": {}}], **spec},
    }
    PODS.default(document)
    PODS.prepare_create(document)
    return document


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("example.com/nginx@sha256:" + "a" * 64, "IfNotPresent"),
        ("example.com/nginx:latest@sha256:" + "a" * 64, "Always"),
        ("Not An Image", "IfNotPresent"),
        ("", "IfNotPresent"),
    ],
)
def test_pull_policy_by_tag(image: str, policy: str) -> None:
    assert default_pull_policy(image) == policy


@pytest.mark.parametrize(
    ("resources", "found"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "0"}}, "BestEffort"),
        ({"requests": {"example.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        (
            {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}},
            "Guaranteed",
        ),
        ({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}, "Burstable"),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_quality_class(resources: Document, found: str) -> None:
    assert quality_class({"containers": [{"resources": resources}]}) == found


def test_quality_class_of_a_whole_pod() -> None:
    both = {"cpu": "1", "memory": "1Gi"}
    containers: list[Document] = [{"resources": {}}]
    assert quality_class({"containers": containers, "resources": {"requests": both}}) == "Burstable"
    whole = {"requests": both, "limits": both}
    assert quality_class({"containers": containers, "resources": whole}) == "Guaranteed"


def test_a_gated_pod_says_so() -> None:
    assert pod(schedulingGates=[{"name": "example.com/wait"}])["status"] == {
        "phase": "Pending",
        "qosClass": "BestEffort",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ],
    }


def test_selectable_fields() -> None:
    document = pod(nodeName="n1", hostNetwork=True)
    document["status"]["podIP"] = "10.0.0.1"
    assert PODS.selectable_fields(document) == {
        "spec.nodeName": "n1",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    }


def test_rules_of_creation_are_not_those_of_updates() -> None:
    document = pod(ephemeralContainers=[{"name": "debug", "image": "busybox", "resources": {}}])
    assert [str(cause) for cause in PODS.validate(document)] == [
        "spec.ephemeralContainers: Forbidden: cannot be set on create"
    ]
    document["metadata"]["resourceVersion"] = "5"
    assert list(PODS.validate(document)) == []


def test_a_forbidden_change_is_shown() -> None:
    old, new = pod(), pod(hostNetwork=True)
    (cause,) = PODS.validate_update(new, old)
    assert cause.message == (
        "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
        "@@ -11,6 +11,7 @@\n"
        "  ],\n"
        '  "dnsPolicy": "ClusterFirst",\n'
        '  "enableServiceLinks": true,\n'
        '+ "hostNetwork": true,\n'
        '  "restartPolicy": "Always",\n'
        '  "schedulerName": "default-scheduler",\n'
        '  "securityContext": {},\n'
    )
