from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from moorage.framework.cycle_state import CycleState
from moorage.framework.runtime.binding import bind, post_bind, pre_bind, pre_bind_groups, pre_bind_pre_flight
from moorage.framework.runtime.calls import settled
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code, Status
from moorage.testing import make_pod
from tests import fake_time
from tests.framework.scripted import Binds, PostBinds, PreBinds, Script, World, plugin

NO = Status.unschedulable("no")
PLAIN = make_pod("p")
Step = Callable[[Profile, CycleState, Any, str], Any]


def later(answer: Any, seconds: float = 1) -> Any:
    """The answer of an `async def`."""

    async def answered(*asked: Any) -> Any:
        await asyncio.sleep(seconds)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return answered


def both(answer: Any) -> list[Any]:
    return [answer, later(answer)]


def run(step: Step, *plugins: type[Any], cycle: CycleState | None = None) -> tuple[Any, float]:
    """What a step answers, and how long that takes."""

    async def main() -> tuple[Any, float]:
        answer = await settled(step(World(*plugins).profile, cycle or CycleState(), PLAIN, "n0"))
        return answer, fake_time.now()

    return fake_time.run(main())


def in_both_forms(*rows: tuple[Any, ...]) -> list[Any]:
    """Each row with its first entry answered at once and later."""
    return [(form, *rest) for answer, *rest in rows for form in both(answer)]


def unsupported(code: str) -> Status:
    return Status.error(
        f'PreBindPreFlight B returned "{code}", which is unsupported. '
        "It is supposed to return Success, Skip, or Error status"
    ).by("B")


@pytest.mark.parametrize(
    ("answer", "status", "skipped"),
    in_both_forms(
        (None, None, {"A"}),
        (Status.success(), None, {"A"}),
        (Status.skip(), Status.skip(), {"A", "B"}),
        (Status.error("broken"), Status.error('running PreBindPreFlight "B": broken').by("B"), {"A"}),
        (
            ValueError("broken"),
            Status.error('running PreBindPreFlight "B": ValueError: broken').by("B"),
            {"A"},
        ),
        (NO, unsupported("Unschedulable"), {"A"}),
        (Status.unresolvable("x"), unsupported("UnschedulableAndUnresolvable"), {"A"}),
        (Status.pending("x"), unsupported("Pending"), {"A"}),
        (Status(Code.WAIT), unsupported("Wait"), {"A"}),
        (
            False,
            Status.error(
                'running PreBindPreFlight "B": pre_bind_pre_flight returned bool False, use None or a Status'
            ).by("B"),
            {"A"},
        ),
    ),
)
def test_pre_flight(answer: Any, status: Status | None, skipped: set[str]) -> None:
    cycle = CycleState()
    a = plugin(PreBinds, "A", flight=Script(Status.skip()))
    b = plugin(PreBinds, "B", flight=Script(answer))
    assert run(pre_bind_pre_flight, a, b, cycle=cycle)[0] == status
    assert cycle.skip_pre_bind == skipped


def test_pre_flight_without_plugins_has_nothing_to_do() -> None:
    assert run(pre_bind_pre_flight)[0] == Status.skip()


@pytest.mark.parametrize(
    ("plugins", "skipped", "groups"),
    [
        ("", "", []),
        ("a", "", ["a"]),
        ("ab", "", ["a", "b"]),
        ("AB", "", ["AB"]),
        ("ABc", "", ["AB", "c"]),
        ("aBC", "", ["a", "BC"]),
        ("AbC", "", ["A", "b", "C"]),
        ("AbC", "b", ["A", "C"]),
        ("ABC", "B", ["AC"]),
        ("ABC", "A", ["BC"]),
        ("ABcDE", "Ac", ["B", "DE"]),
        ("AB", "AB", []),
    ],
)
def test_neighbours_that_allow_it_form_a_group(plugins: str, skipped: str, groups: list[str]) -> None:
    """A capital letter stands for a plugin that allows others beside it."""
    handle = World().handle
    made = [plugin(PreBinds, name, allows_parallel=name.isupper())(None, handle) for name in plugins]
    found = pre_bind_groups(list(made), set(skipped))
    assert ["".join(each.name for each in group) for group in found] == groups


@pytest.mark.parametrize(
    ("answer", "status"),
    in_both_forms(
        (None, None),
        (Status.success(), None),
        (NO, NO.by("B")),
        (Status.unresolvable("never"), Status.unresolvable("never").by("B")),
        (Status.pending("later"), Status.pending("later").by("B")),
        (Status.error("broken"), Status.error('running PreBind plugin "B": broken').by("B")),
        (Status.skip("skipped"), Status.error('running PreBind plugin "B": skipped').by("B")),
        (ValueError("broken"), Status.error('running PreBind plugin "B": ValueError: broken').by("B")),
        (
            7,
            Status.error('running PreBind plugin "B": pre_bind returned int 7, use None or a Status').by("B"),
        ),
    ),
)
@pytest.mark.parametrize("side_by_side", [False, True])
def test_pre_bind(answer: Any, status: Status | None, side_by_side: bool) -> None:
    plugins = [plugin(PreBinds, name, allows_parallel=side_by_side) for name in "ABC"]
    plugins[1].script.answer = answer
    assert run(pre_bind, *plugins)[0] == status
    assert len(plugins[0].calls) == 1
    if not side_by_side:
        assert len(plugins[2].calls) == int(status is None)


def test_groups_run_one_after_the_other_and_members_side_by_side() -> None:
    alone = [plugin(PreBinds, name, later(None, 10)) for name in "ab"]
    together = [plugin(PreBinds, name, later(None, 10), allows_parallel=True) for name in "CD"]
    assert run(pre_bind, *alone, *together) == (None, 30)
    cycle = CycleState()
    cycle.skip_pre_bind |= {"a", "C"}
    assert run(pre_bind, *alone, *together, cycle=cycle) == (None, 20)
    assert [len(each.calls) for each in (*alone, *together)] == [1, 2, 1, 2]


def test_the_first_failure_of_a_group_cancels_the_others() -> None:
    ended: list[str] = []

    async def slow(*asked: Any) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append("slow")

    plugins = [
        plugin(PreBinds, "A", slow, allows_parallel=True),
        plugin(PreBinds, "B", later(NO, 5), allows_parallel=True),
    ]
    after = plugin(PreBinds, "C")
    assert run(pre_bind, *plugins, after) == (NO.by("B"), 5)
    assert ended == ["slow"]
    assert after.calls == []


@pytest.mark.parametrize("side_by_side", [False, True])
def test_a_plugin_whose_own_work_was_cancelled_failed(side_by_side: bool) -> None:
    async def waits(*asked: Any) -> None:
        inner = asyncio.create_task(asyncio.sleep(100))
        asyncio.get_running_loop().call_later(1, inner.cancel)
        await inner

    plugins = [plugin(PreBinds, name, waits, allows_parallel=side_by_side) for name in "AB"]
    status, seconds = run(pre_bind, *plugins)
    assert seconds == pytest.approx(1)
    assert status.code is Code.ERROR
    assert status.message.endswith(": what it waited for was cancelled")


def test_cancelling_the_task_itself_goes_through() -> None:
    async def main() -> None:
        world = World(plugin(PreBinds, "A", later(None, 100)))
        task = asyncio.create_task(pre_bind(world.profile, CycleState(), PLAIN, "n0"))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    fake_time.run(main())


@pytest.mark.parametrize("side_by_side", [False, True])
def test_preemption_stops_it_and_the_plugin_that_was_stopped_is_named(side_by_side: bool) -> None:
    async def main() -> None:
        waits = [later(None, 100), later(None, 1)]
        plugins = [
            plugin(PreBinds, name, answer, allows_parallel=side_by_side)
            for name, answer in zip("AB", waits, strict=True)
        ]
        world = World(*plugins)
        task = asyncio.create_task(pre_bind(world.profile, CycleState(), PLAIN, "n0"))
        in_pre_bind = world.profile.services.pods_in_pre_bind
        in_pre_bind.start(PLAIN.uid, task)
        await asyncio.sleep(2)
        assert in_pre_bind.cancel(PLAIN.uid, "preempted by DefaultPreemption")
        status = await task
        assert status is not None
        assert status.message == 'running PreBind plugin "A": preempted by DefaultPreemption'
        assert fake_time.now() == 2

    fake_time.run(main())


def bind_error(text: str) -> Status:
    return Status.error(f'running Bind plugin "B": {text}').by("B")


@pytest.mark.parametrize(
    ("answer", "status", "goes_on"),
    in_both_forms(
        (None, None, False),
        (Status.success(), None, False),
        (Status.skip(), None, True),
        (NO, NO.by("B"), False),
        (Status.pending("later"), Status.pending("later").by("B"), False),
        (Status.error("broken"), bind_error("broken"), False),
        (ValueError("broken"), bind_error("ValueError: broken"), False),
        (Status(Code.WAIT, "wait"), bind_error("wait"), False),
        ("n1", bind_error("bind returned str 'n1', use None or a Status"), False),
    ),
)
def test_the_first_plugin_that_does_not_skip_binds(answer: Any, status: Status | None, goes_on: bool) -> None:
    calls: list[str] = []
    plugins = [plugin(Binds, name, calls=calls) for name in "ABC"]
    plugins[0].script.answer = Status.skip()
    plugins[1].script.answer = answer
    assert run(bind, *plugins)[0] == status
    assert calls == ["A bind", "B bind"] + (["C bind"] if goes_on else [])


def test_if_all_skip_that_is_the_result() -> None:
    assert run(bind, plugin(Binds, "A", Status.skip()), plugin(Binds, "B", Status.skip()))[0] == Status.skip()


def test_post_bind_runs_all_plugins_whatever_happens(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []
    answers = {"A": ValueError("broken"), "B": later(ValueError("broken")), "C": later(None), "D": "anything"}
    plugins = [plugin(PostBinds, name, answer, calls=calls) for name, answer in answers.items()]
    run(post_bind, *plugins)
    assert calls == [f"{name} post_bind" for name in "ABCD"]
    wrong = "post_bind returned str, there is nothing to return"
    reasons = {"A": "ValueError: broken", "B": "ValueError: broken", "D": wrong}
    told = [message for message in caplog.messages if "raised an exception" not in message]
    assert [message.rpartition(" (")[0] for message in told] == [
        f"plugin {name} failed after pod default/p was bound: {reason}" for name, reason in reasons.items()
    ]


@pytest.mark.parametrize("side_by_side", [False, True])
def test_a_pod_that_preemption_stops_failed_in_the_plugin_at_work(side_by_side: bool) -> None:
    async def main() -> Any:
        profile = World(
            *(plugin(PreBinds, name, later(None, 60), allows_parallel=side_by_side) for name in "AB")
        ).profile
        stoppable = profile.services.pods_in_pre_bind
        work = asyncio.ensure_future(pre_bind(profile, CycleState(), PLAIN, "n0"))
        stoppable.start(PLAIN.uid, work)
        await asyncio.sleep(1)
        assert stoppable.cancel(PLAIN.uid, "preempted by DefaultPreemption")
        return await work

    status = fake_time.run(main())
    assert status == Status.error('running PreBind plugin "A": preempted by DefaultPreemption').by("A")
