"""Pods that are alike are tried for each other: with the same outcome as if each were tried for itself."""

from __future__ import annotations

import asyncio
import random
from itertools import count
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.workloads import Namespace
from moorage.client.memory import MemoryClient
from moorage.config import load
from moorage.framework.cycle_state import CycleState
from moorage.framework.door import Door
from moorage.framework.status import Status
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.scheduler.cycle import NodeChooser
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import make_node, make_pod
from tests.framework.scripted import Filters, plugin
from tests.scheduler.worlds import World

HOST = "kubernetes.io/hostname"
TERM = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "a"}}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NAMED = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
SPREAD = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **TERM}

TEMPLATES: dict[str, dict[str, Any]] = {
    "small": {"cpu": "500m"},
    "small a": {"cpu": "500m", "labels": {"app": "a"}},
    "large": {"cpu": "3"},
    "huge": {"cpu": "64"},
    "important": {"cpu": "3", "priority": 10},
    "picky": {"nodeSelector": {"disk": "ssd"}},
    "spread": {"cpu": "1", "labels": {"app": "a"}, "topologySpreadConstraints": [SPREAD]},
    "apart": {"labels": {"app": "a"}, "affinity": {"podAntiAffinity": {REQUIRED: [TERM]}}},
    "near": {"labels": {"app": "b"}, "affinity": {"podAffinity": {REQUIRED: [TERM]}}},
    "named": {"cpu": "3", "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [NAMED]}}}},
    "port": {"containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]},
}
NODES: dict[str, dict[str, Any]] = {
    "plain": {},
    "ssd": {"labels": {"disk": "ssd"}},
    "more": {"cpu": "8"},
    "tainted": {"taints": ["k:NoSchedule"]},
    "cordoned": {"unschedulable": True},
}


class Fate(NamedTuple):
    """What became of a pod so far."""

    node: str
    message: str
    attempts: int = 0
    failures: int = 0
    rejected_by: frozenset[str] = frozenset()
    place: str = ""


class Cluster:
    def __init__(self) -> None:
        self.now = 1000.0
        self.door = Door()
        self.client = MemoryClient(self.door.put, self.door.remove)
        self.scheduler = Scheduler(
            load(DEFAULT_CONFIGURATION).config,
            in_tree_registry(),
            client=self.client,
            door=self.door,
            clock=lambda: self.now,
        )
        self.door.listers.set_synced()

    def put(self, item: Node | Pod) -> None:
        if isinstance(item, Pod):
            self.client.add(item)
        self.door.put(item)

    def delete_pod(self, pod: Pod) -> None:
        known = self.client.pods.get(pod.key)
        if known is not None:
            self.client.delete_pod(known)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.scheduler.queue.flush_backoff()
        self.scheduler.queue.flush_unschedulable()

    async def schedule(self) -> None:
        while self.scheduler.queue.counts().active:
            random.seed(1)
            await self.scheduler.drain()

    def fates(self) -> dict[str, Fate]:
        places = {
            queued.pod.name: (place, queued)
            for place, pods in self.scheduler.queue.pending()._asdict().items()
            for queued in pods
        }
        found: dict[str, Fate] = {}
        for pod in self.client.pods.values():
            condition = pod.condition("PodScheduled")
            fate = Fate(pod.spec.node_name, condition.message if condition else "")
            if pod.name in places:
                place, queued = places[pod.name]
                plugins = frozenset(queued.rejecting_plugins)
                fate = fate._replace(
                    attempts=queued.attempts,
                    failures=queued.unschedulable_count,
                    rejected_by=plugins,
                    place=place,
                )
            found[pod.name] = fate
        return found


RUNS = count()
Step = tuple[str, str, int]
FULL: list[Step] = [("node", "plain", 0), ("node", "plain", 1), ("pod", "large", 2), ("pod", "apart", 2)]
pods = st.tuples(st.just("pod"), st.sampled_from([*sorted(TEMPLATES), "shy"]), st.integers(1, 4))
nodes = st.tuples(st.just("node"), st.sampled_from(sorted(NODES)), st.integers(0, 3))
gone = st.tuples(st.just("no node"), st.just(""), st.integers(0, 3))
deleted = st.tuples(st.just("no pod"), st.just(""), st.integers(0, 30))
later = st.tuples(st.just("later"), st.just(""), st.sampled_from([1, 3, 11, 400]))


def numbered(key: str, number: int, what: str) -> Pod:
    """A pod with a label that tells it from all others; one that keeps away from some by that label."""
    fields = dict(TEMPLATES.get(what, {}))
    if what == "shy":
        some = {"matchExpressions": [{"key": key, "operator": "In", "values": list("12579")}]}
        term = {"topologyKey": HOST, "labelSelector": some}
        fields["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
    return make_pod(f"p{number}", **{**fields, "labels": {**fields.get("labels", {}), key: str(number)}})


async def follow(steps: list[Step], cluster: Cluster) -> list[tuple[int, dict[str, Fate]]]:
    """Where searches begin and what became of the pods, after each step."""
    found: list[tuple[int, dict[str, Fate]]] = []
    made = 0
    number_key = f"number-{next(RUNS)}"  # no selector has asked for it yet
    for action, what, number in steps:
        if action == "pod":
            for _ in range(number):
                cluster.put(numbered(number_key, made, what))
                made += 1
        elif action == "node":
            cluster.put(make_node(f"n{number}", **NODES[what]))
        elif action == "no node":
            known = cluster.door.state.node(f"n{number}")
            if known is not None:
                cluster.door.remove(known.node)
        elif action == "no pod":
            cluster.delete_pod(make_pod(f"p{number}"))
        else:
            cluster.pass_time(number)
        await cluster.schedule()
        found.append((cluster.scheduler.chooser.start, cluster.fates()))
    return found


@settings(max_examples=120)
@given(steps=st.lists(st.one_of(pods, pods, nodes, nodes, gone, deleted, later), min_size=4, max_size=14))
def test_the_outcome_is_that_of_trying_each_pod_by_itself(steps: list[Step]) -> None:
    one_by_one = Cluster()
    with (
        patch.object(one_by_one.scheduler._known_failures, "find", lambda pod: None),
        patch.object(one_by_one.scheduler.queue._interests, "kind", lambda queued: None),
    ):
        expected = asyncio.run(follow([*FULL, *steps], one_by_one))
    assert asyncio.run(follow([*FULL, *steps], Cluster())) == expected


# When a failure is known


def searches(world: World, *names: str, **fields: Any) -> int:
    """How many searches it takes to try new pods of these names."""
    with patch.object(NodeChooser, "decide", autospec=True, side_effect=NodeChooser.decide) as decide:
        for name in names:
            world.add(name, **fields)
        world.schedule()
    return decide.call_count


def rejecting(**attributes: Any) -> type[Filters]:
    return plugin(Filters, "A", Status.unschedulable("no"), events=lambda self: [], **attributes)


@pytest.mark.parametrize(("promised", "needed"), [(True, 1), (False, 3)])
def test_one_search_serves_for_all_where_the_plugin_promises_it(promised: bool, needed: int) -> None:
    world = World(rejecting(treats_like_pods_alike=promised))
    assert searches(world, "a", "b", "c") == needed
    assert [world.place(name) for name in "abc"] == ["unschedulable"] * 3
    assert world.notes == [("FailedScheduling", "0/1 nodes are available: 1 no.")] * 3


def test_pods_that_differ_are_tried_each() -> None:
    world = World(rejecting(treats_like_pods_alike=True))
    assert [searches(world, name, cpu=cpu) for name, cpu in zip("abc", "123", strict=True)] == [1, 1, 1]


def test_a_label_that_no_selector_asks_for_makes_no_difference() -> None:
    world = World(rejecting(treats_like_pods_alike=True))
    assert [searches(world, name, labels={"nobody-asks": name}) for name in "abc"] == [1, 0, 0]


def test_what_a_class_promises_another_made_of_it_does_not() -> None:
    class ByAnnotation(NodeResourcesFit):
        def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
            super().pre_filter(cycle, pod)

    assert NodeResourcesFit.treats_like_pods_alike
    assert not ByAnnotation.treats_like_pods_alike


@pytest.mark.parametrize("change", ["nothing", "node", "placed pod", "nomination", "object"])
def test_a_change_makes_it_worth_a_search(change: str) -> None:
    world = World(rejecting(treats_like_pods_alike=True))
    assert searches(world, "first") == 1
    if change == "node":
        world.door.put(make_node("another"))
    elif change == "placed pod":
        world.door.put(make_pod("placed", node="another"))
    elif change == "nomination":
        world.services.nominations.add(make_pod("first"), "another")
    elif change == "object":
        world.door.put(from_document(Namespace, {"metadata": {"name": "another"}}))
    assert searches(world, "second") == (change != "nothing")


def test_a_nominated_pod_is_tried_by_itself() -> None:
    world = World(rejecting(treats_like_pods_alike=True))
    assert searches(world, "first") == 1
    assert searches(world, "second", status={"nominatedNodeName": "n"}) == 1


def test_the_next_search_begins_where_it_would_after_a_search() -> None:
    """A search among a few named nodes leaves the start of the next one in the middle."""

    def start_after(*names: str) -> int:
        cluster = Cluster()
        for number in range(5):
            cluster.put(make_node(f"n{number}", cpu="1"))
        for name in names:
            cluster.put(make_pod(name, **TEMPLATES["named"]))
        asyncio.run(cluster.schedule())
        return cluster.scheduler.chooser.start

    assert [start_after(), start_after("a"), start_after("a", "b")] == [0, 1, 2]
