"""Preemption that spares pods as their priority class says."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.workloads import PriorityClass
from moorage.config import ConfigError, KubeSchedulerConfiguration, load
from moorage.contrib.naming_dry_run import MOST_NAMED
from moorage.contrib.preemption_toleration import (
    MINIMUM_PRIORITY,
    SECONDS,
    PreemptionToleration,
    PreemptionTolerationArgs,
    Sparing,
)
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import NodeChooser
from moorage.testing import FakeHandle, make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests.plugins.preemption.preemption_cases import budget

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    postFilter:
      enabled: [{name: PreemptionToleration}]
      disabled: [{name: "*"}]
"""
NOW = 1_700_000_000.0
MINUTES = 60


@cache
def configuration() -> KubeSchedulerConfiguration:
    return load(CONFIG).config


def low(minimum: str | None = "10000", seconds: str | None = "600", value: int = 8000) -> PriorityClass:
    annotations = {MINIMUM_PRIORITY: minimum, SECONDS: seconds}
    return from_document(
        PriorityClass,
        {
            "metadata": {
                "name": "low",
                "annotations": {name: text for name, text in annotations.items() if text is not None},
            },
            "value": value,
        },
    )


def scheduled(ago: float | None, status: str = "True") -> dict[str, Any]:
    """The status of a pod that was scheduled so many seconds ago."""
    if ago is None:
        return {}
    since = datetime.fromtimestamp(NOW - ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    condition = {"type": "PodScheduled", "status": status, "lastTransitionTime": since}
    return {"conditions": [condition]}


def victim(name: str = "victim", ago: float | None = 5 * MINUTES, **more: Any) -> Pod:
    more = {"priority": 8000, "priorityClassName": "low", "node": "n", "cpu": "1", **more}
    return make_pod(name, status=scheduled(ago), **more)


def preemptor(priority: int = 9000, **more: Any) -> Pod:
    return make_pod("in", cpu="2", priority=priority, **more)


def is_exempt(*classes: PriorityClass, of: Pod, by: Pod) -> bool:
    return Sparing(FakeHandle(classes).lister_of(PriorityClass)).is_exempt(of, by, NOW)


def world(*objects: Object) -> Scenario:
    made = Scenario(objects, in_tree_registry(), configuration())
    made.services.clock = lambda: NOW
    return made


def plugin_of(made: Scenario) -> PreemptionToleration:
    plugin = made.profile.plugins["PreemptionToleration"]
    assert isinstance(plugin, PreemptionToleration)
    return plugin


def found(made: Scenario, pod: Pod) -> tuple[dict[str, tuple[str, int]], dict[str, str]]:
    """Victims and violations by node, and the reasons of the other nodes."""
    decision = NodeChooser(find_all=True, preempts=False).decide(made.profile, pod)
    search = plugin_of(made).find_candidates(decision.cycle, pod, decision.statuses, everywhere=True)
    candidates = {
        each.node_name: (" ".join(one.name for one in each.victims), each.pdb_violations)
        for each in search.candidates
    }
    return candidates, {name: status.message for name, status in search.statuses.explicit()}


@pytest.mark.parametrize(
    ("of", "by", "classes", "expected"),
    [
        # The worked example
        (victim(), preemptor(), [low()], True),
        (victim(ago=10 * MINUTES), preemptor(), [low()], False),
        (victim(), preemptor(10000), [low()], False),
        (victim(ago=1000 * MINUTES), preemptor(), [low(seconds="-1")], True),
        (victim(ago=0), preemptor(), [low(seconds="0")], False),
        # In this order, each decides
        (victim(priorityClassName=""), preemptor(), [low()], False),
        (victim(), preemptor(), [], False),
        (victim(), preemptor(10000, preemptionPolicy="Never"), [low()], True),
        (victim(), preemptor(), [low(minimum="many")], False),
        (victim(), preemptor(), [low(seconds="1h")], False),
        (victim(), preemptor(), [low(minimum=str(2**31))], False),
        (victim(), preemptor(), [low(seconds=str(2**63))], False),
        (victim(), preemptor(), [low(seconds="1_0")], False),
        (victim(), preemptor(10001), [low(seconds="-1")], False),
        (victim(ago=None), preemptor(), [low()], True),
        (make_pod(status=scheduled(900, "False"), priorityClassName="low"), preemptor(), [low()], True),
        (victim(ago=599), preemptor(), [low()], True),
        (victim(ago=600), preemptor(), [low()], False),
        # Defaults: the value of the class and one more, and no time at all
        (victim(), preemptor(8001), [low(minimum=None)], False),
        (victim(), preemptor(8000), [low(minimum=None)], True),
        (victim(ago=0), preemptor(), [low(seconds=None)], False),
    ],
)
def test_who_is_spared(of: Pod, by: Pod, classes: list[PriorityClass], expected: bool) -> None:
    assert is_exempt(*classes, of=of, by=by) is expected


def test_a_time_that_cannot_be_read_is_long_ago() -> None:
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "yesterday"}
    odd = make_pod(status={"conditions": [condition]}, priorityClassName="low")
    assert not is_exempt(low(), of=odd, by=preemptor())


def test_a_class_that_is_gone_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    sparing = Sparing(FakeHandle().lister_of(PriorityClass))
    for _ in range(3):
        assert not sparing.is_exempt(victim(), preemptor(), NOW)
    assert caplog.messages == ["priority class low of pod default/victim is gone: pods of it are not spared"]


def test_spared_pods_are_no_victims() -> None:
    spared, old = victim("spared"), victim("old", ago=20 * MINUTES)
    made = world(low(), make_node("n", cpu="3"), spared, old, victim("free", ago=None, priorityClassName=""))
    assert found(made, preemptor()) == ({"n": ("old free", 0)}, {})


def test_a_node_where_too_many_are_spared_is_none() -> None:
    made = world(low(), make_node("n", cpu="2"), victim("a"), victim("b", ago=20 * MINUTES))
    assert found(made, preemptor()) == ({}, {"n": "Insufficient cpu"})


def test_a_node_where_all_are_spared_has_no_victims() -> None:
    above = make_pod("above", node="m", cpu="1", priority=9000)
    made = world(low(), make_node("n", cpu="2"), make_node("m", cpu="2"), victim("a"), victim("b"), above)
    reasons = {name: f"No victims found on node {name} for preemptor pod in" for name in "nm"}
    assert found(made, preemptor()) == ({}, reasons)


def test_the_message_of_an_attempt() -> None:
    made = world(low(), make_node("n", cpu="2"), victim("a"), victim("b"))
    failure = NodeChooser().decide(made.profile, preemptor()).failure
    assert failure is not None
    assert failure.message == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No victims found on node n for preemptor pod in."
    )


def test_a_message_about_many_nodes_stays_short() -> None:
    nodes = [make_node(f"n{i}", cpu="2") for i in range(MOST_NAMED + 5)]
    spared = [victim(f"v{i}", node=f"n{i}", priority=8000 + i % 2 * 1000) for i in range(MOST_NAMED + 5)]
    _, reasons = found(world(low(), *nodes, *spared), preemptor())
    assert len(reasons) == MOST_NAMED + 5
    named = [text for text in reasons.values() if text.startswith("No victims found on node ")]
    assert len(named) == MOST_NAMED
    assert set(reasons.values()) - set(named) == {"No preemption victims found for incoming pod"}


def test_budgets_are_kept_where_possible() -> None:
    made = world(
        budget(0),
        make_node("n", cpu="3"),
        victim("kept", ago=None, priorityClassName="", labels={"app": "a"}, priority=1),
        victim("lost", ago=None, priorityClassName="", priority=2),
        victim("least", ago=None, priorityClassName="", priority=3),
    )
    assert found(made, preemptor()) == ({"n": ("least lost", 0)}, {})


def test_it_evicts_and_nominates() -> None:
    made = world(low(), make_node("n", cpu="2"), victim("a", ago=20 * MINUTES), victim("b", ago=20 * MINUTES))
    decision = NodeChooser().decide(made.profile, preemptor())
    assert decision.failure is not None
    assert decision.failure.nominated_node == "n"
    assert sorted(evicted.pod.name for evicted in made.services.evicted) == ["a", "b"]


def test_as_time_passes_a_pod_is_no_longer_spared() -> None:
    made = world(low(), make_node("n", cpu="2"), victim("a", ago=590), victim("b", ago=590))
    assert found(made, preemptor())[0] == {}
    made.services.clock = lambda: NOW + 10
    assert found(made, preemptor())[0] == {"n": ("a b", 0)}


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"minCandidateNodesPercentage": 101}, "Percentage: Invalid value: 101: not in valid range [0, 100]"),
        ({"minCandidateNodesAbsolute": -1}, "Absolute: Invalid value: -1: not in valid range [0, inf)"),
        (
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "cannot be zero at the same time as minCandidateNodesAbsolute",
        ),
        ({"minCandidates": 1}, "args.minCandidates: unknown field"),
    ],
)
def test_wrong_args_are_told(args: dict[str, int], problem: str) -> None:
    config = load(CONFIG + f"  pluginConfig: [{{name: PreemptionToleration, args: {args}}}]\n").config
    with pytest.raises(ConfigError) as caught:
        Scenario((), in_tree_registry(), config)
    assert problem in str(caught.value)


def test_how_many_candidates_are_looked_for() -> None:
    args = PreemptionTolerationArgs(min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=5)
    plugin = PreemptionToleration(args, FakeHandle())
    assert [plugin.how_many(nodes) for nodes in (3, 20, 100)] == [3, 5, 10]
    assert PreemptionToleration(None, FakeHandle()).how_many(5000) == 500
