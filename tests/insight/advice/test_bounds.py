"""Advice is bounded: in time, in number and in what it tries."""

from __future__ import annotations

from moorage.insight.advice.advising import advise
from moorage.insight.advice.trials import World
from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.scenario import Scenario, read_objects, read_scenario
from tests.insight.advice.small_clusters import node, pod, tainted

REGISTRY = in_tree_registry()


def crowded() -> dict[str, object]:
    nodes = [tainted(f"n{number}", f"t{number}:NoSchedule") for number in range(30)]
    nodes += [node(f"m{number}") for number in range(30)]
    others = [pod(f"p{number}", "3", f"m{number}", priority=number) for number in range(30)]
    return {"objects": [*nodes, *others], "pod": pod("pending", "2")}


def test_without_time_nothing_is_tried() -> None:
    built, pending = read_scenario(crowded(), REGISTRY)
    assert advise(built.services, built.profile, pending, seconds=0) == []
    assert 0 < len(advise(built.services, built.profile, pending, seconds=60)) <= 10


def test_a_world_is_over_when_its_time_is() -> None:
    built, pending = read_scenario(crowded(), REGISTRY)
    times = iter([100.0, 101.0, 103.0])
    world = World(built.services, built.profile, pending, seconds=2, clock=lambda: next(times))
    assert [world.is_over, world.is_over] == [False, True]


def test_a_pod_that_the_scheduler_knows_as_pending_may_change_too() -> None:
    """As in a running scheduler, where the pod came by the door."""
    scenario = Scenario(read_objects([node("n"), pod("a", "4", "n", priority=5), pod("p", "4")]), REGISTRY)
    pending = scenario.services.door.named("default/p")
    assert pending is not None
    before = scenario.evaluate(pending).document()
    found = [each.text for each in advise(scenario.services, scenario.profile, pending)]
    assert "its priority were 6, which preempts default/a on n" in found
    assert "default/a (priority 5) left n" in found
    assert scenario.services.door.named("default/p") is pending
    assert scenario.evaluate(pending).document() == before
    assert scenario.services.evicted == []
