"""Many gangs in a cluster that holds half of them: none is ever placed in part, and each has its turn."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.contrib.objects import GROUP_LABEL
from moorage.testing import make_node
from tests.contrib.gang_worlds import GangWorld, members, pod_group


class Crowd:
    """Gangs that come pod by pod, mixed with others, run and leave; nodes that fail and return."""

    def __init__(self, seed: int, gangs: int) -> None:
        self.draw = random.Random(seed)
        self.sizes = {f"gang-{number}": self.draw.randint(2, 16) for number in range(gangs)}
        self.to_come = [
            pod
            for gang, size in self.sizes.items()
            for pod in members(gang, size, cpu=f"{self.draw.choice((250, 500, 1000))}m")
        ]
        self.draw.shuffle(self.to_come)
        asked = sum(pod.requests["cpu"] for pod in self.to_come)
        self.nodes = [make_node(f"n{number}", cpu="4") for number in range(max(asked // 8000, 6))]
        self.world = GangWorld(self.nodes)
        self.groups = [pod_group(gang, size) for gang, size in self.sizes.items()]
        self.world.add(*self.groups)
        self.ran: set[str] = set()
        self.hurt: set[str] = set()
        """Gangs that lost members with a node."""

    def run(self) -> None:
        while len(self.ran) < len(self.sizes):
            before = self.progress()
            for _ in range(self.draw.randint(1, 40)):
                if self.to_come:
                    self.world.add(self.to_come.pop())
            self.draw.choice((self.nothing, self.nothing, self.fail_node, self.change_leader))()
            self.world.run()
            self.check()
            self.leave(self.draw.choice((0, 1, 3)))
            if not self.to_come and self.progress() == before:
                self.leave(len(self.sizes))  # those that wait have to fit now
                self.world.run()
                self.check()
                assert self.progress() != before or len(self.ran) == len(self.sizes), "nobody gets on"

    def progress(self) -> tuple[int, int, int]:
        return len(self.ran), len(self.to_come), len(self.world.placed)

    # What happens

    def nothing(self) -> None:
        pass

    def fail_node(self) -> None:
        """A node goes with its pods, which their owners make anew; another one comes."""
        lost: Node = self.draw.choice(self.nodes)
        pods = [pod for pod in self.pods() if pod.spec.node_name == lost.name]
        self.world.remove(*pods, lost)
        self.nodes.remove(lost)
        self.nodes.append(make_node(f"{lost.name}-again", cpu="4"))
        self.world.add(self.nodes[-1])
        for pod in pods:
            self.hurt.add(pod.labels[GROUP_LABEL])
            milli = pod.requests["cpu"]
            gang, place = pod.name.rsplit("-", 1)
            self.to_come += members(gang, 1, start=int(place) + 1000, cpu=f"{milli}m")

    def change_leader(self) -> None:
        """Another scheduler takes over, which knows what the API server has."""
        pods = self.pods()
        self.world = GangWorld(self.nodes)
        self.world.add(*self.groups, *pods)

    def leave(self, number: int) -> None:
        """Gangs that run are through."""
        running = [gang for gang, count in self.bound().items() if count >= self.sizes[gang]]
        for gang in self.draw.sample(running, min(number, len(running))):
            self.ran.add(gang)
            self.hurt.discard(gang)
            self.world.remove(*(pod for pod in self.pods() if pod.labels[GROUP_LABEL] == gang))

    # What has to hold

    def check(self) -> None:
        assert self.world.assumed() == []
        for gang, count in self.bound().items():
            assert count >= self.sizes[gang] or gang in self.hurt, f"{gang}: {count} of {self.sizes[gang]}"
        used: Counter[str] = Counter()
        for pod in self.pods():
            used[pod.spec.node_name] += pod.requests["cpu"] if pod.spec.node_name else 0
        assert all(amount <= 4000 for amount in used.values())

    def pods(self) -> list[Pod]:
        return list(self.world.simulation.client.pods.values())

    def bound(self) -> Counter[str]:
        return Counter(pod.labels[GROUP_LABEL] for pod in self.pods() if pod.spec.node_name)


@pytest.mark.soak
def test_gangs_take_turns(soak: bool) -> None:
    for seed in range(10 if soak else 3):
        Crowd(seed, 200 if soak else 24).run()
