from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ASSIGNED_POD, NODE, POD, UNSCHEDULABLE_POD, Action, Hint
from moorage.framework.status import Code, Status
from moorage.plugins.cycle_reads import MissingState
from moorage.plugins.node_declared_features import NodeDeclaredFeatures
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, passing, registered, verdicts, views

RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
LACKING = Status.unresolvable("node(s) didn't match Pod's required features")


def container(action: str) -> dict[str, Any]:
    return {"name": "c", "restartPolicyRules": [{"action": "Restart"}, {"action": action}]}


def needing(*features: str, name: str = "pod") -> Pod:
    spec: dict[str, Any] = {}
    if RESTART_ALL in features:
        spec["containers"] = [container("RestartAllContainers")]
    if USER_NAMESPACES in features:
        spec |= {"hostNetwork": True, "hostUsers": False}
    return make_pod(name, **spec)


def nodes_with(*declared: tuple[str, ...]) -> NodeDeclaredFeatures:
    nodes = [make_node(f"n{i}", declaredFeatures=list(features)) for i, features in enumerate(declared)]
    return NodeDeclaredFeatures(None, cluster(nodes))


def test_filter() -> None:
    plugin = nodes_with((), (RESTART_ALL,), ("Unknown", RESTART_ALL, USER_NAMESPACES))
    assert filtered(plugin, needing(RESTART_ALL)) == {"n0": LACKING, "n1": None, "n2": None}
    assert passing(filtered(plugin, needing(USER_NAMESPACES))) == {"n2"}
    assert passing(filtered(plugin, needing(RESTART_ALL, USER_NAMESPACES))) == {"n2"}


@pytest.mark.parametrize(
    ("pod", "skips"),
    [
        (make_pod(), True),
        (make_pod(containers=[container("Restart")]), True),
        (make_pod(containers=[container("RestartAllContainers")]), False),
        (make_pod(initContainers=[container("RestartAllContainers")]), False),
        (make_pod(hostNetwork=True), True),
        (make_pod(hostNetwork=True, hostUsers=True), True),
        (make_pod(hostUsers=False), True),
        (make_pod(hostNetwork=True, hostUsers=False), False),
    ],
)
def test_a_pod_that_needs_nothing_skips(pod: Pod, skips: bool) -> None:
    answer = nodes_with(()).pre_filter(CycleState(), pod)
    assert (answer is not None and answer.code is Code.SKIP) is skips


def test_without_pre_filter_the_filter_fails() -> None:
    text = r'^reading "PreFilterNodeDeclaredFeatures" from cycleState: not found$'
    with pytest.raises(MissingState, match=text):
        verdicts(nodes_with(()), CycleState(), needing(RESTART_ALL))


features = st.lists(st.sampled_from([RESTART_ALL, USER_NAMESPACES, "Other"]), max_size=4)


@given(
    stages=st.lists(st.lists(features, min_size=1, max_size=5), min_size=1, max_size=3),
    needed=st.sets(st.sampled_from([RESTART_ALL, USER_NAMESPACES])),
)
def test_fast_form_is_the_rule_node_by_node(stages: list[list[list[str]]], needed: set[str]) -> None:
    plugin = nodes_with()
    state = plugin.handle.state
    for stage in stages:
        for i, declared in enumerate(stage):
            state.put_node(make_node(f"n{i}", declaredFeatures=declared))
        for name in [info.name for info in state.table if int(info.name[1:]) >= len(stage)]:
            state.remove_node(name)
        state.table.refresh()
        for view in views(plugin.handle):
            for name, status in filtered(plugin, needing(*needed), view).items():
                assert status == (None if needed <= set(stage[int(name[1:])]) else LACKING)


def test_registered_events() -> None:
    assert registered(nodes_with()) == [
        (NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, True),
        (POD, Action.UPDATE, True),
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, [], Hint.QUEUE),
        ([], [RESTART_ALL], Hint.QUEUE),
        ([RESTART_ALL], [], Hint.QUEUE),
        ([RESTART_ALL], [RESTART_ALL], Hint.SKIP),
    ],
)
def test_node_hint(before: list[str] | None, after: list[str], expected: Hint) -> None:
    old = None if before is None else make_node(declaredFeatures=before)
    action = Action.ADD if old is None else Action.UPDATE_NODE_DECLARED_FEATURE
    new = make_node(declaredFeatures=after)
    assert hint(nodes_with(), NODE, action, needing(RESTART_ALL), old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (needing(RESTART_ALL), needing(), Hint.QUEUE),
        (needing(RESTART_ALL), needing(RESTART_ALL), Hint.SKIP),
        (needing(RESTART_ALL, name="other"), needing(name="other"), Hint.SKIP),
    ],
)
def test_pod_hint(old: Pod, new: Pod, expected: Hint) -> None:
    plugin, pod = nodes_with(), needing(RESTART_ALL)
    for resource in (UNSCHEDULABLE_POD, ASSIGNED_POD):
        assert hint(plugin, resource, Action.UPDATE_POD_LABEL, pod, old, new) is expected
