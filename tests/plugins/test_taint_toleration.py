from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, Hint
from moorage.framework.status import Status
from moorage.plugins.cycle_reads import MissingState
from moorage.plugins.taint_toleration import TaintToleration
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, passing, registered, scored, views

TAINTED = Status.unresolvable("node(s) had untolerated taint(s)")

Toleration = dict[str, Any]


def one_node(*taints: str) -> TaintToleration:
    return TaintToleration(None, cluster([make_node("n", taints=taints)]))


@pytest.mark.parametrize(
    ("taint", "toleration", "passes"),
    [
        ("k=v:NoSchedule", None, False),
        ("k=v:NoExecute", None, False),
        ("k=v:PreferNoSchedule", None, True),
        ("k=v:NoSchedule", {"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ("k=v:NoSchedule", {"key": "k", "value": "v"}, True),
        ("k=v:NoSchedule", {"key": "k", "operator": "Equal", "value": "w"}, False),
        ("k=v:NoSchedule", {"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ("k=v:NoSchedule", {"key": "k", "operator": "Exists"}, True),
        ("k=v:NoSchedule", {"key": "other", "operator": "Exists"}, False),
        ("k=v:NoSchedule", {"operator": "Exists"}, True),
        ("k=v:NoSchedule", {"operator": "Equal", "value": "v"}, True),
        ("k=v:NoSchedule", {"operator": "Equal", "value": "w"}, False),
        ("k=5:NoSchedule", {"key": "k", "operator": "Gt", "value": "3"}, False),
        ("k=5:NoSchedule", {"key": "k", "operator": "Unknown", "value": "5"}, False),
        ("k=v:NoExecute", {"key": "k", "operator": "Exists", "tolerationSeconds": 3}, True),
    ],
)
def test_filter(taint: str, toleration: Toleration | None, passes: bool) -> None:
    pod = make_pod(tolerations=[toleration] if toleration else [])
    assert filtered(one_node(taint), pod) == {"n": None if passes else TAINTED}


def test_every_taint_must_be_tolerated() -> None:
    pod = make_pod(tolerations=[{"key": "a", "operator": "Exists"}])
    assert passing(filtered(one_node("a=1:NoSchedule", "b=1:NoExecute"), pod)) == set()


def soft(count: int) -> list[str]:
    return [f"k{i}=v:PreferNoSchedule" for i in range(count)]


@pytest.mark.parametrize(
    ("counts", "final"), [((0, 1, 3), (100, 67, 0)), ((0, 0, 0), (100, 100, 100)), ((2, 2), (0, 0))]
)
def test_normalised_scores(counts: tuple[int, ...], final: tuple[int, ...]) -> None:
    nodes = [make_node(f"n{i}", taints=soft(count)) for i, count in enumerate(counts)]
    plugin = TaintToleration(None, cluster(nodes))
    assert tuple(scored(plugin, make_pod()).values()) == final
    assert tuple(scored(plugin, make_pod(), raw=True).values()) == counts


@pytest.mark.parametrize(
    ("effect", "raw"), [("", 0), ("PreferNoSchedule", 0), ("NoSchedule", 1), ("NoExecute", 1)]
)
def test_only_tolerations_for_preferences_count_in_scores(effect: str, raw: int) -> None:
    pod = make_pod(tolerations=[{"key": "k", "operator": "Exists", "effect": effect}])
    assert scored(one_node("k=v:PreferNoSchedule"), pod, raw=True) == {"n": raw}


def test_scoring_never_skips() -> None:
    assert scored(one_node(), make_pod()) == {"n": 100}


def test_without_pre_score_the_score_fails() -> None:
    plugin = one_node()
    text = r'^failed to read "PreScoreTaintToleration" from cycleState: not found$'
    with pytest.raises(MissingState, match=text):
        plugin.score_nodes(CycleState(), make_pod(), plugin.handle.nodes)


# The same rules, written once more node by node

taints = st.builds(
    "{}={}:{}".format,
    st.sampled_from("ab"),
    st.sampled_from(["", "x", "y"]),
    st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
)
taint_sets = st.lists(taints, max_size=3)
tolerations = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["", "a", "b"]),
        "operator": st.sampled_from(["", "Equal", "Exists", "Lt"]),
        "value": st.sampled_from(["", "x", "y"]),
        "effect": st.sampled_from(["", "NoSchedule", "NoExecute", "PreferNoSchedule"]),
    }
)


def is_tolerated(taint: str, tolerations: list[Toleration]) -> bool:
    pair, effect = taint.split(":")
    key, value = pair.split("=")
    for toleration in tolerations:
        same_value = toleration["operator"] in ("", "Equal") and toleration["value"] == value
        if (
            toleration["effect"] in ("", effect)
            and toleration["key"] in ("", key)
            and (same_value or toleration["operator"] == "Exists")
        ):
            return True
    return False


def rejects(taints: list[str], tolerations: list[Toleration]) -> bool:
    return any(
        not taint.endswith(":PreferNoSchedule") and not is_tolerated(taint, tolerations) for taint in taints
    )


def disliked(taints: list[str], tolerations: list[Toleration]) -> int:
    relevant = [t for t in tolerations if t["effect"] in ("", "PreferNoSchedule")]
    return sum(taint.endswith(":PreferNoSchedule") and not is_tolerated(taint, relevant) for taint in taints)


@given(
    stages=st.lists(st.lists(taint_sets, min_size=1, max_size=6), min_size=1, max_size=3),
    pods=st.lists(st.lists(tolerations, max_size=3), min_size=1, max_size=3),
)
def test_fast_form_is_the_rule_node_by_node(
    stages: list[list[list[str]]], pods: list[list[Toleration]]
) -> None:
    """One plugin sees the nodes change, appear and go: nothing that is kept may be stale."""
    plugin = TaintToleration(None, cluster())
    state = plugin.handle.state
    for stage in stages:
        for i, taints in enumerate(stage):
            state.put_node(make_node(f"n{i}", taints=taints))
        for name in [info.name for info in state.table if int(info.name[1:]) >= len(stage)]:
            state.remove_node(name)
        state.table.refresh()
        for number, tolerations in enumerate(pods):
            pod = make_pod(f"p{number}", tolerations=tolerations)
            for view in views(plugin.handle):
                for name, status in filtered(plugin, pod, view).items():
                    assert status == (TAINTED if rejects(stage[int(name[1:])], tolerations) else None)
                for name, score in scored(plugin, pod, view, raw=True).items():
                    assert score == disliked(stage[int(name[1:])], tolerations)


def test_registered_events() -> None:
    assert registered(one_node()) == [
        (NODE, Action.ADD | Action.UPDATE_NODE_TAINT, True),
        (POD, Action.UPDATE_POD_TOLERATION, True),
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, [], Hint.QUEUE),
        (None, ["ok=1:NoSchedule", "s=1:PreferNoSchedule"], Hint.QUEUE),
        (None, ["bad=1:NoSchedule"], Hint.SKIP),
        (["bad=1:NoSchedule"], [], Hint.QUEUE),
        (["bad=1:NoSchedule"], ["bad=1:NoExecute"], Hint.SKIP),
        (["ok=1:NoSchedule"], [], Hint.SKIP),
        ([], ["bad=1:NoSchedule"], Hint.SKIP),
    ],
)
def test_node_hint(before: list[str] | None, after: list[str], expected: Hint) -> None:
    pod = make_pod(tolerations=[{"key": "ok", "operator": "Exists"}])
    old = None if before is None else make_node(taints=before)
    action = Action.ADD if old is None else Action.UPDATE_NODE_TAINT
    assert hint(one_node(), NODE, action, pod, old, make_node(taints=after)) is expected


@pytest.mark.parametrize(("changed", "expected"), [("pod", Hint.QUEUE), ("other", Hint.SKIP)])
def test_toleration_hint(changed: str, expected: Hint) -> None:
    pod: Pod = make_pod("pod")
    old, new = make_pod(changed), make_pod(changed, tolerations=[{"operator": "Exists"}])
    assert hint(one_node(), POD, Action.UPDATE_POD_TOLERATION, pod, old, new) is expected
