"""Which plugins are asked about the second pod of a template, and which are not."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import pytest

from moorage import CycleState, FilterPlugin, NodeInfo, Pod, PreFilterPlugin, ScorePlugin, Status
from moorage.framework.extension_points import Plugin
from moorage.framework.observer import NoObserver
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.plugins.node_unschedulable import NodeUnschedulable
from moorage.scheduler.cycle import NodeChooser
from moorage.testing import make_node, make_pod
from tests.framework.scripted import World

asked: list[tuple[str, str]] = []


@pytest.fixture(autouse=True)
def nothing_asked() -> None:
    asked.clear()


class Filters(FilterPlugin):
    wanted = True

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        asked.append((self.name, node.name))
        return None if type(self).wanted or node.name != "n0" else Status.unschedulable("not now")


class Scores(ScorePlugin):
    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        asked.append((self.name, node.name))
        return len(node.pods)


class SignsFilters(Filters):
    def sign(self, pod: Pod) -> Hashable:
        return pod.labels.get("tier", "")


class SignsScores(Scores):
    def sign(self, pod: Pod) -> Hashable:
        return pod.labels.get("tier", "")


class FailsToSign(Scores):
    def sign(self, pod: Pod) -> Hashable:
        raise ValueError("broken")


class SignsWithoutHash(Scores):
    def sign(self, pod: Pod) -> Hashable:
        return []  # type: ignore[return-value]


class Rejects(PreFilterPlugin):
    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status:
        return Status.unresolvable("never")


class Counts(NoObserver):
    """Which plugins PreFilter is counted for."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def plugin_evaluated(self, plugin: str, point: str, profile: str, count: int = 1) -> None:
        self.names += [plugin] if point == "PreFilter" else []

    def plugins_evaluated(self, plugins: Iterable[str], point: str, profile: str, count: int = 1) -> None:
        self.names += plugins if point == "PreFilter" else []


class OwnFit(NodeResourcesFit):
    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Any) -> Any:
        asked.append((self.name, "all"))
        return super().filter_nodes(cycle, pod, nodes)


def decided(world: World, number: int, **pod: Any) -> list[str]:
    """The nodes about which somebody was asked for one more pod."""
    asked.clear()
    decision = NodeChooser(find_all=True).decide(world.profile, make_pod(f"p{number}", **pod))
    assert decision.failure is None
    return [node for _, node in asked]


@pytest.mark.parametrize("plugin", [Filters, Scores, FailsToSign, SignsWithoutHash])
def test_a_plugin_that_does_not_sign_is_asked_for_every_pod(plugin: type[Plugin]) -> None:
    world = World(plugin)
    for number in range(3):
        assert decided(world, number) == ["n0", "n1", "n2"]


def test_an_answer_that_changes_its_mind_is_heard() -> None:
    world = World(Filters)
    chooser = NodeChooser(find_all=True)
    assert chooser.decide(world.profile, make_pod("a")).statuses.get("n0").message == ""
    Filters.wanted = False
    try:
        decision = chooser.decide(world.profile, make_pod("b"))
    finally:
        Filters.wanted = True
    assert decision.statuses.get("n0").message == "not now"


@pytest.mark.parametrize("plugin", [SignsFilters, SignsScores])
def test_a_plugin_that_signs_is_asked_about_nodes_that_changed(plugin: type[Plugin]) -> None:
    world = World(plugin)
    assert decided(world, 0) == ["n0", "n1", "n2"]
    assert decided(world, 1) == []
    assert decided(world, 2, labels={"tier": "web"}) == ["n0", "n1", "n2"]
    world.state.add_pod(make_pod("placed", node="n1"))
    assert decided(world, 3) == ["n1"]
    assert decided(world, 4, labels={"tier": "web"}) == ["n1"]
    world.state.put_node(make_node("n2", labels={"new": "label"}))
    assert decided(world, 5) == ["n2"]
    world.state.put_node(make_node("n3"))
    assert sorted(decided(world, 6)) == ["n0", "n1", "n2", "n3"]


def test_a_plugin_that_signs_is_not_asked_about_nodes_that_others_rejected() -> None:
    world = World(
        NodeUnschedulable, SignsFilters, nodes=[make_node("n0"), make_node("n1", unschedulable=True)]
    )
    assert decided(world, 0) == ["n0"]
    world.state.put_node(make_node("n1"))
    assert decided(world, 1) == ["n1"]


def test_scores_that_were_kept_count() -> None:
    world = World(SignsScores)
    decided(world, 0)
    world.state.add_pod(make_pod("placed", node="n2"))
    decision = NodeChooser(find_all=True).decide(world.profile, make_pod("p"))
    assert decision.node_name == "n2"
    assert decision.scores is not None
    assert {name: scores.tolist() for name, scores in decision.scores.by_plugin.items()} == {
        "SignsScores": [0, 0, 1]
    }


def test_a_plugin_made_of_one_in_tree_is_asked() -> None:
    world = World(OwnFit)
    assert decided(world, 0, cpu="1") == ["all"]
    assert decided(world, 1, cpu="1") == ["all"]


def test_why_nodes_were_rejected_is_found_out_when_somebody_wants_to_know() -> None:
    world = World(NodeResourcesFit, nodes=[make_node("n0", cpu="1"), make_node("n1", cpu="4")])
    chooser = NodeChooser(find_all=True)
    chooser.decide(world.profile, make_pod("a", cpu="3"))
    decision = chooser.decide(world.profile, make_pod("b", cpu="3"))
    assert decision.node_name == "n1"
    assert decision.statuses.get("n0") == Status.unresolvable("Insufficient cpu").by("NodeResourcesFit")
    assert len(decision.statuses) == 1


@pytest.mark.parametrize(
    ("plugins", "counted"),
    [
        ((NodeResourcesFit, Rejects), ["NodeResourcesFit", "Rejects"]),
        ((Rejects, NodeResourcesFit), ["Rejects"]),
    ],
    ids=["before", "after"],
)
def test_who_comes_after_a_rejection_is_not_counted(
    plugins: tuple[type[Plugin], ...], counted: list[str]
) -> None:
    world = World(*plugins)
    chooser = NodeChooser(find_all=True)
    chooser.decide(world.profile, make_pod("a"))
    chooser.decide(world.profile, make_pod("b"))
    world.profile.observer = counts = Counts()
    decision = chooser.decide(world.profile, make_pod("c"))
    assert decision.failure is not None
    assert sorted(counts.names) == sorted(counted)
