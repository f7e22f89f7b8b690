from __future__ import annotations

from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.status import Nomination, Status
from moorage.scheduler.cycle import Decision, NodeChooser
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
from tests.framework.scripted import (
    FastScores,
    Filters,
    PostFilters,
    PreFilters,
    PreFiltersAndFilters,
    PreScores,
    Scores,
    World,
    plugin,
)

NO = Status.unschedulable("no")
NEVER = Status.unresolvable("never")
LATER = Status.pending("later")


def by_name(**answers: Any) -> Any:
    def answer(cycle: CycleState, pod: Pod, node: NodeInfo) -> Any:
        return answers.get(node.name)

    return answer


def decide(world: World, pod: Pod | None = None, scheduling: NodeChooser | None = None) -> Decision:
    return (scheduling or NodeChooser()).decide(world.profile, pod or make_pod())


def test_the_node_with_the_highest_total_is_chosen() -> None:
    world = World(
        plugin(Scores, "A", by_name(n0=10, n1=20, n2=0)),
        plugin(Scores, "B", by_name(n0=5, n1=5, n2=10)),
        weights={"A": 1, "B": 3},
    )
    decision = decide(world)
    assert decision.scores is not None
    assert decision.scores.totals.tolist() == [25, 35, 30]
    assert (decision.node_name, decision.failure) == ("n1", None)


def test_a_single_feasible_node_is_taken_without_scoring() -> None:
    pre, scores = plugin(PreScores, "P"), plugin(Scores, "S", ValueError("asked"))
    decision = decide(World(plugin(Filters, "A", by_name(n0=NO, n2=NO)), pre, scores))
    assert (decision.node_name, decision.scores) == ("n1", None)
    assert pre.calls == scores.calls == []


def test_without_score_plugins_the_first_fitting_node_is_taken() -> None:
    decision = decide(World(plugin(Filters, "A", by_name(n0=NO))))
    assert (decision.node_name, decision.looked_at) == ("n1", 2)
    assert decision.feasible is not None
    assert decision.feasible.names == ["n1"]


def test_without_nodes_nothing_is_asked() -> None:
    asked = plugin(PreFilters, "A"), plugin(PostFilters, "B", NO)
    decision = decide(World(*asked, nodes=0))
    failure = decision.failure
    assert failure is not None
    assert failure.message == "no nodes available to schedule pods"
    assert failure.is_rejection
    assert (failure.unschedulable_plugins, failure.pending_plugins) == (set(), set())
    assert failure.nominated_node == ""
    assert [each.calls for each in asked] == [[], []]


# Where the search starts


def test_the_start_moves_by_the_nodes_looked_at() -> None:
    scheduling = NodeChooser()
    world = World(plugin(Filters, "A", by_name(n1=NO)), nodes=3)
    starts, chosen = [], []
    for _ in range(4):
        starts.append(scheduling.start)
        chosen.append(decide(world, scheduling=scheduling).node_name)
    assert starts == [0, 1, 0, 1]
    assert chosen == ["n0", "n2", "n0", "n2"]


def test_the_start_is_shared_by_profiles() -> None:
    scheduling = NodeChooser()
    assert decide(World(), scheduling=scheduling).node_name == "n0"
    assert decide(World(), scheduling=scheduling).node_name == "n1"


@pytest.mark.parametrize(
    ("plugins", "pod"),
    [
        ([plugin(PreFilters, "A", NO)], make_pod()),
        ([plugin(PreFilters, "A", ValueError("broken"))], make_pod()),
        ([], make_pod(status={"nominatedNodeName": "n2"})),
    ],
)
def test_the_start_stays_if_pre_filter_fails_or_the_nominated_node_is_taken(
    plugins: list[type[Any]], pod: Pod
) -> None:
    scheduling = NodeChooser()
    scheduling.start = 1
    decide(World(*plugins), pod, scheduling)
    assert scheduling.start == 1


def test_the_start_counts_a_narrowed_list_modulo_all_nodes() -> None:
    scheduling = NodeChooser()
    scheduling.start = 2
    world = World(plugin(PreFilters, "A", {"n0", "n1"}), plugin(Scores, "S", 1))
    decision = decide(world, scheduling=scheduling)
    assert (decision.looked_at, scheduling.start) == (2, 1)


@pytest.mark.parametrize(
    ("of_profile", "of_all", "feasible"), [(None, 0, 120), (None, 60, 150), (80, 60, 200), (0, 60, 120)]
)
def test_how_many_nodes_are_searched(of_profile: int | None, of_all: int, feasible: int) -> None:
    world = World(plugin(FastScores, "S", lambda cycle, pod, nodes: nodes.pod_count), nodes=250)
    world.profile.percentage_of_nodes_to_score = of_profile
    decision = decide(world, scheduling=NodeChooser(of_all))
    assert decision.feasible is not None
    assert (len(decision.feasible), decision.looked_at) == (feasible, feasible)


def test_find_all_looks_at_every_node() -> None:
    decision = decide(World(nodes=250), scheduling=NodeChooser(find_all=True))
    assert decision.looked_at == 250


# The nominated node comes first


def nominated(name: str) -> Pod:
    return make_pod(status={"nominatedNodeName": name})


def test_the_nominated_node_is_taken_if_it_fits() -> None:
    asked = plugin(Filters, "A")
    decision = decide(World(asked, plugin(Scores, "S", by_name(n0=100))), nominated("n2"))
    assert (decision.node_name, decision.nominated_first, decision.looked_at) == ("n2", True, 1)
    assert asked.calls == ["n2"]


def test_a_nominated_node_that_does_not_fit_is_looked_at_again_with_the_others() -> None:
    asked = plugin(Filters, "A", by_name(n2=NO))
    decision = decide(World(asked, plugin(Scores, "S", 1)), nominated("n2"))
    assert (decision.node_name, decision.nominated_first) == ("n0", False)
    assert dict(decision.statuses.explicit()) == {"n2": NO.by("A")}
    assert asked.calls == ["n2", "n0", "n1", "n2"]


def test_the_rejection_of_the_nominated_node_stays_recorded() -> None:
    decision = decide(World(plugin(Filters, "A", by_name(n2=NO))), nominated("n2"))
    assert (decision.node_name, decision.looked_at) == ("n0", 1)
    assert decision.statuses.get("n2") == NO.by("A")


def test_who_rejects_the_nominated_node_is_named_among_those_who_narrowed() -> None:
    world = World(plugin(PreFilters, "P", {"n2"}), plugin(Filters, "A", NO))
    failure = decide(world, nominated("n2")).failure
    assert failure is not None
    assert failure.message == "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [A P]."


def test_a_nominated_node_that_is_gone_is_ignored() -> None:
    assert decide(World(), nominated("elsewhere")).node_name == "n0"


def test_an_error_at_the_nominated_node_is_ignored() -> None:
    times: list[str] = []

    def answer(cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        times.append(node.name)
        return Status.error("broken") if len(times) == 1 else None

    decision = decide(World(plugin(Filters, "A", answer)), nominated("n2"))
    assert (decision.node_name, decision.failure) == ("n0", None)
    assert len(decision.statuses) == 0


def test_the_nominated_node_must_fit_beside_more_important_nominated_pods() -> None:
    def crowded(cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return NO if node.pods else None

    world = World(plugin(Filters, "A", crowded))
    world.services.nominations.add(make_pod("rival", priority=9), "n2")
    assert decide(world, nominated("n2")).node_name == "n0"


# Nothing fits


def failure_of(*plugins: type[Any], nodes: int = 3) -> tuple[str, set[str], set[str], str | None]:
    decision = decide(World(*plugins, nodes=nodes))
    failure = decision.failure
    assert failure is not None
    assert failure.is_rejection
    assert failure.status.message == failure.message
    return failure.message, failure.unschedulable_plugins, failure.pending_plugins, failure.nominated_node


@pytest.mark.parametrize(
    ("plugins", "message", "unschedulable", "pending"),
    [
        ([plugin(Filters, "A", NO)], "0/3 nodes are available: 3 no.", {"A"}, set()),
        (
            [plugin(Filters, "A", by_name(n0=NO)), plugin(Filters, "B", LATER)],
            "0/3 nodes are available: 1 no, 2 later.",
            {"A", "B"},
            {"B"},
        ),
        (
            [plugin(Filters, "A", Status.unschedulable("no", "never"))],
            "0/3 nodes are available: 3 never, 3 no.",
            {"A"},
            set(),
        ),
        # PreFilter rejected: its message alone
        ([plugin(PreFilters, "P", NEVER)], "0/3 nodes are available: never.", {"P"}, set()),
        (
            [plugin(PreFilters, "P", {"n0"}), plugin(PreFilters, "Q", NEVER)],
            "0/3 nodes are available: never.",
            {"Q"},
            set(),
        ),
        (
            [plugin(PreFilters, "P", {"n0"}), plugin(PreFilters, "Q", NO)],
            "0/3 nodes are available: no.",
            {"P", "Q"},
            set(),
        ),
        (
            [plugin(PreFilters, "P", {"n0"}), plugin(PreFilters, "Q", {"n1"})],
            "0/3 nodes are available: node(s) didn't satisfy plugin(s) [P Q] simultaneously.",
            {"P", "Q"},
            set(),
        ),
        # PreFilter narrowed: the other nodes say so, and those who narrowed are held responsible too
        (
            [plugin(PreFilters, "P", {"n0"}), plugin(Filters, "A", NO)],
            "0/3 nodes are available: 1 no, 2 node(s) didn't satisfy plugin(s) [P].",
            {"A", "P"},
            set(),
        ),
        (
            [plugin(PreFilters, "P", {"elsewhere"})],
            "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [P].",
            {"P"},
            set(),
        ),
    ],
)
def test_a_pod_that_fits_nowhere(
    plugins: list[type[Any]], message: str, unschedulable: set[str], pending: set[str]
) -> None:
    assert failure_of(*plugins) == (message, unschedulable, pending, "")


def test_a_pre_filter_rejection_asks_no_filter() -> None:
    asked = plugin(PreFiltersAndFilters, "P", NEVER)
    failure_of(asked)
    assert asked.calls == ["pod"]


@pytest.mark.parametrize(
    ("answers", "text", "nominated_node"),
    [
        ([Nomination("n1")], "", "n1"),
        ([NO, Nomination("n1")], "", "n1"),
        ([Nomination("", NO)], " no", ""),
        ([NO], " no", None),
        ([NO, Status.unschedulable("no idea.")], " no, no idea.", None),
        ([NEVER, Nomination("n1")], " never", None),
        ([Nomination("n1", NO), Status.error("not found")], " not found", None),
    ],
)
def test_what_post_filter_says_is_added(answers: list[Any], text: str, nominated_node: str | None) -> None:
    after = [plugin(PostFilters, name, answer) for name, answer in zip("YZ", answers, strict=False)]
    assert failure_of(plugin(Filters, "A", NO), *after) == (
        f"0/3 nodes are available: 3 no.{text}",
        {"A"},
        set(),
        nominated_node,
    )


@pytest.mark.parametrize("answer", [NO, NEVER])
def test_post_filter_runs_after_any_rejection(answer: Status) -> None:
    for base in (Filters, PreFilters):
        after = plugin(PostFilters, "Z", NO)
        failure_of(plugin(base, "A", answer), after)
        assert after.calls == ["pod"]


# Something breaks


@pytest.mark.parametrize(
    ("broken", "phase", "message"),
    [
        (
            plugin(PreFilters, "A", ValueError("x")),
            "PreFilter",
            'running PreFilter plugin "A": ValueError: x',
        ),
        (plugin(PreFilters, "A", LATER), "PreFilter", 'running PreFilter plugin "A": later'),
        (plugin(Filters, "A", ValueError("x")), "Filter", 'running "A" filter plugin: ValueError: x'),
        (plugin(PreScores, "A", NO), "Score", 'running PreScore plugin "A": no'),
        (
            plugin(Scores, "A", ValueError("x")),
            "Score",
            'running Score plugins: plugin "A" failed with: ValueError: x',
        ),
        (
            plugin(Scores, "A", 101),
            "Score",
            'applying score defaultWeights on Score plugins: plugin "A" returns an invalid score 101, '
            "it should in the range of [0, 100] after normalizing",
        ),
    ],
)
def test_an_error_ends_the_attempt(broken: type[Any], phase: str, message: str) -> None:
    after = plugin(PostFilters, "Z", NO)
    failure = decide(World(broken, plugin(Scores, "S", 1), after)).failure
    assert failure is not None
    assert not failure.is_rejection
    assert (failure.phase, failure.message) == (phase, message)
    assert (failure.unschedulable_plugins, failure.pending_plugins) == (set(), set())
    assert failure.nominated_node == ""
    assert after.calls == []


def test_nodes_are_looked_at_one_zone_after_the_other() -> None:
    zones = {"a1": "a", "a2": "a", "b1": "b", "c1": "c", "a3": "a"}
    asked = plugin(Filters, "A")
    nodes = [make_node(name, labels={"topology.kubernetes.io/zone": zone}) for name, zone in zones.items()]
    decide(World(asked, plugin(Scores, "S", 1), nodes=nodes))
    assert asked.calls == ["a1", "b1", "c1", "a2", "a3"]
