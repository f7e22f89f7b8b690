"""The log in memory: outcomes, what it keeps and drops, and who tipped the scale."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin, PermitPlugin, PreFilterPlugin, ScorePlugin
from moorage.framework.status import Status
from moorage.insight.log.decision_log import DECIDED, ENDED, DecisionLog
from moorage.insight.log.entries import Arrays, Layout, NodeOrder, Part, Seen
from moorage.insight.log.matrix import Numbers
from moorage.insight.log.tipping import tipping
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
from moorage.what_if.simulation import Simulation
from tests.insight.log.witnesses import Witness, contrasts


class Refuses(PermitPlugin):
    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return Status.unschedulable("not today") if "refused" in pod.labels else None


class Breaks(PreFilterPlugin):
    def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
        if "breaks" in pod.labels:
            raise ValueError("broken")


class Noisy(FilterPlugin, ScorePlugin):
    """Says something else about every node and pod."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        number = int(node.name.rpartition("-")[2])
        return Status.unschedulable(f"{node.name} does not like {pod.name}") if number % 3 == 0 else None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return (len(pod.name) * 7 + int(node.name.rpartition("-")[2]) * 31) % 101


def simulation(log: DecisionLog, *plugins: type[Any], nodes: int = 4) -> Simulation:
    registry = in_tree_registry()
    for plugin in plugins:
        registry.add_class(plugin, "the test")
    made = Simulation(default_configuration(registry, [plugin.name for plugin in plugins]), registry, log)
    for number in range(nodes):
        made.add(make_node(f"node-{number}", cpu="4"))
    return made


def drained(made: Simulation, *pods: Pod) -> None:
    for pod in pods:
        made.add(pod)
    asyncio.run(made.scheduler.drain())


def test_a_bound_pod_has_its_node_its_second_best_and_its_end() -> None:
    log = DecisionLog()
    drained(simulation(log), make_pod("web", cpu="1"))
    [attempt] = log.attempts(pod="default/web")
    detail = attempt.detail()
    assert (detail["outcome"], detail["try"], detail["feasible"], detail["lookedAt"]) == ("bound", 1, 4, 4)
    assert detail["node"] == "node-0" and detail["ties"] == 4 and detail["after"] is not None
    assert detail["second"] == {"node": "node-1", "score": detail["score"], "by": 0}
    assert {each["plugin"] for each in detail["filters"] if each["skipped"]} >= {"NodePorts", "VolumeZone"}


def test_a_pod_that_does_not_fit_tells_who_rejected_which_nodes() -> None:
    log = DecisionLog()
    made = simulation(log)
    made.add(make_node("node-4", cpu="64", taints=["gpu=true:NoSchedule"]))
    drained(made, make_pod("big", cpu="16"))
    [attempt] = log.attempts(outcome="unschedulable", plugin="NodeResourcesFit")
    by_plugin = {each["plugin"]: each["reasons"] for each in attempt.detail()["filters"] if each["rejected"]}
    assert by_plugin == {
        "NodeResourcesFit": {"Insufficient cpu": 4},
        "TaintToleration": {"node(s) had untolerated taint(s)": 1},
    }
    assert attempt.entry.woken_by == "UnschedulablePodAdd" and attempt.entry.node == ""
    assert not log.attempts(plugin="NodePorts")


def test_pods_that_fail_alike_share_what_was_found_out() -> None:
    log = DecisionLog()
    drained(simulation(log), *(make_pod(f"big-{number}", cpu="16") for number in range(3)))
    entries = list(log.entries())
    assert [entry.name for entry in entries] == ["big-0", "big-1", "big-2"]
    assert len({id(entry.seen) for entry in entries}) == 1
    assert len({entry.message for entry in entries}) == 1
    times = [log.attempts(pod=entry.key)[0].detail()["took"] for entry in entries]
    assert times[0] and not times[1] and not times[2], "nothing was asked for them"
    assert [each.number for each in log.attempts(before=3)] == [2, 1]


def test_who_refuses_after_a_node_was_chosen_is_named() -> None:
    log = DecisionLog()
    drained(simulation(log, Refuses), make_pod("web", labels={"refused": ""}))
    summary = log.attempts()[0].summary()
    assert (summary["outcome"], summary["node"]) == ("refused", "node-0")
    assert summary["after"]["by"] == "Refuses" and "not today" in summary["after"]["message"]


def test_a_plugin_that_fails_is_an_error_of_its_own() -> None:
    log = DecisionLog()
    drained(simulation(log, Breaks), make_pod("web", labels={"breaks": ""}))
    summary = log.attempts()[0].summary()
    assert (summary["outcome"], summary["plugins"]) == ("error", ["Breaks"])
    assert "broken" in summary["message"]


def test_preemption_has_its_candidates_and_the_node_it_nominated() -> None:
    log = DecisionLog()
    made = simulation(log, nodes=2)
    for number in range(2):
        made.add(make_pod(f"low-{number}", cpu="3", node=f"node-{number}", priority=number))
    drained(made, make_pod("high", cpu="3", priority=100))
    detail = log.attempts(outcome="nominated")[0].detail()
    assert detail["node"] == "node-0" == detail["preemption"]["nominated"]
    found = {each["node"]: each["victims"] for each in detail["preemption"]["candidates"]}
    assert found == {"node-0": ["default/low-0"], "node-1": ["default/low-1"]}


def test_plugins_of_others_have_their_times_in_every_attempt() -> None:
    log = DecisionLog()
    drained(simulation(log, Noisy), make_pod("web"))
    took = {(each["point"], each["plugin"]) for each in log.attempts()[0].detail()["took"]}
    assert {("Filter", "Noisy"), ("Score", "Noisy")} <= took


def test_who_follows_the_log_hears_of_attempts_and_of_their_ends() -> None:
    log, heard = DecisionLog(), list[tuple[str, str, str]]()
    log.followers.append(lambda entry, what: heard.append((entry.name, what, entry.outcome)))
    drained(simulation(log), make_pod("web"))
    assert heard == [("web", DECIDED, "assumed"), ("web", ENDED, "bound")]


@pytest.mark.parametrize("few", [0, 1_000_000])
def test_memory_is_kept_within_its_limit(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether old attempts are packed first or dropped at once, all that are left tell the truth."""
    monkeypatch.setattr("moorage.insight.log.decision_log.FEWEST", few)
    log = Witness(limit_bytes=150_000)
    made = simulation(log, Noisy, nodes=120)
    for batch in range(8):
        drained(made, *(make_pod(f"web-{batch}-{number}", cpu="10m") for number in range(20)))
        made.add(make_node(f"late-{batch}"))
    assert log.size_bytes <= log.limit_bytes
    assert 1 < log.oldest < log.newest == 160 and len(log) == log.newest - log.oldest + 1
    assert log.attempt(log.oldest - 1) is None and log.attempt(log.newest + 1) is None
    for entry in log.entries():
        attempt = log.attempt(entry.number)
        assert attempt is not None and not contrasts(attempt, log.truths[entry.number])
    alive = {id(entry.seen): entry.seen for entry in log.entries()}
    orders = {id(seen.order): seen.order for seen in alive.values()}
    counted = sum(entry.room for entry in log.entries()) + sum(seen.room for seen in alive.values())
    assert log.size_bytes == counted + sum(order.room for order in orders.values())


def test_pages_of_the_matrix_are_sorted_searched_and_cut() -> None:
    log = DecisionLog()
    drained(simulation(log, Noisy, nodes=9), make_pod("web"))
    attempt = log.attempts()[0]
    by_name = attempt.matrix(sort="name", descending=False, limit=3)
    assert [row["node"] for row in by_name["rows"]] == ["node-0", "node-1", "node-2"]
    assert (by_name["total"], by_name["matching"]) == (9, 9)
    rejected = attempt.matrix(only="rejected", sort="name", descending=False)
    assert [row["node"] for row in rejected["rows"]] == ["node-0", "node-3", "node-6"]
    assert rejected["rows"][1]["reasons"] == ["node-3 does not like web"]
    found = attempt.matrix(search="node-3 does")
    assert [row["node"] for row in found["rows"]] == ["node-3"]
    noisy = attempt.matrix(sort="Noisy", only="feasible")
    place = [column["plugin"] for column in noisy["columns"]].index("Noisy")
    scores = [row["scores"][place]["normalized"] for row in noisy["rows"]]
    assert scores == sorted(scores, reverse=True) and len(scores) == 6
    with pytest.raises(ValueError, match="neither total nor name"):
        attempt.matrix(sort="Nobody")
    with pytest.raises(ValueError, match="none of feasible"):
        attempt.matrix(only="best")


def scored(scores: dict[str, list[int]], weights: dict[str, int]) -> Numbers:
    """The numbers of an attempt in which the first of the best nodes was chosen."""
    count = len(next(iter(scores.values())))
    totals = sum(np.array(each) * weights[name] for name, each in scores.items())
    parts = tuple(Part(name, np.array(each, dtype=np.int8).tobytes(), b"") for name, each in scores.items())
    seen = Seen(
        NodeOrder(1, [f"node-{number}" for number in range(count)]),
        Layout((), tuple(weights.items())),
        feasible=count,
        looked_at=count,
        unpacked=Arrays(parts=parts),
    )
    return Numbers(seen, f"node-{int(np.argmax(totals))}")


rows = st.lists(st.integers(0, 100), min_size=3, max_size=3)


@given(st.tuples(rows, rows, rows), st.tuples(*(st.integers(1, 5) for _ in range(3))))
def test_no_smaller_change_of_a_weight_turns_the_decision(
    given_scores: tuple[list[int], ...], given_weights: tuple[int, ...]
) -> None:
    names = ("A", "B", "C")
    scores, weights = (
        dict(zip(names, given_scores, strict=True)),
        dict(zip(names, given_weights, strict=True)),
    )
    numbers = scored(scores, weights)
    chosen, found = numbers.chosen, tipping(numbers)
    assert chosen is not None

    def turned(name: str, weight: float) -> set[int]:
        changed = {**weights, name: weight}
        totals = np.array([np.array(each) * changed[plugin] for plugin, each in scores.items()]).sum(axis=0)
        return set(np.flatnonzero(totals > totals[chosen] + 1e-6).tolist())

    if found is None:
        for name in names:
            assert not any(turned(name, weight / 10) for weight in range(200))
        return
    name, weight, change = found["plugin"], found["newWeight"], found["newWeight"] - found["weight"]
    beyond = 1e-3 if change > 0 else -1e-3
    other = int(found["then"].removeprefix("node-"))
    if change and weight + beyond >= 0:
        assert other in turned(name, weight + beyond)
    for each in names:
        for share in (0.0, 0.5, 0.95):
            for sign in (1, -1):
                nearer = weights[each] + sign * abs(change) * share
                assert nearer < 0 or not turned(each, nearer)


def test_a_log_that_fails_costs_no_pod_its_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("broken log")

    log = DecisionLog()
    made = simulation(log, Refuses)
    monkeypatch.setattr("moorage.insight.log.capturing.Capturer.capture", broken)
    big = (make_pod(f"big-{number}", cpu="16") for number in range(2))
    drained(made, make_pod("web"), make_pod("late", labels={"refused": ""}), *big)
    assert made.scheduler.state.pod_total == 1 and not len(log)
    assert sum(made.scheduler.queue.counts()) == 3
