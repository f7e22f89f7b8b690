from __future__ import annotations

import asyncio
from typing import Any

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from tests.cluster.life.controllers.worlds import World, clock, in_world


def budget(world: World, **spec: Any) -> None:
    world.writer.create(
        "poddisruptionbudgets.policy",
        {
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        },
    )


def status(world: World) -> Document:
    found: Document = world.writer.document("poddisruptionbudgets.policy", "default", "b")["status"]
    return found


@pytest.mark.parametrize(
    ("spec", "desired", "allowed"),
    [
        ({"minAvailable": 7}, 7, 3),
        ({"minAvailable": "75%"}, 8, 2),
        ({"minAvailable": 20}, 20, 0),
        ({"maxUnavailable": 1}, 9, 1),
        ({"maxUnavailable": "25%"}, 7, 3),
        ({"maxUnavailable": "100%"}, 0, 10),
    ],
)
def test_numbers_and_percentages(spec: Document, desired: int, allowed: int) -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=10)
        budget(world, **spec)
        await asyncio.sleep(5)
        found = status(world)
        [condition] = found.pop("conditions")
        assert found == {
            "disruptionsAllowed": allowed,
            "currentHealthy": 10,
            "desiredHealthy": desired,
            "expectedPods": 10,
            "observedGeneration": 1,
        }
        assert condition["type"] == "DisruptionAllowed"
        assert (condition["status"], condition["reason"]) == (
            ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
        )

    in_world(test)


def test_without_pods_nothing_is_allowed() -> None:
    async def test(world: World) -> None:
        budget(world, maxUnavailable=1)
        await asyncio.sleep(1)
        assert status(world)["disruptionsAllowed"] == 0
        assert status(world)["expectedPods"] == 0

    in_world(test)


def test_it_follows_the_pods() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=3)
        budget(world, maxUnavailable=1)
        await asyncio.sleep(5)
        assert status(world)["disruptionsAllowed"] == 1
        world.kubelet = False
        world.writer.end("pods", "default", world.writer.names("pods")[0])
        await asyncio.sleep(1)
        assert status(world)["currentHealthy"] == 2
        assert status(world)["disruptionsAllowed"] == 0

    in_world(test)


def test_evicted_pods_do_not_count_until_they_should_have_gone() -> None:
    async def test(world: World) -> None:
        world.deployment(replicas=3)
        budget(world, minAvailable=1)
        await asyncio.sleep(5)
        stored = world.store.get("poddisruptionbudgets.policy", "default", "b")
        assert stored is not None
        name = world.writer.names("pods")[0]
        gone = {name: timestamp(clock()), "unknown": timestamp(clock())}
        world.writer.set_status("poddisruptionbudgets.policy", stored, disruptedPods=gone)
        await asyncio.sleep(1)
        assert list(status(world)["disruptedPods"]) == [name]
        assert status(world)["currentHealthy"] == 2
        await asyncio.sleep(125)
        assert "disruptedPods" not in status(world)
        assert status(world)["currentHealthy"] == 3

    in_world(test)
