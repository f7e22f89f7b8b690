from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from moorage.framework.events import WATCHABLE, Action, ClusterEvent, Hint
from moorage.framework.loading.event_checks import event_mistakes
from moorage.framework.loading.registry import PluginLoadError
from moorage.plugins.catalog import in_tree_registry
from tests.framework.scripted import Filters, World, plugin


def hint(pod: object, old: object, new: object) -> Hint:
    return Hint.QUEUE


async def late(pod: object, old: object, new: object) -> Hint:
    return Hint.QUEUE


CUSTOM = "those that are not built in are named plural.version.group, as in prices.v1.example.com"
ACTION = "use moorage.Action, as in Action.ADD | Action.DELETE"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (ClusterEvent("Nodes", Action.ADD), 'events has the unknown resource "Nodes"; did you mean "Node"?'),
        (ClusterEvent("node", Action.ADD), 'events has the unknown resource "node"; did you mean "Node"?'),
        (ClusterEvent("pods", Action.ADD), 'events has the unknown resource "pods"; did you mean "Pod"?'),
        (
            ClusterEvent("StorageClass", Action.ADD),
            'events has the unknown resource "StorageClass"; did you mean "storage.k8s.io/StorageClass"?',
        ),
        (
            ClusterEvent("persistentvolumeclaims", Action.ADD),
            'events has the unknown resource "persistentvolumeclaims"; did you mean "PersistentVolumeClaim"?',
        ),
        (ClusterEvent("prices.v1", Action.ADD), f'events has the unknown resource "prices.v1"; {CUSTOM}'),
        (ClusterEvent("Deployment", Action.ADD), f'events has the unknown resource "Deployment"; {CUSTOM}'),
        (ClusterEvent(7, Action.ADD), f'events has the unknown resource "7"; {CUSTOM}'),  # type: ignore[arg-type]
        (ClusterEvent("Node", "ADD"), f"events has for Node the action 'ADD'; {ACTION}"),  # type: ignore[arg-type]
        (ClusterEvent("Node", Action(0)), f"events has for Node the action <Action: 0>; {ACTION}"),
        (
            ClusterEvent("Pod", Action.UPDATE_NODE_LABEL),
            "events has for Pod an action that never happens there; "
            "what happens is Action.ADD, Action.DELETE, Action.UPDATE and all of Action.UPDATE_POD_*",
        ),
        (
            ClusterEvent("prices.v1.example.com", Action.UPDATE_POD_LABEL),
            "events has for prices.v1.example.com an action that never happens there; "
            "what happens is Action.ADD, Action.DELETE, Action.UPDATE",
        ),
        (
            ClusterEvent("Node", Action.ADD, lambda pod, new: Hint.QUEUE),  # type: ignore[misc,arg-type]
            "events has for Node a hint that takes (pod, new) and is called with (pod, old, new)",
        ),
        (
            ClusterEvent("Node", Action.ADD, Hint.QUEUE),  # type: ignore[arg-type]
            "events has for Node a hint that cannot be called: Hint; give a function (pod, old, new)",
        ),
        (
            ClusterEvent("Node", Action.ADD, late),  # type: ignore[arg-type]
            "events has for Node a hint that is async and must answer at once",
        ),
    ],
)
def test_a_mistake_is_told_with_the_remedy(event: ClusterEvent, said: str) -> None:
    assert list(event_mistakes([event])) == [said]


@pytest.mark.parametrize(
    "event",
    [
        *(
            ClusterEvent(resource, Action(action))
            for resource in sorted(WATCHABLE)
            for action in (1, 2, 3, 8188, 8191)
        ),
        ClusterEvent("prices.v1.example.com", Action.ADD | Action.UPDATE, hint),
        ClusterEvent("Node", Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT),
        ClusterEvent("Pod", Action.UPDATE_POD_LABEL),
        ClusterEvent("Node", Action.ADD, lambda *about: Hint.QUEUE),
    ],
)
def test_what_can_happen_is_taken(event: ClusterEvent) -> None:
    assert list(event_mistakes([event])) == []


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (7, "events returned int 7, use a list of ClusterEvent"),
        ("Node", "events returned str 'Node', use a list of ClusterEvent"),
        (ClusterEvent("Node", Action.ADD), "events returned ClusterEvent ClusterEvent(resource='Node'"),
        ([Action.ADD], "events returned <Action.ADD: 1>, use a list of ClusterEvent"),
    ],
)
def test_events_is_a_list(events: Any, said: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        World(plugin(Filters, "A", events=lambda self: events))
    assert str(caught.value).startswith(f'initializing plugin "A": {said}')
    assert "(test_event_checks.py:" in str(caught.value)


def test_all_mistakes_have_the_name_and_the_place() -> None:
    def events(self: Filters) -> Sequence[ClusterEvent]:
        return [ClusterEvent("Nodes", Action.ADD), ClusterEvent("Pods", Action.ADD)]

    with pytest.raises(PluginLoadError) as caught:
        World(plugin(Filters, "A", events=events))
    place = f"(test_event_checks.py:{events.__code__.co_firstlineno})"
    assert str(caught.value).splitlines() == [
        f'initializing plugin "A": events has the unknown resource "{given}s"; '
        f'did you mean "{given}"? {place}'
        for given in ("Node", "Pod")
    ]


def test_the_in_tree_plugins_wait_for_what_happens() -> None:
    made = [entry.load() for entry in in_tree_registry()]
    found: list[str] = []
    for each in made:
        if "events" in vars(each) and each.args_type is None:
            listed = each.events(each.__new__(each))
            found += event_mistakes(listed or ())
    assert found == []
