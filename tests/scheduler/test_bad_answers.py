"""Answers that are harder to tell from good ones, and exceptions that would end a program."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import (
    PermitPlugin,
    PreEnqueuePlugin,
    ReservePlugin,
)
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Code, Nomination, Status
from moorage.framework.verdicts import Verdicts
from moorage.state.node_info import NodeInfo
from moorage.testing import make_pod
from tests.framework.scripted import (
    Binds,
    FastFilters,
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
from tests.scheduler.test_bad_plugins import Counting

# The fast form

NO = Status.unschedulable("no")
WRONG_VERDICTS: dict[str, Any] = {
    "no status": lambda size: Verdicts.where(np.ones(size, dtype=bool), "no"),  # type: ignore[arg-type]
    "no statuses": lambda size: Verdicts(np.ones(size, dtype=np.int8), None),  # type: ignore[arg-type]
    "too high": lambda size: Verdicts(np.full(size, 7), (None, NO)),
    "too high of several": lambda size: Verdicts(np.full(size, 7), (None, NO, NO)),
    "negative": lambda size: Verdicts(np.full(size, -1), (None, NO)),
}


@pytest.mark.parametrize("nominated", ["", "n0"], ids=["searched", "nominated"])
@pytest.mark.parametrize("wrong", WRONG_VERDICTS)
def test_verdicts_that_mean_nothing(wrong: str, nominated: str) -> None:
    def answer(cycle: CycleState, pod: Pod, nodes: Any) -> Verdicts:
        made: Verdicts = WRONG_VERDICTS[wrong](len(nodes)) if pod.name == "bad" else Verdicts.passed()
        return made

    world = Counting(plugin(FastFilters, "A", answer))
    bad = make_pod("bad")
    bad.status.nominated_node_name = nominated
    world.client.add(bad)
    world.door.put(bad)
    world.add("good")
    world.schedule()
    condition = world.condition("bad")
    assert condition is not None
    assert condition[:2] == ("False", "SchedulerError")
    assert condition[2].startswith('running "A" filter plugin: filter_nodes returned ')
    assert world.counted("plugin_failures_total") == {"A": 1}
    assert world.node_of("good")


def test_reasons_are_texts_whatever_they_are_made_of() -> None:
    status = Status.unschedulable(["no"])  # type: ignore[arg-type]
    world = Counting(plugin(FastFilters, "A", lambda *_: Verdicts.where(np.ones(2, dtype=bool), status)))
    world.add("bad")
    world.schedule()
    assert world.condition("bad") == ("False", "Unschedulable", "0/2 nodes are available: 2 ['no'].")


def test_a_status_has_a_code() -> None:
    assert Status(2, "no").code is Code.UNSCHEDULABLE  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'no' is not a valid Code"):
        Status("no")  # type: ignore[arg-type]


def test_the_same_answer_gives_the_same_message() -> None:
    world = Counting(plugin(Filters, "A", lambda *_: object()))
    world.add("bad")
    world.schedule()
    message = 'running "A" filter plugin: filter returned object <object object>, use None or a Status'
    assert world.condition("bad") == ("False", "SchedulerError", message)


# What would end a program, or a task

BASES: list[tuple[type[Scripted], Any]] = [
    (PreFilters, None),
    (Filters, None),
    (FastFilters, Verdicts.passed()),
    (PreScores, None),
    (Scores, 1),
    (Reserves, None),
    (Permits, None),
    (PreBinds, None),
    (Binds, Status.skip()),
    (PostBinds, None),
]
MAY_BE_ASYNC = (PreBinds, Binds, PostBinds)


def name_of(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else ""


def raising(error: BaseException, otherwise: Any) -> Any:
    def answered(cycle: CycleState, pod: Pod, *rest: Any) -> Any:
        if pod.name == "bad":
            raise error
        return otherwise

    return answered


def check_goes_on(world: Counting, base: type[Scripted], reason: str) -> None:
    world.try_both()
    assert world.node_of("good")
    assert world.counted("plugin_failures_total") == {"A": 1}
    if base is PostBinds:
        assert world.node_of("bad")
        return
    condition = world.condition("bad")
    assert condition is not None
    assert condition[:2] == ("False", "SchedulerError")
    assert '"A"' in condition[2] and condition[2].endswith(f": {reason}")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(SystemExit("gone"), "SystemExit: gone"), (asyncio.CancelledError(), "")],
    ids=["exit", "cancel"],
)
@pytest.mark.parametrize(("base", "otherwise"), BASES, ids=name_of)
def test_a_plugin_cannot_end_the_scheduler(
    base: type[Scripted], otherwise: Any, error: BaseException, reason: str
) -> None:
    is_waiting = base in MAY_BE_ASYNC
    expected = reason or ("what it waited for was cancelled" if is_waiting else "CancelledError")
    check_goes_on(Counting(plugin(base, "A", raising(error, otherwise))), base, expected)


@pytest.mark.parametrize(
    ("base", "otherwise"), [each for each in BASES if each[0] in MAY_BE_ASYNC], ids=name_of
)
def test_nor_can_one_that_waits(base: type[Scripted], otherwise: Any) -> None:
    answered = raising(SystemExit("gone"), otherwise)

    async def later(*asked: Any) -> Any:
        await asyncio.sleep(1)
        return answered(*asked)

    check_goes_on(Counting(plugin(base, "A", later)), base, "SystemExit: gone")


def test_nor_can_one_that_decides_who_enters_the_queue() -> None:
    class A(PreEnqueuePlugin):
        def pre_enqueue(self, pod: Pod) -> Status | None:
            if pod.name == "bad":
                raise SystemExit("gone")
            return None

    world = Counting(A)
    world.try_both()
    assert world.place("bad") == "gated"
    assert world.counted("plugin_failures_total")["A"] >= 1
    assert world.node_of("good")


# Nominations


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Nomination(7), "post_filter returned a Nomination of int"),  # type: ignore[arg-type]
        (Nomination("n0", 7), "post_filter returned a Nomination with int"),  # type: ignore[arg-type]
        (SystemExit("gone"), "SystemExit: gone"),
        (NotImplementedError(), "NotImplementedError"),
    ],
    ids=["node", "status", "exit", "without words"],
)
def test_a_nomination_that_is_none(answer: Any, said: str) -> None:
    class A(Filters, PostFilters):
        def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
            return NO if pod.name == "bad" else None

        def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Any:
            if isinstance(answer, BaseException):
                raise answer
            return answer

    world = Counting(A)
    world.try_both()
    condition = world.condition("bad")
    assert condition is not None
    assert condition[2].startswith(f'0/2 nodes are available: 2 no. running PostFilter plugin "A": {said}')
    assert world.counted("plugin_failures_total") == {"A": 1}
    assert world.node_of("good")


# Where nothing is to be answered


class Unreserving(ReservePlugin, PermitPlugin):
    """Has the pod `bad` unreserved."""

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None

    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return NO if pod.name == "bad" else None


def test_an_answer_of_unreserve_is_wrong() -> None:
    class A(Unreserving):
        def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Any:
            return Status.error("broken")

    world = Counting(A)
    world.try_both()
    assert world.counted("plugin_failures_total") == {"A": 1}
    assert world.node_of("good")


def test_an_answer_of_post_bind_is_wrong() -> None:
    world = Counting(plugin(PostBinds, "A", lambda cycle, pod, node_name: 7 if pod.name == "bad" else None))
    world.try_both()
    assert world.counted("plugin_failures_total") == {"A": 1}
    assert world.node_of("bad") and world.node_of("good")
