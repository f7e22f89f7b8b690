"""Which nodes preemption tries, how many are enough, and what becomes of errors."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest

from moorage.api.meta import Object
from moorage.config.args import DefaultPreemptionArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.filtering import pre_filter
from moorage.framework.runtime.what_if import WhatIf
from moorage.framework.status import Code, Nomination, Status
from moorage.plugins.preemption.candidates import Candidate
from moorage.plugins.preemption.default_preemption import DefaultPreemption
from moorage.plugins.preemption.dry_run import DryRun
from moorage.scheduler.cycle import Decision
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster
from tests.plugins.preemption.preemption_cases import (
    budget,
    decide,
    on_n,
    outcome,
    preemption,
    preemptor,
    scenario,
)

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


# How many candidates are enough


@pytest.mark.parametrize(("possible", "wanted"), [(50, 50), (1500, 150), (5000, 500), (1000, 100), (0, 0)])
def test_how_many_by_default(possible: int, wanted: int) -> None:
    assert DefaultPreemption(None, cluster()).how_many(possible) == wanted


@pytest.mark.parametrize(
    ("percentage", "absolute", "possible", "wanted"),
    [(0, 3, 10, 3), (100, 0, 10, 10), (15, 0, 10, 1), (0, 20, 10, 10), (33, 2, 10, 3)],
)
def test_how_many_by_args(percentage: int, absolute: int, possible: int, wanted: int) -> None:
    args = DefaultPreemptionArgs(
        min_candidate_nodes_percentage=percentage, min_candidate_nodes_absolute=absolute
    )
    assert DefaultPreemption(args, cluster()).how_many(possible) == wanted


# Which nodes are tried


def test_only_nodes_that_are_unschedulable_for_now() -> None:
    """Too small is final; a taint is final; what pods use up is not."""
    world = scenario(
        make_node("small", cpu="1"),
        make_node("tainted", taints=["t:NoSchedule"]),
        make_node("n"),
        make_pod("q", node="tainted", cpu="4"),
        on_n("p", "3"),
    )
    found = outcome(world, preemptor())
    assert [candidate.node_name for candidate in found.candidates] == ["n"]
    assert dict(found.statuses.explicit()) == {}


def test_a_prefilter_rejection_for_now_makes_every_node_a_candidate() -> None:
    world = scenario(make_node("n"), make_node("m"), on_n("p", "1"))
    rejected = NodeStatuses(world.services.state.table, Status.unschedulable("not yet"))
    world.services.state.table.refresh()
    cycle = CycleState()
    pod = preemptor("4")
    pre_filter(world.profile, world.profile.plans.general, cycle, pod)
    found = preemption(world).find_candidates(cycle, pod, rejected, everywhere=True)
    assert [candidate.node_name for candidate in found.candidates] == ["n"]
    assert found.statuses.get("m") == NO_VICTIMS


def test_nothing_helps() -> None:
    world = scenario(
        make_node("a", cpu="1"),
        make_node("b"),
        make_node("c"),
        make_node("d"),
        make_pod("important", node="b", cpu="4", priority=10),
        make_pod("mixed", node="c", cpu="3", priority=10),
        make_pod("lesser", node="c", cpu="500m", priority=1),
        make_pod("equal", node="d", cpu="3", priority=10),
    )
    decision = decide(world, preemptor())
    assert decision.post_filtered is not None
    assert decision.post_filtered.nominated_node == "", "an older nomination is cleared"
    assert decision.post_filtered.status.code is Code.UNSCHEDULABLE
    assert decision.post_filtered.status.reasons[-1] == (
        "preemption: 0/4 nodes are available: 1 Insufficient cpu, "
        "1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod."
    )


def test_no_node_worth_trying() -> None:
    world = scenario(make_node("a", cpu="1"), make_node("b", cpu="1"))
    decision = decide(world, preemptor())
    assert decision.post_filtered is not None
    assert decision.post_filtered.status.reasons[-1] == (
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def many(count: int, absolute: int, *budgets: Object) -> tuple[DefaultPreemption, Decision]:
    """Nodes with one pod each, of which every second one is labelled `app: a`."""
    nodes = [make_node(f"n{i}") for i in range(count)]
    pods = [make_pod(f"p{i}", node=f"n{i}", cpu="3", labels={"app": "ab"[i % 2]}) for i in range(count)]
    world = scenario(*nodes, *pods, *budgets)
    decision = decide(world, preemptor())
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=0, min_candidate_nodes_absolute=absolute)
    return DefaultPreemption(args, preemption(world).handle), decision


def test_the_search_begins_anywhere_and_ends_when_there_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, decision = many(10, 3)
    monkeypatch.setattr(random, "randrange", lambda size: 8)
    found = plugin.find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert [candidate.node_name for candidate in found.candidates] == ["n8", "n9", "n0"]


def test_candidates_that_no_budget_forbids_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin, decision = many(10, 3, budget())
    monkeypatch.setattr(random, "randrange", lambda size: 0)
    found = plugin.find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert [candidate.node_name for candidate in found.candidates] == ["n1", "n0", "n2"]


def test_where_budgets_forbid_all_every_node_is_tried_but_few_are_kept() -> None:
    plugin, decision = many(
        10, 3, budget(selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    )
    tried: list[str] = []
    plain = DryRun.on

    def counted(self: DryRun, node: NodeInfo) -> Candidate | Status:
        tried.append(node.name)
        return plain(self, node)

    with patch.object(DryRun, "on", counted):
        found = plugin.find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert (len(tried), len(found.candidates)) == (10, 3)


# Errors


def test_an_error_is_fatal_only_if_there_is_no_candidate() -> None:
    world = scenario(make_node("n"), make_node("m"), on_n("p", "3"), make_pod("q", node="m", cpu="3"))
    decision = decide(world, preemptor())
    plugin = preemption(world)
    broken = {"n"}

    def failing(self: DryRun, node: NodeInfo, plain: Callable[..., Any] = DryRun.on) -> Candidate | Status:
        return Status.error(f"{node.name} broke") if node.name in broken else plain(self, node)

    with patch.object(DryRun, "on", failing):
        answer = plugin.post_filter(decision.cycle, preemptor(), decision.statuses)
        assert isinstance(answer, Nomination) and answer.node_name == "m"
        broken.add("m")
        failed = plugin.post_filter(decision.cycle, preemptor(), decision.statuses)
    assert isinstance(failed, Status)
    assert (failed.code, failed.message) in [(Code.ERROR, f"preemption: {name} broke") for name in "nm"]


def test_an_error_while_judging_by_columns_is_told() -> None:
    world = scenario(make_node("n"), on_n("p", "3"))
    decision = decide(world, preemptor())
    fit = world.profile.plugins["NodeResourcesFit"]
    with patch.object(type(fit), "filter_nodes", side_effect=RuntimeError("broken")):
        answer = preemption(world).post_filter(decision.cycle, preemptor(), decision.statuses)
    assert isinstance(answer, Status)
    assert answer.code is Code.ERROR
    assert answer.message == 'preemption: running "NodeResourcesFit" filter plugin: RuntimeError: broken'


def one_by_one() -> Any:
    """Has nodes tried with everything that takes part, and not by numbers."""
    return patch.object(DryRun, "_usage_decides", return_value=False)


def test_a_filter_that_fails_when_a_pod_is_put_back_makes_it_a_victim() -> None:
    world = scenario(make_node("n"), on_n("p", "3"), on_n("q", "100m"))
    decision = decide(world, preemptor())
    plain = WhatIf.filters

    def failing(self: WhatIf) -> Status | None:
        return Status.error("broken") if len(self.node.pods) else plain(self)

    with patch.object(WhatIf, "filters", failing), one_by_one():
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert [victim.name for victim in found.candidates[0].victims] == ["p", "q"]


def test_no_victim_at_all_is_an_internal_error() -> None:
    """A filter that rejects the pod before and lets it pass with everybody back."""
    world = scenario(make_node("n"), on_n("p", "3"))
    decision = decide(world, preemptor())
    with patch.object(WhatIf, "filters", return_value=None), one_by_one():
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert (found.candidates, found.error) == (
        [],
        Status.error('expected at least one victim pod on node "n"'),
    )
