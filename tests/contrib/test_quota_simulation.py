"""Random histories of teams with quotas: nobody gets more than its max, nobody within its min is robbed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.eviction import Evictions
from moorage.framework.handle import Handle
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import make_node, make_pod
from moorage.what_if.simulation import Simulation
from tests.contrib.quota_cases import live, quota, simulation

TEAMS = ("red", "blue", "green", "free")
"""Of which the last has no quota."""


class History:
    """A cluster in which pods come, end and are preempted, and a count of its own of who uses what."""

    def __init__(self, seed: int, nodes: int = 2) -> None:
        self.draw = Random(seed)
        self.min = {team: self.draw.randint(2, 8) for team in TEAMS[:3]}
        self.max = {team: low + self.draw.randint(0, 8) for team, low in self.min.items()}
        machines = [make_node(f"n{i}", cpu=self.draw.choice(["6", "8"])) for i in range(nodes)]
        quotas = [
            quota(team, {"cpu": str(self.min[team])}, {"cpu": str(self.max[team])}) for team in self.min
        ]
        self.cluster: Simulation = simulation(*machines, *quotas)
        self.number = 0
        self.victims = 0
        self.placed_after_preemption = 0
        self.wrong: list[str] = []
        """What must not be, where the scheduler would survive an exception."""

    def used(self) -> Counter[str]:
        """The cpus of each team, of pods that have a node."""
        found: Counter[str] = Counter()
        for pod in self.cluster.scheduler.state.pods:
            found[pod.namespace] += pod.requests["cpu"] // 1000
        return found

    def play(self) -> None:
        for _ in range(25):
            if self.draw.random() < 0.7:
                pods = [self.new_pod() for _ in range(self.draw.randint(1, 4))]
                self.run(pods)
            else:
                placed = sorted(self.cluster.scheduler.state.pods, key=lambda pod: pod.key)
                if placed:
                    self.cluster.client.delete_pod(self.draw.choice(placed))
                self.run([])
            self.check()

    def run(self, pods: list[Pod]) -> None:
        waiting = [pod for pod in self.cluster.client.pods.values() if not pod.spec.node_name]
        nominated = [pod.key for pod in waiting if pod.status.nominated_node_name]
        self.cluster.scheduler.services.activate(waiting)
        result = asyncio.run(self.cluster.run(pods))
        assert (result.errors, result.failed_plugins) == (set(), {})
        now = self.cluster.client.pods
        self.placed_after_preemption += sum(key in now and bool(now[key].spec.node_name) for key in nominated)

    def new_pod(self) -> Pod:
        self.number += 1
        return make_pod(
            f"p{self.number:03}",
            namespace=self.draw.choice(TEAMS),
            cpu=str(self.draw.randint(1, 3)),
            priority=self.draw.randint(0, 2),
        )

    def check(self) -> None:
        used = self.used()
        for team in self.min:
            assert used[team] <= self.max[team], f"{team} uses {used[team]} of at most {self.max[team]}"
            counted = live(self.cluster).of(team)
            assert counted is not None
            assert counted.used["cpu"] == used[team] * 1000
        assert sum(used[team] for team in self.min) <= sum(self.min.values())

    def chosen(self, victims: list[Pod], preemptor: Pod) -> None:
        """Looks at victims in the moment in which they are chosen, the least important first."""
        evictions = self.cluster.scheduler.services.shared[Evictions]
        used = self.used()
        for pod in self.cluster.scheduler.state.pods:
            # Who leaves anyway is chosen without harm, and what it used is as good as given back.
            if evictions.is_going(pod):
                used[pod.namespace] -= pod.requests["cpu"] // 1000
        victims = [victim for victim in victims if not evictions.is_going(victim)]
        self.victims += len(victims)
        for victim in sorted(victims, key=lambda pod: (pod.priority, pod.requests["cpu"])):
            team = victim.namespace
            if team == preemptor.namespace or preemptor.namespace not in self.min:
                if victim.priority >= preemptor.priority:
                    self.wrong.append(f"{victim.key} is as important as {preemptor.key}")
                if (team in self.min) != (preemptor.namespace in self.min):
                    self.wrong.append(f"{victim.key} has to do with quotas and {preemptor.key} not")
            elif used[team] <= self.min[team]:
                self.wrong.append(f"{team} has borrowed nothing, and {victim.key} goes")
            used[team] -= victim.requests["cpu"] // 1000

    @contextmanager
    def watched(self) -> Iterator[None]:
        evict = Handle.evict

        def watching(handle: Handle, victims: Iterable[Pod], **more: Any) -> None:
            pods = list(victims)
            self.chosen(pods, more["by"])
            evict(handle, pods, **more)

        with patch.object(Handle, "evict", watching):
            yield


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_quotas_hold_and_nobody_is_robbed(seed: int) -> None:
    history = History(seed)
    with history.watched():
        history.play()
    assert history.wrong == []


def test_such_histories_have_victims() -> None:
    """Or the test above would say nothing."""
    histories = [History(seed) for seed in range(5)]
    for history in histories:
        with history.watched():
            history.play()
    assert sum(history.victims for history in histories) > 10
    assert sum(history.placed_after_preemption for history in histories) > 5


def course(seed: int) -> dict[str, tuple[str, str]]:
    """Where pods are in the end, or why they are not; with one node nothing is left to chance."""
    history = History(seed, nodes=1)
    history.play()
    found = {}
    for key, pod in history.cluster.client.pods.items():
        condition = pod.condition("PodScheduled")
        found[key] = pod.spec.node_name, condition.message if condition else ""
    return found


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_shortcuts_show_nowhere(seed: int) -> None:
    """A scheduler that keeps nothing comes to the same end, with the same messages."""
    usual = course(seed)
    with patch("moorage.what_if.simulation.Scheduler", partial(Scheduler, shortcuts=False)):
        assert course(seed) == usual
