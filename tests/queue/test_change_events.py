from __future__ import annotations

from typing import Any

import pytest

from moorage.api.nodes import Node
from moorage.framework.events import ASSIGNED_POD, NODE, UNSCHEDULABLE_POD, Action, ClusterEvent
from moorage.queue import change_events as events
from moorage.testing.builders import make_node, make_pod


def node_actions(old: Node, new: Node) -> list[Action]:
    found = events.node_events(old, new)
    assert {event.resource for event in found} <= {NODE}
    return [event.action for event in found]


def conditions(**statuses: str) -> list[dict[str, str]]:
    return [{"type": name, "status": status} for name, status in statuses.items()]


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        ({}, {}, []),
        ({"unschedulable": True}, {}, [Action.UPDATE_NODE_TAINT]),
        ({}, {"unschedulable": True}, []),
        ({"cpu": "4"}, {"cpu": "5"}, [Action.UPDATE_NODE_ALLOCATABLE]),
        ({"cpu": "4"}, {"cpu": "4000m"}, []),
        ({}, {"allocatable": {"x.io/gpu": 1}}, [Action.UPDATE_NODE_ALLOCATABLE]),
        ({}, {"labels": {"a": "b"}}, [Action.UPDATE_NODE_LABEL]),
        ({"taints": ["a=b:NoSchedule"]}, {}, [Action.UPDATE_NODE_TAINT]),
        ({"conditions": conditions(Ready="True")}, {}, [Action.UPDATE_NODE_CONDITION]),
        (
            {"conditions": conditions(Ready="True")},
            {"conditions": conditions(Ready="False")},
            [Action.UPDATE_NODE_CONDITION],
        ),
        (
            {"conditions": [{"type": "Ready", "status": "True", "message": "a"}]},
            {"conditions": [{"type": "Ready", "status": "True", "message": "b"}]},
            [],
        ),
        (
            {"conditions": conditions(Ready="True", Full="False")},
            {"conditions": conditions(Full="False", Ready="True")},
            [],
        ),
        ({}, {"annotations": {"a": "b"}}, [Action.UPDATE_NODE_ANNOTATION]),
        ({}, {"declaredFeatures": ["X"]}, [Action.UPDATE_NODE_DECLARED_FEATURE]),
        ({}, {"images": {"a": 1}}, []),
        (
            {"unschedulable": True, "taints": ["a=b:NoSchedule"]},
            {
                "cpu": "9",
                "labels": {"a": "b"},
                "conditions": conditions(Ready="True"),
                "annotations": {"a": "b"},
                "declaredFeatures": ["X"],
            },
            [
                Action.UPDATE_NODE_TAINT,
                Action.UPDATE_NODE_ALLOCATABLE,
                Action.UPDATE_NODE_LABEL,
                Action.UPDATE_NODE_TAINT,
                Action.UPDATE_NODE_CONDITION,
                Action.UPDATE_NODE_ANNOTATION,
                Action.UPDATE_NODE_DECLARED_FEATURE,
            ],
        ),
    ],
)
def test_node_events(old: dict[str, Any], new: dict[str, Any], actions: list[Action]) -> None:
    assert node_actions(make_node(**old), make_node(**new)) == actions


def running_with(cpu: str, allocated: str | None = None) -> dict[str, Any]:
    """The status of a pod whose container runs with this much cpu."""
    container: dict[str, Any] = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    if allocated is not None:
        container["allocatedResources"] = {"cpu": allocated}
    return {"containerStatuses": [container]}


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        ({}, {}, [Action.UPDATE]),
        ({}, {"annotations": {"a": "b"}}, [Action.UPDATE]),
        ({}, {"labels": {"a": "b"}}, [Action.UPDATE_POD_LABEL]),
        ({"cpu": "2"}, {"cpu": "1"}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"cpu": "1"}, {"cpu": "2"}, [Action.UPDATE]),
        ({"cpu": "2"}, {"cpu": "2000m"}, [Action.UPDATE]),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1"}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Mi"}, [Action.UPDATE_POD_SCALE_DOWN]),
        ({"cpu": "1100u"}, {"cpu": "1001u"}, [Action.UPDATE]),
        # Asked for less, but the container still runs with what it had.
        ({"cpu": "2"}, {"cpu": "1", "status": running_with("2")}, [Action.UPDATE]),
        (
            {"cpu": "1", "status": running_with("2", "2")},
            {"cpu": "1", "status": running_with("1", "1")},
            [Action.UPDATE_POD_SCALE_DOWN],
        ),
        (
            {"schedulingGates": [{"name": "a"}]},
            {},
            [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED],
        ),
        (
            {"schedulingGates": [{"name": "a"}, {"name": "b"}]},
            {"schedulingGates": [{"name": "a"}]},
            [Action.UPDATE],
        ),
        ({}, {"tolerations": [{"operator": "Exists"}]}, [Action.UPDATE_POD_TOLERATION]),
        (
            {"tolerations": [{"operator": "Exists"}]},
            {"tolerations": [{"key": "a", "operator": "Exists"}]},
            [Action.UPDATE],
        ),
        (
            {},
            {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "b"}]}},
            [Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM],
        ),
        (
            {"cpu": "2", "schedulingGates": [{"name": "a"}]},
            {
                "cpu": "1",
                "labels": {"a": "b"},
                "tolerations": [{"operator": "Exists"}],
                "status": {"resourceClaimStatuses": [{"name": "a"}]},
            },
            [
                Action.UPDATE_POD_LABEL,
                Action.UPDATE_POD_SCALE_DOWN,
                Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                Action.UPDATE_POD_TOLERATION,
                Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            ],
        ),
    ],
)
@pytest.mark.parametrize("resource", [ASSIGNED_POD, UNSCHEDULABLE_POD])
def test_pod_events(resource: str, old: dict[str, Any], new: dict[str, Any], actions: list[Action]) -> None:
    found = events.pod_events(make_pod(**old), make_pod(**new), resource)
    assert [event.action for event in found] == actions
    assert {event.resource for event in found} == {resource}


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (events.NODE_ADD, "NodeAdd"),
        (events.NODE_DELETE, "NodeDelete"),
        (events.ASSIGNED_POD_ADD, "AssignedPodAdd"),
        (events.ASSIGNED_POD_UPDATE, "AssignedPodUpdate"),
        (events.ASSIGNED_POD_DELETE, "AssignedPodDelete"),
        (events.UNSCHEDULABLE_POD_ADD, "UnschedulablePodAdd"),
        (events.UNSCHEDULABLE_POD_UPDATE, "UnschedulablePodUpdate"),
        (events.UNSCHEDULABLE_POD_DELETE, "UnschedulablePodDelete"),
    ],
)
def test_labels(event: ClusterEvent, label: str) -> None:
    assert event.label == label
