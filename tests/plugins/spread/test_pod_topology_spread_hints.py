"""Which events give a pod that could not be spread another try."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.events import ASSIGNED_POD, NODE, POD, UNSCHEDULABLE_POD, Action, Hint
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, hint, registered
from tests.plugins.spread.spread_cases import RACK, ZONE, constraint, pod_with, spread


def placed_pod(name: str = "other", **rest: Any) -> Pod:
    return make_pod(name, **{"node": "n", "labels": {"app": "a"}, **rest})


def ask(pod: Pod, action: Action, old: Any = None, new: Any = None, resource: str = ASSIGNED_POD) -> Hint:
    return hint(spread(cluster()), resource, action, pod, old, new)


def test_registered_events() -> None:
    of_pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
    of_nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
    assert registered(spread(cluster())) == [(POD, of_pods, True), (NODE, of_nodes, True)]


@pytest.mark.parametrize(
    ("item", "queue"),
    [
        (placed_pod(), True),
        (placed_pod(labels={"app": "b"}), False),
        (placed_pod(namespace="other"), False),
        (make_pod("other", labels={"app": "a"}), False),
        (make_pod("other", labels={"app": "a"}, status={"nominatedNodeName": "n"}), True),
    ],
    ids=["match", "other app", "other namespace", "waiting", "nominated"],
)
def test_hints_for_added_and_deleted_pods(item: Pod, queue: bool) -> None:
    pod = pod_with(constraint())
    expected = Hint.QUEUE if queue else Hint.SKIP
    assert ask(pod, Action.ADD, None, item) is expected
    assert ask(pod, Action.DELETE, item, None) is expected


@pytest.mark.parametrize(
    ("old", "new", "queue"),
    [
        (placed_pod(), placed_pod(labels={"app": "b"}), True),
        (placed_pod(labels={"app": "b"}), placed_pod(), True),
        (placed_pod(), placed_pod(labels={"app": "a", "x": "y"}), False),
        (placed_pod(), placed_pod(), False),
        (placed_pod(labels={}, namespace="other"), placed_pod(namespace="other"), False),
        (make_pod("other"), placed_pod(), False),
    ],
    ids=["leaves", "joins", "still matches", "same labels", "other namespace", "was not placed"],
)
def test_hints_for_pods_whose_labels_change(old: Pod, new: Pod, queue: bool) -> None:
    found = ask(pod_with(constraint()), Action.UPDATE_POD_LABEL, old, new)
    assert found is (Hint.QUEUE if queue else Hint.SKIP)


@pytest.mark.parametrize(("policy", "queue"), [("Honor", True), ("Ignore", False)])
def test_hint_for_a_toleration_of_ones_own(policy: str, queue: bool) -> None:
    pod = pod_with(constraint(nodeTaintsPolicy=policy))
    newer = pod_with(constraint(nodeTaintsPolicy=policy), tolerations=[{"operator": "Exists"}])
    found = ask(pod, Action.UPDATE_POD_TOLERATION, pod, newer, UNSCHEDULABLE_POD)
    assert found is (Hint.QUEUE if queue else Hint.SKIP)
    somebody = placed_pod()
    tolerant = placed_pod(tolerations=[{"operator": "Exists"}])
    assert ask(pod, Action.UPDATE_POD_TOLERATION, somebody, tolerant) is Hint.SKIP


def test_hint_for_a_label_of_ones_own() -> None:
    pod, newer = pod_with(constraint()), pod_with(constraint(), labels={"app": "b"})
    assert ask(pod, Action.UPDATE_POD_LABEL, pod, newer, UNSCHEDULABLE_POD) is Hint.QUEUE


BOTH = pod_with(constraint(), constraint(RACK))


@pytest.mark.parametrize(
    ("old", "new", "queue"),
    [
        (None, make_node("n", labels={ZONE: "a", RACK: "1"}), True),
        (None, make_node("n", labels={ZONE: "a"}), False),
        (make_node("n", labels={ZONE: "a", RACK: "1"}), None, True),
        (make_node("n", labels={ZONE: "a"}), None, False),
        (make_node("n", labels={ZONE: "a"}), make_node("n", labels={ZONE: "a", RACK: "1"}), True),
        (make_node("n", labels={ZONE: "a", RACK: "1"}), make_node("n", labels={RACK: "1"}), True),
        (make_node("n", labels={ZONE: "a", RACK: "1"}), make_node("n", labels={ZONE: "b", RACK: "1"}), True),
        (make_node("n", labels={ZONE: "a"}), make_node("n", labels={ZONE: "b"}), False),
        (
            make_node("n", labels={ZONE: "a", RACK: "1"}),
            make_node("n", labels={ZONE: "a", RACK: "1", "x": "y"}),
            False,
        ),
        (
            make_node("n", labels={ZONE: "a", RACK: "1"}),
            make_node("n", labels={ZONE: "a", RACK: "1"}, taints=["t:NoSchedule"]),
            True,
        ),
        (
            make_node("n", labels={ZONE: "a"}),
            make_node("n", labels={ZONE: "a"}, taints=["t:NoSchedule"]),
            False,
        ),
    ],
)
def test_hints_for_nodes(old: Node | None, new: Node | None, queue: bool) -> None:
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE_NODE_LABEL
    assert ask(BOTH, action, old, new, NODE) is (Hint.QUEUE if queue else Hint.SKIP)
