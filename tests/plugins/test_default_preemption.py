from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget
from moorage.config import KubeSchedulerConfiguration, load
from moorage.config.args import DefaultPreemptionArgs
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ASSIGNED_POD, POD, Action, Hint
from moorage.framework.filtering import filter_with_rivals, pre_filter
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Code, Nomination, Status
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.default_preemption import DefaultPreemption, Outcome
from moorage.plugins.preemption_candidates import Candidate, best_candidates, start_time
from moorage.plugins.preemption_dry_run import DryRun
from moorage.scheduler.cycle import Decision, Scheduling
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scenario import Scenario
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, hint, registered

Document = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")
BEING_PREEMPTED: Document = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
}


@cache
def configuration() -> KubeSchedulerConfiguration:
    return load(DEFAULT_CONFIGURATION).config


def scenario(*objects: Object) -> Scenario:
    return Scenario(objects, in_tree_registry(), configuration())


def preemption(world: Scenario) -> DefaultPreemption:
    plugin = world.profile.plugins["DefaultPreemption"]
    assert isinstance(plugin, DefaultPreemption)
    return plugin


def decide(world: Scenario, pod: Pod) -> Decision:
    decision = Scheduling(find_all=True).decide(world.profile, pod)
    assert decision.failure is not None, "the pod fits: nothing to preempt"
    return decision


def outcome(world: Scenario, pod: Pod) -> Outcome:
    """Every node where preemption would help, and why not on the others."""
    decision = decide(world, pod)
    return preemption(world).find_candidates(decision.cycle, pod, decision.statuses, everywhere=True)


def candidates(world: Scenario, pod: Pod) -> dict[str, tuple[str, int]]:
    """The victims' names, the most important first, and how many budgets forbid it, by node."""
    return {
        found.node_name: (" ".join(victim.name for victim in found.victims), found.pdb_violations)
        for found in outcome(world, pod).candidates
    }


def preemptor(cpu: str | None = "2", priority: int = 10, **rest: Any) -> Pod:
    return make_pod("in", cpu=cpu, priority=priority, **rest)


def at(minute: int | None) -> Document:
    return {} if minute is None else {"startTime": f"2026-01-01T00:{minute:02}:00Z"}


def on_n(name: str, cpu: str = "1", priority: int | None = 0, minute: int | None = None, **rest: Any) -> Pod:
    return make_pod(name, node="n", cpu=cpu, priority=priority, status=at(minute), **rest)


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


# Who may preempt


def test_preemption_policy_never() -> None:
    world = scenario(make_node("n"), on_n("p", "4"))
    decision = decide(world, preemptor(preemptionPolicy="Never"))
    assert decision.post_filtered is not None
    assert decision.post_filtered.nominated_node is None, "the nomination stays as it is"
    assert "preemption: not eligible due to preemptionPolicy=Never." in decision.post_filtered.status.reasons
    assert candidates(world, preemptor(preemptionPolicy="PreemptLowerPriority")) == {"n": ("p", 0)}


def terminating(priority: int = 0, *conditions: Document, deleting: bool = True) -> Pod:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    status = {"conditions": list(conditions or (BEING_PREEMPTED,))}
    return make_pod("p", node="n", priority=priority, metadata=metadata, status=status)


TERMINATING = "not eligible due to a terminating pod on the nominated node."


@pytest.mark.parametrize(
    ("there", "nominated", "code", "reason"),
    [
        (terminating(), "n", Code.UNSCHEDULABLE, TERMINATING),
        (terminating(9), "n", Code.UNSCHEDULABLE, TERMINATING),
        (terminating(), "", Code.UNSCHEDULABLE, ""),
        (terminating(), "gone", Code.UNSCHEDULABLE, ""),
        (terminating(), "n", Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ""),
        (terminating(), "n", None, ""),
        (terminating(10), "n", Code.UNSCHEDULABLE, ""),
        (terminating(deleting=False), "n", Code.UNSCHEDULABLE, ""),
        (terminating(0, {**BEING_PREEMPTED, "status": "False"}), "n", Code.UNSCHEDULABLE, ""),
        (terminating(0, {**BEING_PREEMPTED, "reason": "EvictionByTaint"}), "n", Code.UNSCHEDULABLE, ""),
        (terminating(0, {"type": "Ready", "status": "True"}), "n", Code.UNSCHEDULABLE, ""),
    ],
    ids=[
        "terminating",
        "just below",
        "not nominated",
        "nominated node is gone",
        "final there",
        "no status there",
        "same priority",
        "not deleted yet",
        "condition False",
        "deleted by somebody else",
        "no condition",
    ],
)
def test_eligibility(there: Pod, nominated: str, code: Code | None, reason: str) -> None:
    world = scenario(make_node("n"), there)
    statuses = NodeStatuses(world.services.state.table)
    if code is not None:
        statuses.set_row(0, Status(code, "because"))
    pod = preemptor(status={"nominatedNodeName": nominated})
    assert preemption(world).not_eligible(pod, statuses) == reason


def test_the_newest_version_of_the_pod_counts() -> None:
    world = scenario(make_node("n"), on_n("p", "4"))
    world.services.find_pod = lambda pod: preemptor(preemptionPolicy="Never")
    decision = decide(world, preemptor())
    assert decision.failure is not None
    assert "preemptionPolicy=Never" in decision.failure.message
    world.services.find_pod = lambda pod: None
    answer = preemption(world).post_filter(decision.cycle, preemptor(), decision.statuses)
    assert isinstance(answer, Status)
    assert (answer.code, answer.message) == (Code.ERROR, 'preemption: pod "in" not found')


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
    pre_filter(world.profile, cycle, pod)
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


def budget(allowed: int = 0, selector: Document | None = None, **status: Any) -> PodDisruptionBudget:
    spec = {"selector": {"matchLabels": {"app": "a"}} if selector is None else selector}
    return from_document(
        PodDisruptionBudget,
        {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": spec,
            "status": {"disruptionsAllowed": allowed, **status},
        },
    )


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

    def counted(self: DryRun, node_name: str) -> Candidate | Status:
        tried.append(node_name)
        return plain(self, node_name)

    with patch.object(DryRun, "on", counted):
        found = plugin.find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert (len(tried), len(found.candidates)) == (10, 3)


# Errors


def test_an_error_is_fatal_only_if_there_is_no_candidate() -> None:
    world = scenario(make_node("n"), make_node("m"), on_n("p", "3"), make_pod("q", node="m", cpu="3"))
    decision = decide(world, preemptor())
    plugin = preemption(world)
    broken = {"n"}

    def failing(self: DryRun, node_name: str, plain: Callable[..., Any] = DryRun.on) -> Candidate | Status:
        return Status.error(f"{node_name} broke") if node_name in broken else plain(self, node_name)

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
    assert answer.message == 'preemption: running "NodeResourcesFit" filter plugin: broken'


def test_a_filter_that_fails_when_a_pod_is_put_back_makes_it_a_victim() -> None:
    world = scenario(make_node("n"), on_n("p", "3"), on_n("q", "100m"))
    decision = decide(world, preemptor())
    plain = Handle.run_filters_with_nominated_pods

    def failing(self: Handle, cycle: CycleState, pod: Pod, node: Any) -> Status | None:
        return Status.error("broken") if len(node.pods) else plain(self, cycle, pod, node)

    with patch.object(Handle, "run_filters_with_nominated_pods", failing):
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert [victim.name for victim in found.candidates[0].victims] == ["p", "q"]


def test_no_victim_at_all_is_an_internal_error() -> None:
    """A filter that rejects the pod before and lets it pass with everybody back."""
    world = scenario(make_node("n"), on_n("p", "3"))
    decision = decide(world, preemptor())
    with patch.object(Handle, "run_filters_with_nominated_pods", return_value=None):
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert (found.candidates, found.error) == (
        [],
        Status.error('expected at least one victim pod on node "n"'),
    )


# Victims on one node


@pytest.mark.parametrize(
    ("pods", "victims"),
    [
        ([on_n("a", "3")], "a"),
        ([on_n("a", "1", 1), on_n("b", "1", 2), on_n("c", "2", 3)], "b a"),
        ([on_n("a", "1", 1), on_n("b", "2", 2), on_n("c", "1", 3)], "b"),
        ([on_n("keep", "1", 10), on_n("a", "3", 9)], "a"),
        ([on_n("a", "2", None), on_n("b", "2", -1)], "b"),
        ([on_n("late", "2", 0, 9), on_n("early", "2", 0, 1)], "late"),
        ([on_n("new", "2", 0, None), on_n("old", "2", 0, 59)], "new"),
        ([on_n("first", "2", 0, 5), on_n("second", "2", 0, 5)], "second"),
        ([on_n("late", "2", 1, 9), on_n("early", "2", 0, 1)], "early"),
        (
            [on_n("a", "2", 0, 1, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), on_n("b", "2", 1)],
            "a",
        ),
    ],
    ids=[
        "one",
        "the most important may stay",
        "whoever still fits may stay",
        "as important pods stay",
        "no priority is 0",
        "who has run longest may stay",
        "not started counts as now",
        "in order of arrival",
        "priority before time",
        "terminating pods are victims too",
    ],
)
def test_victims(pods: list[Pod], victims: str) -> None:
    assert candidates(scenario(make_node("n"), *pods), preemptor()) == {"n": (victims, 0)}


def test_asking_twice_gives_the_same_victims() -> None:
    """Trying out leaves the order of the pods as it is."""
    world = scenario(make_node("n"), *(on_n(name, "1", 0, 5) for name in "abcd"))
    first = candidates(world, preemptor())
    assert first == {"n": ("c d", 0)}
    assert [candidates(world, preemptor()) for _ in range(3)] == [first] * 3


def test_nothing_of_the_trial_stays() -> None:
    world = scenario(make_node("n"), *(on_n(name, "1", 0, 5) for name in "abcd"))
    info = world.services.state.table.by_name["n"]
    before = (info.requested, [pod.name for pod in info.pods], info.used_ports)
    outcome(world, preemptor())
    assert (info.requested, [pod.name for pod in info.pods], info.used_ports) == before


def labelled(name: str, cpu: str = "1", priority: int = 0, app: str = "a", **rest: Any) -> Pod:
    return on_n(name, cpu, priority, 1, labels={"app": app}, **rest)


@pytest.mark.parametrize(
    ("budgets", "found"),
    [
        ([], ("c d", 0)),
        ([budget(0)], ("d b", 0)),
        ([budget(1)], ("b d", 0)),
        ([budget(2)], ("c d", 0)),
        ([budget(0, {})], ("c d", 0)),
        ([budget(0, {"matchExpressions": [{"key": "app", "operator": "Bad"}]})], ("c d", 0)),
        ([budget(0, disruptedPods={"c": "2026-01-01T00:00:00Z"})], ("c d", 0)),
        ([budget(0, disruptedPods={"a": "2026-01-01T00:00:00Z"})], ("d b", 0)),
    ],
    ids=[
        "none",
        "protects a and c",
        "one may go: c is beyond that",
        "both may go",
        "an empty selector protects nobody",
        "nor does an invalid one",
        "a pod that is being disrupted already",
        "the other one is",
    ],
)
def test_budgets(budgets: list[PodDisruptionBudget], found: tuple[str, int]) -> None:
    """Protected pods are put back before all others. Of a, b, c, d in order of arrival two must go."""
    pods = [labelled("a"), labelled("b", app="x"), labelled("c"), labelled("d", app="x")]
    world = scenario(make_node("n"), *pods, *budgets)
    victims, violations = candidates(world, preemptor())["n"]
    assert (set(victims.split()), violations) == (set(found[0].split()), found[1])


def test_budgets_are_a_preference_and_no_veto() -> None:
    world = scenario(make_node("n"), *(labelled(name) for name in "abcd"), budget(0))
    assert candidates(world, preemptor()) == {"n": ("c d", 2)}
    world = scenario(make_node("n"), *(labelled(name) for name in "abcd"), budget(3))
    assert candidates(world, preemptor()) == {"n": ("b c", 0)}, "d is the fourth: it is put back first"


def test_victims_of_both_kinds_are_sorted_by_importance_again() -> None:
    pods = [labelled("low", "2", 1), labelled("high", "2", 5, app="x")]
    world = scenario(make_node("n"), *pods, budget(0))
    assert candidates(world, preemptor("4")) == {"n": ("high low", 1)}


def test_budgets_of_other_namespaces_and_pods_without_labels() -> None:
    elsewhere = budget(0)
    elsewhere.metadata.namespace = "other"
    anybody = budget(0, {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]})
    assert candidates(scenario(make_node("n"), labelled("a", "4"), elsewhere), preemptor()) == {"n": ("a", 0)}
    assert candidates(scenario(make_node("n"), on_n("a", "4"), anybody), preemptor()) == {"n": ("a", 0)}
    assert candidates(scenario(make_node("n"), labelled("a", "4"), anybody), preemptor()) == {"n": ("a", 1)}


def test_every_matching_budget_is_used_up() -> None:
    """The first allows two, the second none: a violates the second, and the first counts a as well."""
    first, second = budget(2), budget(0, {"matchLabels": {"special": "yes"}})
    second.metadata.name = "second"
    special = on_n("a", "1", 0, 1, labels={"app": "a", "special": "yes"})
    world = scenario(
        make_node("n"), special, labelled("b"), labelled("c"), labelled("d", app="x"), first, second
    )
    assert candidates(world, preemptor("4")) == {"n": ("a c b d", 2)}


# Other filters take part


def test_a_port_is_freed_by_its_holder() -> None:
    def with_port(name: str, **rest: Any) -> Pod:
        container = {"name": "c", "ports": [{"hostPort": 80}], "resources": {"requests": {"cpu": "100m"}}}
        return make_pod(name, containers=[container], **rest)

    world = scenario(
        make_node("n"),
        on_n("high", priority=5),
        with_port("holder", node="n", priority=1),
        on_n("low", priority=0),
    )
    assert candidates(world, with_port("in", priority=10)) == {"n": ("holder", 0)}


def apart(app: str, key: str = HOST) -> Document:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_anti_affinity_in_both_directions() -> None:
    world = scenario(make_node("n"), labelled("hated", "100m", 5), on_n("other", "100m"))
    assert candidates(world, preemptor("1", affinity=apart("a"))) == {"n": ("hated", 0)}
    world = scenario(make_node("n"), on_n("hates", "100m", 5, affinity=apart("new")), on_n("other", "100m"))
    assert candidates(world, preemptor("1", labels={"app": "new"})) == {"n": ("hates", 0)}


def test_affinity_to_a_victim_rules_the_node_out() -> None:
    near = {"podAffinity": apart("a")["podAntiAffinity"]}
    world = scenario(make_node("n"), labelled("friend", "3"))
    pod = preemptor(affinity=near)
    assert candidates(world, pod) == {}
    assert outcome(world, pod).statuses.get("n").message == "node(s) didn't match pod affinity rules"


def test_spreading() -> None:
    nodes = [make_node("n", labels={ZONE: "1"}), make_node("m", labels={ZONE: "2"}, cpu="1")]
    rule = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }
    world = scenario(*nodes, labelled("a", "100m", 5), on_n("b", "100m"))
    pod = preemptor(labels={"app": "a"}, topologySpreadConstraints=[rule])
    assert candidates(world, pod) == {"n": ("a", 0)}


# Nominated pods


def nominated(name: str, cpu: str, priority: int, **rest: Any) -> Pod:
    return make_pod(name, cpu=cpu, priority=priority, status={"nominatedNodeName": "n"}, **rest)


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ([], {"n": ("b", 0)}),
        ([nominated("rival", "1", 10)], {"n": ("a b", 0)}),
        ([nominated("rival", "1", 99)], {"n": ("a b", 0)}),
        ([nominated("lesser", "1", 9)], {"n": ("b", 0)}),
        ([nominated("rival", "3", 10)], {}),
        ([nominated("foreign", "3", 10, scheduler="somebody-else")], {"n": ("b", 0)}),
        ([nominated("in", "3", 10)], {"n": ("b", 0)}),
    ],
    ids=[
        "none",
        "rival",
        "greater",
        "lesser",
        "no room for both",
        "of a foreign scheduler",
        "the pod itself",
    ],
)
def test_the_pod_must_also_fit_with_the_pods_nominated_to_the_node(
    others: list[Pod], found: dict[str, tuple[str, int]]
) -> None:
    world = scenario(make_node("n", cpu="4"), on_n("a", "2", 1), on_n("b", "2", 0), *others)
    assert candidates(world, preemptor()) == found


# The best node


def victim(name: str = "v", priority: int | None = 0, minute: int | None = 0) -> Pod:
    return make_pod(name, priority=priority, status=at(minute))


def best(**named: Iterable[Pod] | tuple[int, Iterable[Pod]]) -> str:
    found = []
    for name, what in named.items():
        violations, victims = what if isinstance(what, tuple) and isinstance(what[0], int) else (0, what)
        found.append(Candidate(name, tuple(victims), violations))
    return "".join(candidate.node_name for candidate in best_candidates(found))


def test_fewest_violations_before_all() -> None:
    assert best(a=(1, [victim()]), b=(0, [victim(priority=9), victim(priority=9)])) == "b"


def test_lowest_priority_of_the_most_important_victim() -> None:
    assert best(a=[victim(priority=5)], b=[victim(priority=4)] * 3) == "b"


def test_smallest_sum_of_priorities() -> None:
    assert best(a=[victim(priority=5), victim(priority=3)], b=[victim(priority=5), victim(priority=2)]) == "b"
    assert best(a=[victim(priority=5), victim(priority=-1)], b=[victim(priority=5)]) == "b", (
        "the offset counts"
    )


def test_fewest_victims() -> None:
    lowest = -(2**31)
    assert best(a=[victim(priority=0), victim(priority=lowest)], b=[victim(priority=0)]) == "b"


def test_latest_start_among_the_most_important_victims() -> None:
    assert best(a=[victim(minute=1)], b=[victim(minute=2)]) == "b"
    early_but_lesser = [victim(priority=5, minute=9), victim(priority=0, minute=0)]
    assert best(a=[victim(priority=5, minute=8), victim(priority=0, minute=9)], b=early_but_lesser) == "b"
    assert best(a=[victim(minute=59)], b=[victim(minute=None)]) == "b", "not started counts as now"
    assert best(a=[victim(minute=3), victim(minute=7)], b=[victim(minute=4), victim(minute=4)]) == "b"


def test_the_rest_are_all_the_same() -> None:
    assert best(a=[victim()], b=[victim()], c=[victim(priority=1)]) == "ab"
    assert best(a=[victim(priority=None)], b=[victim()]) == "ab"
    assert best(a=[victim()]) == "a"
    assert best() == ""


@pytest.mark.parametrize("text", [None, "yesterday", ""])
def test_a_start_that_cannot_be_read_counts_as_now(text: str | None) -> None:
    pod = make_pod("p")
    pod.status.start_time = text
    assert start_time(pod, 5.0) == 5.0


def test_start_times() -> None:
    pod = victim(minute=7)
    assert start_time(pod, 0) == datetime(2026, 1, 1, 0, 7, tzinfo=UTC).timestamp()


def test_the_best_node_is_nominated() -> None:
    world = scenario(
        make_node("a"),
        make_node("b"),
        make_pod("high", node="a", cpu="3", priority=5),
        make_pod("low", node="b", cpu="3", priority=1),
    )
    decision = decide(world, preemptor())
    assert decision.post_filtered is not None
    assert decision.post_filtered.status.code is Code.SUCCESS
    assert decision.post_filtered.nominated_node == "b"


# Candidates and victims against a slow search on clusters built anew

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
        assert pre_filter(world.profile, cycle, pod).status is None
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
    decision = Scheduling(find_all=True).decide(built.profile, pod)
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


@pytest.mark.parametrize(
    ("objects", "wanted", "by_columns"),
    [
        ([], {}, True),
        (
            [],
            {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/hostname": "n"}},
            True,
        ),
        ([nominated("rival", "1", 1)], {}, False),
        ([], {"affinity": apart("a")}, False),
        ([], {"containers": [{"name": "c", "ports": [{"hostPort": 1}]}]}, False),
    ],
    ids=["plain", "node selector", "somebody is nominated", "anti-affinity", "host port"],
)
def test_when_columns_decide(objects: list[Object], wanted: Document, by_columns: bool) -> None:
    world = scenario(make_node("n"), on_n("p", "3"), *objects)
    pod = preemptor(**wanted)
    decision = Scheduling(find_all=True).decide(world.profile, pod)
    dry_run = DryRun(preemption(world).handle, decision.cycle, pod, [])
    assert dry_run._usage_decides() is by_columns


def test_filters_that_read_nothing_but_usage_say_so() -> None:
    plugins = scenario().profile.filter
    others = {plugin.name for plugin, _ in plugins if not plugin.reads_usage_only}
    assert others == {"NodePorts", "PodTopologySpread", "InterPodAffinity"}


def test_full_nodes_without_hope_are_not_tried_one_by_one() -> None:
    """What the columns rule out costs no trial."""
    nodes = [make_node(f"n{i}") for i in range(50)]
    pods = [make_pod(f"high{i}", node=f"n{i}", cpu="3", priority=50) for i in range(49)]
    pods += [make_pod(f"low{i}", node=f"n{i}", cpu="1") for i in range(49)]
    pods.append(make_pod("only", node="n49", cpu="4"))
    world = scenario(*nodes, *pods)
    decision = decide(world, preemptor())
    tried: list[str] = []
    plain = DryRun.on

    def counted(self: DryRun, node_name: str) -> Candidate | Status:
        tried.append(node_name)
        return plain(self, node_name)

    with patch.object(DryRun, "on", counted):
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert tried == ["n49"]
    assert found.statuses.get("n0") == Status.unschedulable("Insufficient cpu").by("NodeResourcesFit")


# Events


def test_registered_events_and_gate() -> None:
    plugin = DefaultPreemption(None, cluster())
    assert registered(plugin) == [(POD, Action.DELETE, True)]
    assert hint(plugin, ASSIGNED_POD, Action.DELETE, preemptor(), on_n("p"), None) is Hint.SKIP
    assert plugin.pre_enqueue(preemptor()) is None
