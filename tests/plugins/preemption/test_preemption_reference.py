"""Candidates and victims against a slow search on clusters built anew."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget
from moorage.framework.cycle_state import CycleState
from moorage.framework.runtime.filtering import filter_with_rivals, pre_filter
from moorage.framework.status import Code
from moorage.plugins.preemption.candidates import start_time
from moorage.plugins.preemption.dry_run import DryRun
from moorage.scheduler.cycle import NodeChooser
from moorage.testing import make_node, make_pod
from tests.plugins.preemption.preemption_cases import (
    HOST,
    ZONE,
    Document,
    apart,
    at,
    budget,
    preemption,
    scenario,
)

Budgets = list[PodDisruptionBudget]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Node], list[Pod], Budgets, list[Pod], Pod]:
    zone = st.sampled_from(["1", "2"])
    nodes = [
        make_node(f"n{i}", cpu="3", pods=draw(st.sampled_from([3, 110])), labels={ZONE: draw(zone)})
        for i in range(draw(st.integers(1, 2)))
    ]
    features = draw(st.sampled_from(["plain", "plain", "ports", "apart", "unwelcome", "spread", "nominated"]))
    placed = []
    for i in range(draw(st.integers(3, 8))):
        spec: Document = {}
        if features == "unwelcome" and draw(st.booleans()):
            spec["affinity"] = apart("new", draw(st.sampled_from([HOST, ZONE])))
        container: Document = {
            "name": "c",
            "resources": {"requests": {"cpu": draw(st.sampled_from(["0", "500m", "1", "1", "2"]))}},
        }
        if features == "ports":
            container["ports"] = [{"hostPort": 8000 + i}]
        spec["containers"] = [container]
        placed.append(
            make_pod(
                f"p{i}",
                node=draw(st.sampled_from(nodes)).name,
                priority=draw(st.sampled_from([None, 0, 5, 9, 10, 20])),
                labels={"app": draw(st.sampled_from("ab"))},
                status=at(draw(st.sampled_from([None, 1, 1, 2]))),
                **spec,
            )
        )
    budgets = [budget(draw(st.integers(0, 2)))] if draw(st.booleans()) else []
    rivals = []
    if features == "nominated":
        rivals = [
            make_pod(
                f"rival{i}",
                cpu=draw(st.sampled_from(["500m", "1"])),
                priority=draw(st.sampled_from([9, 10, 11])),
                status={"nominatedNodeName": draw(st.sampled_from(nodes)).name},
            )
            for i in range(2)
        ]
    wanted: Document = {}
    if features == "apart":
        wanted["affinity"] = apart("a", draw(st.sampled_from([HOST, ZONE])))
    if features == "spread":
        wanted["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": draw(st.sampled_from([HOST, ZONE])),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "a"}},
            }
        ]
    resources = {"requests": {"cpu": draw(st.sampled_from(["1", "2", "2500m"]))}}
    ports = [{"hostPort": 8000 + draw(st.integers(0, 3))}] if features == "ports" else []
    wanted["containers"] = [{"name": "c", "resources": resources, "ports": ports}]
    app = "new" if features == "unwelcome" else "a"
    return nodes, placed, budgets, rivals, make_pod("in", priority=10, labels={"app": app}, **wanted)


def slow_search(
    nodes: list[Node], placed: list[Pod], budgets: Budgets, rivals: list[Pod], pod: Pod, names: list[str]
) -> dict[str, tuple[list[str], int]]:
    """For each node: everybody below goes; then one after the other comes back if the pod still fits."""

    def fits(name: str, gone: set[str]) -> bool:
        left = [other for other in placed if other.uid not in gone]
        world = scenario(*nodes, *left, *rivals)
        world.services.state.table.refresh()
        cycle = CycleState()
        assert pre_filter(world.profile, world.profile.plans.general, cycle, pod).status is None
        node = world.services.state.table.by_name[name]
        return filter_with_rivals(world.profile, cycle, pod, node) is None

    def importance(other: Pod) -> tuple[int, float]:
        return -other.priority, start_time(other, float("inf"))

    found: dict[str, tuple[list[str], int]] = {}
    for name in names:
        here = [other for other in placed if other.spec.node_name == name]
        below = sorted((other for other in here if other.priority < 10), key=importance)
        gone = {other.uid for other in below}
        if not below or not fits(name, gone):
            continue
        allowed = {item.name: item.status.disruptions_allowed for item in budgets}
        violating = []
        for other in below:
            if budgets and other.labels["app"] == "a":
                allowed["b"] -= 1
                if allowed["b"] < 0:
                    violating.append(other)
        others = [other for other in below if other not in violating]
        for other in violating + others:
            if fits(name, gone - {other.uid}):
                gone.remove(other.uid)
        victims = [other for other in violating + others if other.uid in gone]
        if violating and others:
            victims.sort(key=importance)
        violations = sum(other.uid in gone for other in violating)
        found[name] = ([other.name for other in victims], violations)
    return found


@settings(max_examples=100, deadline=None)
@given(worlds())
def test_candidates_and_victims_equal_a_slow_search(
    world: tuple[list[Node], list[Pod], Budgets, list[Pod], Pod],
) -> None:
    """With the judgement by columns where usage decides, and without it."""
    nodes, placed, budgets, rivals, pod = world
    built = scenario(*nodes, *placed, *budgets, *rivals)
    decision = NodeChooser(find_all=True).decide(built.profile, pod)
    if decision.failure is None:
        return
    plugin = preemption(built)
    names = decision.statuses.nodes_with(Code.UNSCHEDULABLE)
    by_columns = plugin.find_candidates(decision.cycle, pod, decision.statuses, everywhere=True)
    with patch.object(DryRun, "_usage_decides", return_value=False):
        one_by_one = plugin.find_candidates(decision.cycle, pod, decision.statuses, everywhere=True)
    assert by_columns.candidates == one_by_one.candidates
    assert dict(by_columns.statuses.explicit()) == dict(one_by_one.statuses.explicit())
    found = {
        candidate.node_name: ([victim.name for victim in candidate.victims], candidate.pdb_violations)
        for candidate in by_columns.candidates
    }
    assert found == slow_search(nodes, placed, budgets, rivals, pod, names)
