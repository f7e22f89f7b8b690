"""Where pods will go is told before it is waited for; when many pods are bound, as far as there is time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.scheduler import binding_cycle
from tests.framework.scripted import PreBinds, plugin
from tests.scheduler.worlds import World


class SlowServer:
    """Takes a second to write a nomination."""

    def __init__(self, world: World) -> None:
        self.told: list[tuple[str, str]] = []
        self._written = world.client.write_pod_status
        self._bound = world.client.bind
        world.client.write_pod_status = self.write_pod_status  # type: ignore[method-assign, assignment]
        world.client.http = object()  # type: ignore[assignment]
        world.client.bind = self.bind  # type: ignore[method-assign]

    async def write_pod_status(self, pod: Pod, **what: Any) -> None:
        self.told.append(("begun", pod.name))
        await asyncio.sleep(1)
        self.told.append(("nominated", pod.name))
        self._written(pod, **what)

    def bind(self, pod: Pod, node_name: str) -> None:
        self.told.append(("bound", pod.name))
        self._bound(pod, node_name)


def world_with(pods: int, *, seconds: float) -> tuple[World, SlowServer]:
    """All pods take so long before they can be bound."""

    async def work(cycle: CycleState, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(seconds)

    world = World(plugin(PreBinds, "A", work))
    for number in range(pods):
        world.add(f"p{number}")
    return world, SlowServer(world)


def test_a_few_pods_wait_until_their_nodes_are_told() -> None:
    world, server = world_with(3, seconds=0.1)
    world.schedule()
    assert [what for what, _ in server.told] == ["begun"] * 3 + ["nominated"] * 3 + ["bound"] * 3


def test_many_pods_do_not_wait_and_what_was_not_told_by_then_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_cycle, "MANY", 0)
    world, server = world_with(5, seconds=1.5)
    world.schedule()
    assert all(world.node_of(f"p{number}") for number in range(5))
    begun = [name for what, name in server.told if what == "begun"]
    assert begun == ["p0", "p1"]
    for name in begun:
        # One that is on its way arrives before the bind.
        assert server.told.index(("nominated", name)) < server.told.index(("bound", name))
    assert world.client.nominations == ["n0", "n0"]


def test_all_that_take_long_are_told_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding_cycle, "MANY", 0)
    world, server = world_with(5, seconds=60)
    world.schedule()
    assert sorted(name for what, name in server.told if what == "nominated") == [f"p{n}" for n in range(5)]
