"""A plugin's call that does not return is ended, wherever it hangs; nothing else ever is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moorage.api.storage import StorageClass
from moorage.client.loops import LoopThread
from moorage.framework.cycle_state import CycleState
from moorage.framework.logger import FIELDS
from moorage.framework.runtime import hung_calls
from moorage.framework.runtime.calls import settled
from moorage.framework.runtime.hung_calls import DidNotReturn, HangWatch
from moorage.framework.runtime.reserving import reserve
from moorage.framework.status import Status
from moorage.testing import make_pod
from tests.framework.runtime.test_slow_calls import AT_ONCE, BINDING
from tests.framework.scripted import Reserves, World, plugin

POD = make_pod("p")
LIMIT = 0.05
MESSAGE = " did not return and was interrupted after 0.05s"


def loop_for_ever(*asked: Any) -> Any:
    while True:
        pass


def sleep(*asked: Any) -> Any:
    time.sleep(3600)


def read_from_nobody(*asked: Any) -> Any:
    here, there = socket.socketpair()
    with here, there:
        here.recv(1)


def wait_for_a_lock(*asked: Any) -> Any:
    lock = threading.Lock()
    with lock:
        lock.acquire()


def survive_exceptions(*asked: Any) -> Any:
    while True:
        with contextlib.suppress(Exception):
            time.sleep(3600)


HANGING = [loop_for_ever, sleep, read_from_nobody, wait_for_a_lock, survive_exceptions]


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hung_calls, "_LOOK_SECONDS", 0.01)


@contextlib.contextmanager
def watched(world: World, seconds: float = LIMIT) -> Iterator[HangWatch]:
    watch = HangWatch(world.services.running, seconds)
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()


def interrupted(world: World) -> bool:
    return world.services.running.interrupted > 0


@pytest.mark.parametrize("point", AT_ONCE)
def test_every_point_is_watched(point: str) -> None:
    base, step = AT_ONCE[point]
    world = World(plugin(base, "Stuck", loop_for_ever), nodes=1)
    with watched(world):
        step(world, CycleState())
    assert interrupted(world)
    assert world.services.running.call is None


@pytest.mark.parametrize("point", BINDING)
def test_every_point_of_binding_is_watched(point: str) -> None:
    base, step = BINDING[point]

    async def hang(*asked: Any) -> None:
        await asyncio.sleep(0)
        loop_for_ever()

    for way in (loop_for_ever, hang):
        world = World(plugin(base, "Stuck", way), nodes=1)

        async def call(world: World = world) -> None:
            await settled(step(world.profile, CycleState(), POD, "n0"))

        with watched(world):
            asyncio.run(call())
        assert interrupted(world)


def test_waiting_is_not_hanging() -> None:
    turns = 0

    async def waits(*asked: Any) -> None:
        nonlocal turns
        end = time.perf_counter() + 1.3
        while time.perf_counter() < end:
            turns += 1
            await asyncio.sleep(0.1)

    world = World(plugin(BINDING["PreBind"][0], "Patient", waits), nodes=1)

    async def call() -> Any:
        return await BINDING["PreBind"][1](world.profile, CycleState(), POD, "n0")

    with watched(world, seconds=1):
        assert asyncio.run(call()) is None
    assert turns > 2
    assert not interrupted(world)


@pytest.mark.parametrize("hang", HANGING)
def test_whatever_it_hangs_in(hang: Callable[..., Any], caplog: pytest.LogCaptureFixture) -> None:
    world = World(plugin(Reserves, "Stuck", hang), nodes=1)
    with caplog.at_level(logging.ERROR), watched(world):
        status = reserve(world.profile, CycleState(), POD, "n0")
    assert isinstance(status, Status)
    assert status.message == f'running Reserve plugin "Stuck": Reserves.reserve{MESSAGE}'
    [record] = [each for each in caplog.records if each.name == hung_calls.__name__]
    fields = record.__dict__[FIELDS]
    assert (fields["plugin"], fields["extensionPoint"]) == ("Stuck", "Reserve")
    assert fields["at"].startswith("scripted.py:")
    assert f"in {hang.__name__}" in caplog.text, "the traceback"


def test_a_quick_call_is_left_alone() -> None:
    world = World(plugin(Reserves, "Quick"), nodes=1)
    with watched(world, seconds=1):
        end = time.perf_counter() + 1.3
        while time.perf_counter() < end:
            assert reserve(world.profile, CycleState(), POD, "n0") is None
    assert not interrupted(world)


def test_no_limit_at_all() -> None:
    def take_a_while(*asked: Any) -> None:
        end = time.perf_counter() + 4 * LIMIT
        while time.perf_counter() < end:
            pass

    world = World(plugin(Reserves, "Slow", take_a_while), nodes=1)
    with watched(world, seconds=0):
        assert reserve(world.profile, CycleState(), POD, "n0") is None


def test_who_survives_the_first_interruption_gets_another() -> None:
    survived = 0

    def survive(*asked: Any) -> None:
        nonlocal survived
        while survived < 2:
            try:
                loop_for_ever()
            except BaseException:
                survived += 1
        loop_for_ever()

    world = World(plugin(Reserves, "Stubborn", survive), nodes=1)
    with watched(world):
        status = reserve(world.profile, CycleState(), POD, "n0")
    assert status is not None
    assert survived == 2


def test_code_of_the_scheduler_is_never_interrupted() -> None:
    """A plugin that calls the scheduler again and again is interrupted between these calls."""
    halves = 0

    class Changes:
        """Stands for what the scheduler changes in two steps; it counts as its code by the file's name."""

    source = "def change(changes):\n changes.half += 1\n for _ in range(30): pass\n changes.half -= 1\n"
    namespace: dict[str, Any] = {}
    exec(compile(source, f"{hung_calls._MOORAGE}state/change.py", "exec"), namespace)
    changes: Any = Changes()
    changes.half = 0

    def call_again_and_again(*asked: Any) -> None:
        nonlocal halves
        while True:
            try:
                namespace["change"](changes)
            except DidNotReturn:
                halves += 1
                raise

    world = World(plugin(Reserves, "Busy", call_again_and_again), nodes=1)
    for _ in range(5):
        with watched(world):
            assert reserve(world.profile, CycleState(), POD, "n0") is not None
        assert changes.half == 0
    assert halves == 0


def test_nothing_is_interrupted_under_a_debugger() -> None:
    steps = 0

    def take_a_while(*asked: Any) -> None:
        nonlocal steps
        end = time.perf_counter() + 4 * LIMIT
        while time.perf_counter() < end:
            steps += 1

    world = World(plugin(Reserves, "Debugged", take_a_while), nodes=1)
    old = sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)
    try:
        with watched(world):
            assert reserve(world.profile, CycleState(), POD, "n0") is None
    finally:
        sys.settrace(old)
    assert steps > 0


def test_a_process_that_ends_does_not_wait_for_plugins() -> None:
    world = World(plugin(Reserves, "Stuck", loop_for_ever), nodes=1)
    with watched(world, seconds=0) as watch:
        watch.hurry()
        status = reserve(world.profile, CycleState(), POD, "n0")
    assert status is not None
    assert status.message.endswith("did not return and was interrupted as the scheduler is to end")


def test_callbacks_of_listers_are_watched() -> None:
    world = World(nodes=1)
    lister = world.handle.lister_of(StorageClass)
    lister.on_change(added=loop_for_ever)
    with watched(world):
        world.services.door.put(StorageClass())
    assert interrupted(world)


def test_in_another_thread_python_code_is_interrupted() -> None:
    other = LoopThread("other")
    other.start()
    world = World(plugin(Reserves, "Stuck", loop_for_ever), nodes=1)

    async def call() -> Status | None:
        with watched(world):
            return reserve(world.profile, CycleState(), POD, "n0")

    try:
        status = other.run(call(), seconds=60)
    finally:
        other.stop()
    assert status is not None
    assert status.message.endswith(MESSAGE)


def test_a_debugger_that_has_stopped_the_program_is_not_told_of(caplog: pytest.LogCaptureFixture) -> None:
    prompt: dict[str, Any] = {"__name__": "pdb"}
    exec("def interaction(sleep):\n sleep(0.4)", prompt)
    world = World(plugin(Reserves, "Debugged", lambda *asked: prompt["interaction"](time.sleep)), nodes=1)
    with caplog.at_level(logging.ERROR), watched(world):
        assert reserve(world.profile, CycleState(), POD, "n0") is None
    assert not caplog.records
