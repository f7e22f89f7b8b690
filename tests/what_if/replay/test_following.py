"""A trace exactly as it was, with a word before each bind."""

from __future__ import annotations

from moorage.api.pods import Condition, Pod
from moorage.plugins.catalog import in_tree_registry
from moorage.testing import make_node, make_pod
from moorage.what_if.replay.following import follow
from moorage.what_if.scenario import Scenario
from tests.what_if.replay.traces import BEGAN, Recording

Asked = list[tuple[float, str, str, list[str]]]


def followed(recording: Recording) -> tuple[Asked, Scenario]:
    asked: Asked = []

    def before_bind(scenario: Scenario, pod: Pod, node_name: str) -> None:
        assert not pod.spec.node_name
        placed = sorted(other.name for other in scenario.services.state.pods)
        asked.append((scenario.services.clock() - BEGAN, pod.name, node_name, placed))

    return asked, follow(recording.trace(), in_tree_registry(), before_bind)


def test_each_bind_is_asked_about_with_the_cluster_as_it_was_just_before() -> None:
    recording = Recording(make_node("a"), make_node("b"))
    recording.put(0, make_pod("running", node="a"))
    recording.pod("first", 1, bound=5, gone=20, on="b")
    recording.pod("second", 2, bound=6, on="a")
    recording.pod("third", 21, bound=22, on="a")
    recording.put(23, make_pod("static", node="a"))
    asked, scenario = followed(recording)
    assert asked == [
        (5, "first", "b", ["running"]),
        (6, "second", "a", ["first", "running"]),
        (22, "third", "a", ["running", "second"]),
    ]
    assert sorted(pod.name for pod in scenario.services.state.pods) == [
        "running",
        "second",
        "static",
        "third",
    ]


def test_a_pod_that_was_seen_with_its_node_only_is_asked_about_if_a_scheduler_gave_it() -> None:
    recording = Recording(make_node("a"))
    late = make_pod("late", node="a", cpu=1)
    late.status.conditions = (Condition(type="PodScheduled", status="True"),)
    recording.put(5, late)
    asked, _ = followed(recording)
    assert asked == [(5, "late", "a", [])]


def test_the_scenario_can_be_asked_for_the_best_nodes() -> None:
    recording = Recording(make_node("full", cpu=2), make_node("empty", cpu=2))
    recording.put(0, make_pod("running", node="full", cpu=1))
    recording.pod("p", 1, bound=2, on="empty", cpu=1)
    best: list[list[str]] = []
    follow(
        recording.trace(),
        in_tree_registry(),
        lambda scenario, pod, node: best.append(scenario.evaluate(pod).document()["best"]),
    )
    assert best == [["empty"]]


def test_who_is_nominated_counts_until_it_has_its_node() -> None:
    recording = Recording(make_node("a", cpu=2), make_node("b", cpu=2))
    nominated = make_pod("urgent", cpu=2, priority=10, status={"nominatedNodeName": "a"})
    recording.put(1, nominated)
    recording.pod("small", 2, bound=3, on="b", cpu=1)
    best: list[list[str]] = []
    scenario = follow(
        recording.trace(),
        in_tree_registry(),
        lambda scenario, pod, node: best.append(scenario.evaluate(pod).document()["best"]),
    )
    assert best == [["b"]]
    assert len(scenario.services.nominations) == 1
