"""Which events give a pod that affinity kept out another try."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.events import ASSIGNED_POD, NODE, POD, UNSCHEDULABLE_POD, Action, Hint
from moorage.testing import make_node
from tests.plugins.affinity_cases import ZONE, Document, pod_with, term, zones
from tests.plugins.helpers import hint, registered


def ask(pod: Pod, action: Action, old: Any = None, new: Any = None, resource: str = ASSIGNED_POD) -> Hint:
    return hint(zones(), resource, action, pod, old, new)


def placed_pod(app: str = "a", **rest: Any) -> Pod:
    return pod_with(app=app, **{"name": "other", "node": "n", **rest})


def test_registered_events() -> None:
    assert registered(zones()) == [
        (POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE, True),
        (NODE, Action.ADD | Action.UPDATE_NODE_LABEL, True),
    ]


NOMINATED: Document = {"nominatedNodeName": "n"}


@pytest.mark.parametrize(
    ("pod", "added", "queue"),
    [
        (pod_with(near=[term()]), placed_pod(), True),
        (pod_with(near=[term()]), placed_pod("b"), False),
        (pod_with(near=[term(), term("b")]), placed_pod(), False),
        (pod_with(near=[term()]), placed_pod(node=""), False),
        (pod_with(near=[term()]), placed_pod(node="", status=NOMINATED), True),
        (pod_with(near=[term()]), placed_pod(namespace="blue"), False),
        (pod_with(near=[term(namespaceSelector={"matchLabels": {"c": "b"}})]), placed_pod(), False),
        (pod_with(near=[term(namespaceSelector={})]), placed_pod(namespace="blue"), True),
        (pod_with(far=[term()]), placed_pod(), False),
        (pod_with(), placed_pod(), False),
    ],
)
def test_hints_for_added_pods(pod: Pod, added: Pod, queue: bool) -> None:
    assert ask(pod, Action.ADD, None, added) is (Hint.QUEUE if queue else Hint.SKIP)


@pytest.mark.parametrize(
    ("pod", "deleted", "queue"),
    [
        (pod_with(far=[term()]), placed_pod(), True),
        (pod_with(far=[term()]), placed_pod("b"), False),
        (pod_with(far=[term(), term("b")]), placed_pod(), False),
        (pod_with(app="in"), placed_pod(far=[term("in")]), True),
        (pod_with(app="in"), placed_pod(far=[term("in"), term("b")]), False),
        (pod_with(app="in", namespace="blue"), placed_pod(far=[term("in")]), False),
        (pod_with(far=[term()]), placed_pod(node=""), False),
        (pod_with(far=[term()]), placed_pod(node="", status=NOMINATED), True),
        (pod_with(near=[term()]), placed_pod(), False),
    ],
)
def test_hints_for_deleted_pods(pod: Pod, deleted: Pod, queue: bool) -> None:
    assert ask(pod, Action.DELETE, deleted, None) is (Hint.QUEUE if queue else Hint.SKIP)


@pytest.mark.parametrize(
    ("pod", "old", "new", "queue"),
    [
        (pod_with(near=[term()]), placed_pod("b"), placed_pod(), True),
        (pod_with(near=[term()]), placed_pod(), placed_pod("b"), False),
        (pod_with(far=[term()]), placed_pod(), placed_pod("b"), True),
        (pod_with(far=[term()]), placed_pod("b"), placed_pod(), False),
        (pod_with(far=[term(), term("c")]), placed_pod(), placed_pod("b"), False),
        (pod_with(near=[term()]), placed_pod("b", node=""), placed_pod(node=""), False),
        (pod_with(near=[term()]), placed_pod("b", node=""), placed_pod(node="", status=NOMINATED), False),
        (pod_with(near=[term()]), placed_pod("b", node="", status=NOMINATED), placed_pod(node=""), False),
    ],
)
def test_hints_for_pods_whose_labels_change(pod: Pod, old: Pod, new: Pod, queue: bool) -> None:
    assert ask(pod, Action.UPDATE_POD_LABEL, old, new) is (Hint.QUEUE if queue else Hint.SKIP)


def test_hint_for_a_label_of_ones_own() -> None:
    pod, newer = pod_with(far=[term()]), pod_with(app="x", far=[term()])
    assert ask(pod, Action.UPDATE_POD_LABEL, pod, newer, UNSCHEDULABLE_POD) is Hint.QUEUE


ZONED, OTHER_ZONE, BARE = (make_node("n", labels=labels) for labels in ({ZONE: "1"}, {ZONE: "2"}, {}))


@pytest.mark.parametrize(
    ("pod", "old", "new", "queue"),
    [
        (pod_with(near=[term()]), None, ZONED, True),
        (pod_with(near=[term()]), None, BARE, False),
        (pod_with(near=[term()]), BARE, ZONED, True),
        (pod_with(near=[term()]), ZONED, OTHER_ZONE, True),
        (pod_with(near=[term()]), ZONED, BARE, False),
        (pod_with(near=[term()]), ZONED, ZONED, False),
        (pod_with(far=[term()]), None, ZONED, True),
        (pod_with(far=[term()]), None, BARE, True),
        (pod_with(far=[term()]), ZONED, BARE, True),
        (pod_with(far=[term()]), ZONED, OTHER_ZONE, True),
        (pod_with(far=[term()]), BARE, ZONED, False),
        (pod_with(far=[term()]), ZONED, ZONED, False),
        (pod_with(), None, ZONED, False),
        (pod_with(prefer=[(1, term())]), None, ZONED, False),
    ],
)
def test_hints_for_nodes(pod: Pod, old: Node | None, new: Node, queue: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE_NODE_LABEL
    assert ask(pod, action, old, new, NODE) is (Hint.QUEUE if queue else Hint.SKIP)
