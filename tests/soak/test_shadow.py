"""A shadow beside a scheduler that never ends: whatever comes and goes, nothing piles up."""

from __future__ import annotations

import gc
import random

import pytest

from moorage.api.pods import Pod, on_node
from moorage.plugins.catalog import in_tree_registry
from moorage.process.choice_judge import MOST_OPEN, MOST_UNDECIDED, ChoiceJudge
from moorage.process.shadow_tally import REMEMBERED
from moorage.scheduler.profiles import default_configuration
from moorage.testing import make_node, make_pod
from moorage.what_if.recent import MOST
from tests.state.worlds import is_compact

NODES, LIVING = 20, 60
COUNTED_AT = 4_000, 9_999
"""At which pods objects are counted; what is remembered of a pod is forgotten 3000 pods later."""


class World:
    """Pods come, are placed well or badly, are announced, told why they wait, and go again."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.now = 0.0
        registry = in_tree_registry()
        self.shadow = ChoiceJudge(default_configuration(registry), registry, clock=lambda: self.now)
        self.shadow.services.listers.set_synced()
        for number in range(NODES):
            self.shadow.door.put(make_node(f"n{number}", cpu=str(self.draw.choice((4, 8)))))
        self.shadow.is_judging = True

    def step(self, number: int) -> None:
        draw, door = self.draw, self.shadow.door
        self.now += 0.02
        app, node = draw.choice("abc"), f"n{draw.randrange(NODES)}"
        pod = make_pod(f"p{number}", cpu=draw.choice(("100m", "500m")), labels={"app": app})
        door.put(pod)
        kind = draw.random()
        if kind < 0.1:
            door.put(_told_why(pod, node if kind < 0.05 else ""))
        elif kind < 0.9:
            best = self.shadow.agreement.judge(pod, node).best
            door.put(on_node(pod, best[0] if best and kind < 0.6 else node))
        pods = door.pods()
        while len(pods) > LIVING:
            door.remove(pods.pop(draw.randrange(len(pods))))
        if number % 10 == 0:
            for case in self.shadow.due():
                self.shadow.settle([case])


def _told_why(pod: Pod, nominated: str) -> Pod:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"conditions": [condition], "nominatedNodeName": nominated}
    return make_pod(pod.name, cpu="100m", labels=pod.labels, status=status)


@pytest.mark.soak
def test_nothing_piles_up(soak: bool) -> None:
    world = World(1)
    shadow, door = world.shadow, world.shadow.door
    counts: list[int] = []
    for number in range(10_000 if soak else 600):
        world.step(number)
        assert len(shadow.open) <= MOST_OPEN
        if number in COUNTED_AT:
            gc.collect()
            counts.append(len(gc.get_objects()))
    if counts:
        first, last = counts
        assert last < 1.03 * first
    tally = shadow.tally
    assert tally.total > 400
    assert tally.failures == 0
    assert len(door.since(0)) <= MOST
    assert len(door._arrivals) <= MOST + LIVING
    assert len(shadow.undecided) <= MOST_UNDECIDED + LIVING
    assert all(len(kept) <= REMEMBERED for kept in tally.remembered.values())
    # When all is over, nothing is left.
    for pod in door.pods():
        door.remove(pod)
    world.now += 1000
    door.put(make_node("n0"))
    shadow.finish()
    assert (door.pods(), door._arrivals, len(door.since(0)), len(shadow.services.nominations)) == (
        [],
        {},
        1,
        0,
    )
    assert shadow.first_undecided() == door.number
    assert shadow.undecided == {}
    assert is_compact(shadow.services.state)
