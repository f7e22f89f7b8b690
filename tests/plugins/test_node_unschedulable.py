from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.framework.events import NODE, POD, Action, Hint
from moorage.framework.status import Status
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, passing, registered, views

KEY = "node.kubernetes.io/unschedulable"
CORDONED = Status.unresolvable("node(s) were unschedulable")
EXISTS = {"key": KEY, "operator": "Exists"}


def two_nodes() -> NodeUnschedulable:
    return NodeUnschedulable(None, cluster([make_node("open"), make_node("cordoned", unschedulable=True)]))


def test_cordoned_nodes_are_rejected() -> None:
    assert filtered(two_nodes(), make_pod()) == {"open": None, "cordoned": CORDONED}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (EXISTS, True),
        (EXISTS | {"effect": "NoSchedule"}, True),
        (EXISTS | {"effect": "NoExecute"}, False),
        ({"operator": "Exists"}, True),
        ({"key": KEY}, True),
        ({"key": KEY, "operator": "Equal", "value": ""}, True),
        ({"key": KEY, "operator": "Equal", "value": "true"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Equal"}, True),
        ({"key": KEY, "operator": "Gt", "value": "1"}, False),
    ],
)
def test_tolerations_of_the_synthetic_taint(toleration: dict[str, Any], tolerated: bool) -> None:
    passed = passing(filtered(two_nodes(), make_pod(tolerations=[toleration])))
    assert passed == ({"open", "cordoned"} if tolerated else {"open"})


@given(cordons=st.lists(st.booleans(), min_size=1, max_size=8), tolerant=st.booleans())
def test_fast_form_is_the_rule_node_by_node(cordons: list[bool], tolerant: bool) -> None:
    nodes = [make_node(f"n{i}", unschedulable=cordoned) for i, cordoned in enumerate(cordons)]
    plugin = NodeUnschedulable(None, cluster(nodes))
    pod = make_pod(tolerations=[EXISTS] if tolerant else [])
    for view in views(plugin.handle):
        for name, status in filtered(plugin, pod, view).items():
            assert status == (CORDONED if cordons[int(name[1:])] and not tolerant else None)


def test_registered_events() -> None:
    assert registered(two_nodes()) == [
        (NODE, Action.ADD | Action.UPDATE_NODE_TAINT, True),
        (POD, Action.UPDATE_POD_TOLERATION, True),
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, False, Hint.QUEUE),
        (None, True, Hint.SKIP),
        (True, False, Hint.QUEUE),
        (True, True, Hint.SKIP),
        (False, False, Hint.SKIP),
        (False, True, Hint.SKIP),
    ],
)
def test_node_hint(before: bool | None, after: bool, expected: Hint) -> None:
    old = None if before is None else make_node(unschedulable=before)
    action = Action.ADD if old is None else Action.UPDATE_NODE_TAINT
    assert hint(two_nodes(), NODE, action, make_pod(), old, make_node(unschedulable=after)) is expected


@pytest.mark.parametrize(
    ("name", "toleration", "expected"),
    [
        ("pod", EXISTS, Hint.QUEUE),
        ("pod", {"key": "other", "operator": "Exists"}, Hint.SKIP),
        ("another", EXISTS, Hint.SKIP),
    ],
)
def test_toleration_hint(name: str, toleration: dict[str, Any], expected: Hint) -> None:
    new = make_pod(name, tolerations=[toleration])
    answer = hint(two_nodes(), POD, Action.UPDATE_POD_TOLERATION, make_pod("pod"), make_pod(name), new)
    assert answer is expected
