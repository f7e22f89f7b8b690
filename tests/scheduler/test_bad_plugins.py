"""A plugin that fails: its pod gets an error that names it, it is counted, and other pods are scheduled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import PermitPlugin, PreEnqueuePlugin, ReservePlugin
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Status
from moorage.process.metrics import SchedulerMetrics
from moorage.state.node_info import NodeInfo
from tests.framework.scripted import (
    Binds,
    FastScores,
    Filters,
    Permits,
    PostBinds,
    PostFilters,
    PreBinds,
    PreFilters,
    PreScores,
    Reserves,
    Scores,
    Scripted,
    plugin,
)
from tests.scheduler.worlds import World

BROKEN = ValueError("broken")


def only_for_bad(answer: Any, otherwise: Any) -> Any:
    """The answer for the pod `bad`; other pods get the other one."""

    def answered(cycle: CycleState, pod: Pod, *rest: Any) -> Any:
        if pod.name != "bad":
            return otherwise(*rest) if callable(otherwise) else otherwise
        if isinstance(answer, Exception):
            raise answer
        return answer

    return answered


def later(answered: Any) -> Any:
    """The same in an `async def`."""

    async def awaited(*asked: Any) -> Any:
        await asyncio.sleep(1)
        return answered(*asked)

    return awaited


class Counting(World):
    """A scheduler with the plugin A, whose metrics are looked at."""

    def __init__(
        self,
        made: type[Any],
        nodes: int = 2,
        in_tree: Sequence[str] = ("PrioritySort", "A", "ImageLocality", "DefaultBinder"),
    ) -> None:
        self.metrics = SchedulerMetrics()
        super().__init__(made, nodes=nodes, in_tree=in_tree, observer=self.metrics)

    def counted(self, name: str) -> dict[str, float]:
        """A counter's values by plugin."""
        return {
            sample.labels["plugin"]: sample.value
            for family in self.metrics.registry.collect()
            for sample in family.samples
            if sample.name == f"scheduler_{name}" and sample.labels["profile"] == "default-scheduler"
        }

    def try_both(self) -> None:
        self.add("bad")
        self.add("good")
        self.schedule()


NO_STATUS = "use None or a Status"
NO_SET = "use None, a set of node names or a Status"
NO_WAIT = "use None, a Wait or a Status"
CASES: list[tuple[type[Scripted], Any, Any, str]] = [
    # Plugin, its answer, what it answers to other pods, and what is said
    (PreFilters, BROKEN, None, 'running PreFilter plugin "A": ValueError: broken'),
    (PreFilters, 7, None, f'running PreFilter plugin "A": pre_filter returned int 7, {NO_SET}'),
    (Filters, BROKEN, None, 'running "A" filter plugin: ValueError: broken'),
    (Filters, "no", None, f"running \"A\" filter plugin: filter returned str 'no', {NO_STATUS}"),
    (PreScores, BROKEN, None, 'running PreScore plugin "A": ValueError: broken'),
    (PreScores, True, None, f'running PreScore plugin "A": pre_score returned bool True, {NO_STATUS}'),
    (Scores, BROKEN, 1, 'running Score plugins: plugin "A" failed with: ValueError: broken'),
    (
        Scores,
        0.5,
        1,
        'running Score plugins: plugin "A" failed with: '
        "score returned float 0.5 for node n0, use a whole number",
    ),
    *(
        (
            Scores,
            number,
            1,
            'applying score defaultWeights on Score plugins: plugin "A" returns an invalid '
            f"score {number}, it should in the range of [0, 100] after normalizing",
        )
        for number in (-1, 101)
    ),
    (
        FastScores,
        [1, 2],
        lambda nodes: np.zeros(len(nodes), dtype=np.int64),
        'running Score plugins: plugin "A" failed with: '
        "score_nodes returned list, use an array of whole numbers",
    ),
    (Reserves, BROKEN, None, 'running Reserve plugin "A": ValueError: broken'),
    (Reserves, 7, None, f'running Reserve plugin "A": reserve returned int 7, {NO_STATUS}'),
    (Permits, BROKEN, None, 'running Permit plugin "A": ValueError: broken'),
    (Permits, 7, None, f'running Permit plugin "A": permit returned int 7, {NO_WAIT}'),
]
BINDING: list[tuple[type[Scripted], Any, Any, str]] = [
    (PreBinds, BROKEN, None, 'running PreBind plugin "A": ValueError: broken'),
    (PreBinds, 7, None, f'running PreBind plugin "A": pre_bind returned int 7, {NO_STATUS}'),
    (Binds, BROKEN, Status.skip(), 'running Bind plugin "A": ValueError: broken'),
    (Binds, 7, Status.skip(), f'running Bind plugin "A": bind returned int 7, {NO_STATUS}'),
]


def name_of(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else ""


def check_error(world: Counting, message: str) -> None:
    world.try_both()
    assert world.node_of("bad") == ""
    assert world.condition("bad") == ("False", "SchedulerError", message)
    assert ("FailedScheduling", message) in world.notes
    assert world.place("bad") == "backoff"  # it is tried again
    assert world.counted("plugin_failures_total") == {"A": 1}
    assert world.node_of("good")


@pytest.mark.parametrize(("base", "answer", "otherwise", "message"), CASES, ids=name_of)
def test_the_pod_gets_an_error_and_others_go_on(
    base: type[Scripted], answer: Any, otherwise: Any, message: str
) -> None:
    check_error(Counting(plugin(base, "A", only_for_bad(answer, otherwise))), message)


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async"])
@pytest.mark.parametrize(("base", "answer", "otherwise", "message"), BINDING, ids=name_of)
def test_the_same_while_binding(
    base: type[Scripted], answer: Any, otherwise: Any, message: str, is_async: bool
) -> None:
    answered = only_for_bad(answer, otherwise)
    check_error(Counting(plugin(base, "A", later(answered) if is_async else answered)), message)


def test_a_pod_that_fits_nowhere_is_unschedulable_whatever_fails_afterwards() -> None:
    class A(Filters, PostFilters):
        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return Status.unschedulable("no") if pod.name == "bad" else None

        def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
            raise BROKEN

    world = Counting(A)
    world.try_both()
    message = '0/2 nodes are available: 2 no. running PostFilter plugin "A": ValueError: broken'
    assert world.condition("bad") == ("False", "Unschedulable", message)
    assert world.counted("plugin_failures_total") == {"A": 1}
    assert world.node_of("good")


def test_a_bound_pod_stays_bound_whatever_fails_afterwards() -> None:
    world = Counting(plugin(PostBinds, "A", only_for_bad(BROKEN, None)))
    world.try_both()
    assert world.node_of("bad")
    assert world.node_of("good")
    assert world.counted("plugin_failures_total") == {"A": 1}


def test_a_pod_that_cannot_be_let_in_waits() -> None:
    class A(PreEnqueuePlugin):
        def pre_enqueue(self, pod: Pod) -> Status | None:
            if pod.name == "bad":
                raise BROKEN
            return None

    world = Counting(A)
    world.try_both()
    assert world.place("bad") == "gated"
    assert ("FailedScheduling", 'running PreEnqueue plugin "A": ValueError: broken') in world.notes
    assert world.counted("plugin_failures_total")["A"] >= 1
    assert world.node_of("good")

    standby = Counting(A)
    standby.services.may_bind = lambda: False
    standby.add("bad")
    assert standby.place("bad") == "gated"
    assert standby.notes == []


def test_a_failure_to_unreserve_is_counted_too() -> None:
    class A(ReservePlugin, PermitPlugin):
        def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
            return None

        def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
            return Status.unschedulable("no") if pod.name == "bad" else None

        def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
            raise BROKEN

    world = Counting(A)
    world.try_both()
    assert world.condition("bad") == ("False", "Unschedulable", "0/1 nodes are available: 1 no.")
    assert world.counted("plugin_failures_total") == {"A": 1}
    assert world.node_of("good")


def test_a_pod_rejected_before_others_were_asked_is_no_failure_of_theirs() -> None:
    world = World(
        plugin(PreFilters, "A", Status.unresolvable("never")),
        in_tree=("PrioritySort", "A", "DynamicResources", "DefaultBinder"),
        observer=(counting := SchedulerMetrics()),
    )
    world.add()
    world.schedule()
    assert world.condition() == ("False", "Unschedulable", "0/1 nodes are available: never. not found")
    assert not any("plugin_failures" in sample.name for each in counting.collect() for sample in each.samples)


def test_a_rejection_is_no_failure() -> None:
    world = Counting(plugin(Filters, "A", only_for_bad(Status.unschedulable("no"), None)))
    world.try_both()
    assert world.condition("bad") == ("False", "Unschedulable", "0/2 nodes are available: 2 no.")
    assert world.counted("plugin_failures_total") == {}


def test_a_slow_plugin_is_counted_and_its_pod_is_scheduled(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def slow(*asked: Any) -> None:
        nonlocal now
        now += 1

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    world = Counting(plugin(Permits, "A", slow))
    world.try_both()
    assert world.node_of("bad") and world.node_of("good")
    assert world.counted("plugin_slow_calls_total") == {"A": 2}
    assert world.counted("plugin_failures_total") == {}
