from __future__ import annotations

import pytest

from moorage.framework.events import (
    ASSIGNED_POD,
    CSI_NODE,
    EVERYTHING,
    NODE,
    POD,
    RESOURCE_SLICE,
    UNSCHEDULABLE_POD,
    UNSCHEDULABLE_TIMEOUT,
    VOLUME_ATTACHMENT,
    WILDCARD,
    Action,
    ClusterEvent,
    is_watchable,
    with_implied,
)

ADD, DELETE, UPDATE, ALL = Action.ADD, Action.DELETE, Action.UPDATE, Action.ALL
LABEL, TAINT = Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_TAINT


def test_the_bits_of_the_actions() -> None:
    assert [int(action) for action in Action] == [1 << bit for bit in range(13)]
    assert (int(UPDATE), int(ALL)) == (8188, 8191)
    assert sum(1 << bit for bit in range(2, 13)) == UPDATE


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ClusterEvent(NODE, ADD), "NodeAdd"),
        (ClusterEvent(ASSIGNED_POD, DELETE), "AssignedPodDelete"),
        (ClusterEvent(UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL), "UnschedulablePodUpdatePodLabel"),
        (ClusterEvent(CSI_NODE, UPDATE), "storage.k8s.io/CSINodeUpdate"),
        (UNSCHEDULABLE_TIMEOUT, "UnschedulableTimeout"),
    ],
)
def test_labels(event: ClusterEvent, label: str) -> None:
    assert event.label == label


@pytest.mark.parametrize(
    ("registered", "happened", "matches"),
    [
        # The same resource, the bits and their numeric order decide.
        ((NODE, ADD), (NODE, ADD), True),
        ((NODE, ADD), (NODE, DELETE), False),
        ((NODE, ADD | LABEL), (NODE, LABEL), True),
        ((NODE, LABEL), (NODE, TAINT), False),
        ((NODE, UPDATE), (NODE, TAINT), True),
        ((NODE, ADD | UPDATE), (NODE, TAINT), True),
        ((NODE, ALL), (NODE, TAINT), True),
        ((NODE, LABEL), (NODE, UPDATE), False),
        ((NODE, UPDATE), (NODE, UPDATE), True),
        ((NODE, UPDATE), (NODE, ALL), False),
        # Other resources.
        ((NODE, ALL), (POD, ADD), False),
        ((POD, ADD), (ASSIGNED_POD, ADD), True),
        ((POD, UPDATE), (UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL), True),
        ((ASSIGNED_POD, ADD), (POD, ADD), False),
        ((ASSIGNED_POD, ADD), (UNSCHEDULABLE_POD, ADD), False),
        ((NODE, ADD), (ASSIGNED_POD, ADD), False),
        # Wildcards.
        ((WILDCARD, ALL), (NODE, ADD), True),
        ((WILDCARD, ALL), (WILDCARD, ALL), True),
        ((WILDCARD, ADD), (NODE, ADD), True),
        ((WILDCARD, ADD), (NODE, DELETE), False),
        ((NODE, ALL), (WILDCARD, ALL), False),
        ((WILDCARD, UPDATE), (WILDCARD, ALL), False),
    ],
)
def test_which_registration_covers_which_event(
    registered: tuple[str, Action], happened: tuple[str, Action], matches: bool
) -> None:
    assert ClusterEvent(*registered).covers(ClusterEvent(*happened)) is matches


def test_everything_leaves_out_resource_slices_and_volume_attachments() -> None:
    resources = [event.resource for event in EVERYTHING]
    assert len(resources) == 10
    assert RESOURCE_SLICE not in resources
    assert VOLUME_ATTACHMENT not in resources
    assert all(event.action is ALL and event.hint is None for event in EVERYTHING)


@pytest.mark.parametrize(
    ("actions", "implied"),
    [
        ([ADD], True),
        ([ADD | LABEL], True),
        ([ADD, LABEL], True),
        ([ADD | TAINT], False),
        ([ADD, TAINT], False),
        ([ALL], False),
        ([LABEL], False),
        ([], False),
    ],
)
def test_node_add_implies_the_taint_update(actions: list[Action], implied: bool) -> None:
    events = [ClusterEvent(NODE, action) for action in actions]
    assert with_implied(events) == [*events, *([ClusterEvent(NODE, TAINT)] if implied else [])]


def test_adding_something_else_implies_nothing() -> None:
    assert with_implied([ClusterEvent(POD, ADD)]) == [ClusterEvent(POD, ADD)]


@pytest.mark.parametrize(
    ("resource", "watchable"),
    [
        (NODE, True),
        (CSI_NODE, True),
        (WILDCARD, True),
        ("clusterscopedresources.v1alpha1.scheduling.sigs.k8s.io", True),
        ("foos.v1.example", True),
        ("foos.v1", False),
        ("Foo", False),
        ("", False),
    ],
)
def test_a_custom_resource_is_named_with_at_least_two_dots(resource: str, watchable: bool) -> None:
    assert is_watchable(resource) is watchable
