"""Random histories of gangs and single pods of teams with quotas, whose victims take their time to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.contrib.capacity.quotas import Quotas
from moorage.contrib.coscheduling.pod_groups import REQUIRED_TOPOLOGY
from moorage.contrib.objects import GROUP_LABEL
from moorage.framework.eviction import Evicted, Evictions
from moorage.framework.handle import Handle
from moorage.testing import make_node, make_pod
from tests.contrib.gang_worlds import RACK, GangWorld, members, pod_group
from tests.contrib.quota_cases import quota

TEAMS = ("red", "blue", "free")
"""Of which the last has no quota."""
BOTH = ("Coscheduling", "CapacityScheduling")
RACK_OF = str.maketrans("012", "aab")
"""From the number of a node to its rack."""


class History:
    """Who comes and goes at random, and what has to hold whenever pods are told to go."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed)
        machines = [
            make_node(f"n{place}", cpu=self.draw.choice("468"), labels={RACK: "aab"[place]})
            for place in range(3)
        ]
        self.min = {team: self.draw.randint(3, 8) for team in TEAMS[:2]}
        self.max = {team: low + self.draw.randint(0, 8) for team, low in self.min.items()}
        bounds = [(team, {"cpu": str(low)}, {"cpu": str(self.max[team])}) for team, low in self.min.items()]
        self.lasting: list[Any] = [*machines, *(quota(*each) for each in bounds)]
        """What every scheduler finds beside the pods."""
        self.world = self.another()
        self.minimum: dict[str, int] = {}
        """Of each gang, by its key."""
        self.stay_together: set[str] = set()
        """Gangs that have to be in one rack."""
        self.hurt: set[str] = set()
        """Gangs that lost members in other ways."""
        self.replaced: set[str] = set()
        """The uids of victims for which others have come, or not."""
        self.number = 0
        self.victims = self.whole_gangs = self.waits = 0
        self.wrong: list[str] = []

    def play(self) -> None:
        for _ in range(25):
            chance = self.draw.random()
            if chance < 0.3:
                self.gang_comes()
            elif chance < 0.6:
                self.pod_comes()
            elif chance < 0.75:
                self.world.let_go()
            elif chance < 0.85:
                self.pod_ends()
            elif chance < 0.92:
                self.world = self.another(*self.pods())
            self.replace_victims()
            self.world.try_all()
            self.check()

    def another(self, *pods: Pod) -> GangWorld:
        """A scheduler that knows what the API server has."""
        world = GangWorld(plugins=BOTH)
        world.linger()
        world.add(*self.lasting, *pods)
        return world

    # What happens

    def gang_comes(self) -> None:
        self.number += 1
        name, team = f"g{self.number}", self.draw.choice(TEAMS)
        size = self.draw.randint(1, 4)
        minimum = self.draw.randint(1, size)
        self.minimum[f"{team}/{name}"] = minimum
        more: dict[str, Any] = {"cpu": self.draw.choice("12"), "priority": self.draw.randint(0, 2)}
        annotations = {}
        if self.draw.random() < 0.4:
            annotations = {REQUIRED_TOPOLOGY: RACK}
            self.stay_together.add(f"{team}/{name}")
        group = pod_group(name, minimum, namespace=team, annotations=annotations)
        self.lasting.append(group)
        self.world.add(group, *members(name, size, namespace=team, **more))

    def pod_comes(self) -> None:
        self.number += 1
        more: dict[str, Any] = {"cpu": self.draw.choice("123"), "priority": self.draw.randint(0, 2)}
        self.world.add(make_pod(f"p{self.number}", namespace=self.draw.choice(TEAMS), **more))

    def pod_ends(self) -> None:
        placed = [pod for pod in self.pods() if pod.spec.node_name]
        if placed:
            gone = self.draw.choice(placed)
            self.hurt.add(gang_of(gone))
            self.world.remove(gone)

    def replace_victims(self) -> None:
        """New members come for most of those that are told to go, before these have ended."""
        for pod in self.pods():
            if pod.deleting and gang_of(pod) and pod.uid not in self.replaced:
                self.replaced.add(pod.uid)
                if self.draw.random() < 0.7:
                    self.number += 1
                    more: dict[str, Any] = {"cpu": str(cores(pod)), "priority": pod.priority}
                    gang = pod.labels[GROUP_LABEL]
                    self.world.add(*members(gang, 1, self.number, namespace=pod.namespace, **more))

    def pods(self) -> list[Pod]:
        return list(self.world.simulation.client.pods.values())

    # What has to hold

    def check(self) -> None:
        assert self.world.assumed() == []
        bound = [pod for pod in self.pods() if pod.spec.node_name]
        running = Counter(gang_of(pod) for pod in bound if not pod.deleting)
        for gang, count in running.items():
            enough = count >= self.minimum.get(gang, 0)
            assert enough or gang in self.hurt, f"{gang}: {count} of {self.minimum[gang]}"
        racks: dict[str, set[str]] = {}
        for pod in bound:
            if not pod.deleting:
                racks.setdefault(gang_of(pod), set()).add(pod.spec.node_name.translate(RACK_OF))
        assert all(len(racks.get(gang, ())) <= 1 for gang in self.stay_together)
        used: Counter[str] = Counter()
        for pod in bound:
            used[pod.namespace] += cores(pod)
        counted: Quotas = self.world.scheduler.services.shared[Quotas]
        for team, most in self.max.items():
            known = counted.of(team)
            assert known is not None
            assert known.used["cpu"] == used[team] * 1000
            assert used[team] <= most
        assert sum(used[team] for team in self.min) <= sum(self.min.values())
        for node in self.world.scheduler.state.nodes:
            assert (
                sum(cores(pod) for pod in bound if pod.spec.node_name == node.name) * 1000
                <= (node.allocatable["cpu"])
            )
        self.waits += any(pod.deleting for pod in bound)

    def told_to_go(self, victims: Sequence[Pod], by: Pod, evictions: Evictions) -> None:
        """Looks at the victims in the moment in which they are told."""
        there = [pod for pod in self.pods() if pod.spec.node_name and not evictions.is_going(pod)]
        uids = {pod.uid for pod in victims}
        going = [pod for pod in there if pod.uid in uids]
        self.victims += len(going)
        for gang in {gang_of(pod) for pod in going} & self.minimum.keys():
            left = [pod for pod in there if gang_of(pod) == gang and pod.uid not in uids]
            self.whole_gangs += not left
            if left and len(left) < self.minimum[gang]:
                self.wrong.append(f"{gang} needs {self.minimum[gang]} and has {len(left)} for {by.key}")
        for team in TEAMS:
            lost = [cores(pod) for pod in going if pod.namespace == team]
            used = sum(cores(pod) for pod in there if pod.namespace == team)
            if lost and team in self.min and team != by.namespace and by.namespace in self.min:
                # Whoever was the last to go: before, it was more than the team has for sure.
                if used - (sum(lost) - max(lost)) <= self.min[team]:
                    self.wrong.append(f"{team} uses {used} of {self.min[team]} and loses {lost} to {by.key}")
            elif lost and ((team in self.min) != (by.namespace in self.min)):
                self.wrong.append(f"{team} loses pods to {by.key}")
        for pod in going:
            own = pod.namespace == by.namespace or by.namespace not in self.min
            if own and pod.priority >= by.priority:
                self.wrong.append(f"{pod.key} is as important as {by.key}")

    @contextmanager
    def watched(self) -> Iterator[None]:
        start = Evictions.start

        def watching(evictions: Evictions, handle: Handle, victims: Sequence[Evicted]) -> None:
            if evictions._noted is None and victims:
                self.told_to_go([victim.pod for victim in victims], victims[0].by, evictions)
            start(evictions, handle, victims)

        with patch.object(Evictions, "start", watching):
            yield


def gang_of(pod: Pod) -> str:
    name = pod.labels.get(GROUP_LABEL)
    return f"{pod.namespace}/{name}" if name else ""


def cores(pod: Pod) -> int:
    return pod.requests["cpu"] // 1000


def played(seed: int) -> History:
    history = History(seed)
    with history.watched():
        history.play()
    assert history.wrong == []
    return history


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_gangs_stay_whole_and_nobody_is_robbed(seed: int) -> None:
    played(seed)


def test_such_histories_have_victims() -> None:
    """Or the test above would say nothing."""
    histories = [played(seed) for seed in range(12)]
    assert sum(history.victims for history in histories) > 20
    assert sum(history.whole_gangs for history in histories) > 5
    assert sum(history.waits for history in histories) > 20
