"""PreFilter and victims of CapacityScheduling against the slow model, on random clusters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.node_statuses import NodeStatuses
from moorage.scheduler.cycle import NodeChooser
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests.contrib.quota_cases import plugin_of, quota, scenario
from tests.contrib.quota_model import Amounts, ModelPod, ModelQuota, World
from tests.plugins.preemption.preemption_cases import at, budget

NAMESPACES = ("default", "red", "free")
"""Of which the last never has a quota."""
NAMED = [("cpu", "memory")] * 5 + [("cpu", "memory", "pods"), ("cpu",), ("memory",), ()]


def bounds(draw: Random, low: int, high: int) -> Amounts:
    # Too little of what is not meant to matter would decide everything.
    found = {name: draw.randint(low, high) for name in draw.choice(NAMED)}
    return {name: amount if name == "cpu" else amount + 3 for name, amount in found.items()}


def random_pod(draw: Random, name: str, minute: int, nodes: list[str], namespaces: Sequence[str]) -> ModelPod:
    namespace = draw.choice(namespaces)
    return ModelPod(
        name,
        namespace,
        cpu=draw.choice([1, 1, 2, 3, 0]),
        memory=draw.choice([0, 0, 0, 1]),
        priority=draw.randint(0, 2),
        minute=minute,
        node=draw.choice(nodes) if nodes else "",
        is_protected=namespace == "default" and draw.random() < 0.5,
    )


def drawn(seed: int) -> tuple[World, ModelPod]:
    """Nodes that are mostly full; often one namespace has borrowed what is another's."""
    draw = Random(seed)
    nodes = ["n0", "n1"][: draw.randint(1, 2)]
    borrows = draw.random() < 0.5
    namespaces = [*NAMESPACES, *["red"] * 4] if borrows else [*NAMESPACES, "default"]
    placed = [random_pod(draw, f"p{i}", i, nodes, namespaces) for i in range(draw.randint(3, 8))]
    full = {name: sum(pod.cpu for pod in placed if pod.node == name) for name in nodes}
    world = World(
        {
            name: {"cpu": max(3, full[name] + draw.choice([0, 0, 0, 1])), "memory": 8, "pods": 8}
            for name in nodes
        },
        {
            "default": ModelQuota(bounds(draw, 4, 10), bounds(draw, 8, 12)),
            "red": ModelQuota(bounds(draw, 0, 6), bounds(draw, 4, 12)),
        },
        placed,
        [random_pod(draw, f"n{i}", 0, nodes, NAMESPACES) for i in range(draw.choice([0, 0, 0, 1, 2]))],
        draw.randint(0, 2),
    )
    if draw.random() < 0.1:
        del world.quotas["red"]
    return world, random_pod(draw, "in", 0, [], ["default"] if borrows else NAMESPACES)


worlds = st.integers(0, 2**32).map(drawn)


def real(pod: ModelPod, *, placed: bool = True) -> Pod:
    asked: dict[str, Any] = {"cpu": pod.cpu or None, "memory": pod.memory or None}
    status = at(pod.minute) if placed else {"nominatedNodeName": pod.node}
    return make_pod(
        pod.name,
        namespace=pod.namespace,
        priority=pod.priority,
        node=pod.node if placed else "",
        labels={"app": "a" if pod.is_protected else "b"},
        status=status,
        **asked,
    )


def built(world: World) -> Scenario:
    return scenario(
        *(make_node(name, allocatable=amounts) for name, amounts in world.capacity.items()),
        *(quota(name, dict(each.min), dict(each.max)) for name, each in world.quotas.items()),
        *(real(pod) for pod in world.pods),
        *(real(pod, placed=False) for pod in world.nominated),
        budget(world.disruptions_allowed),
    )


@settings(max_examples=200, deadline=None)
@given(worlds)
def test_who_is_let_through_is_who_the_model_lets_through(case: tuple[World, ModelPod]) -> None:
    world, pod = case
    answer = plugin_of(built(world)).pre_filter(CycleState(), real(pod))
    said = world.pre_filter(pod)
    rejected = f"Pod {pod.namespace}/in is rejected in PreFilter because {said}"
    assert (answer.message if answer else "") == (rejected if said else "")


@settings(max_examples=300, deadline=None)
@given(worlds, st.booleans())
def test_victims_are_those_of_the_model(case: tuple[World, ModelPod], is_looked_over_first: bool) -> None:
    """Nodes are looked over first, unless each is tried by itself."""
    world, pod = case
    made = built(world)
    preemptor = real(pod)
    decision = NodeChooser(find_all=True, preempts=False).decide(made.profile, preemptor)
    if decision.failure is None:
        return
    dry_run = plugin_of(made).dry_run(decision.cycle, preemptor)
    table = made.services.state.table
    rows, statuses = np.arange(len(table)), NodeStatuses(table)
    worth_a_try = dry_run.rule_out(rows, statuses) if is_looked_over_first else rows
    for name in world.capacity:
        node = made.services.state.node(name)
        assert node is not None
        if world.fits(name, pod, world.pods) and not world.pre_filter(pod):
            continue  # it was rejected for something else
        expected = world.preempt(name, pod)
        found = dry_run.on(node) if node.row in worth_a_try else statuses.get(name)
        if isinstance(expected, str):
            assert not isinstance(found, tuple), f"{name}: {found} where the model says {expected}"
            told = {"no victims": f"No victims found on node {name} for preemptor pod in"}
            if expected != "does not fit":
                assert found.message == told.get(expected, expected)
        else:
            assert isinstance(found, tuple), f"{name}: {found} where the model says {expected}"
            assert ([victim.name for victim in found.victims], found.pdb_violations) == expected
            check_victims(world, pod, [victim.name for victim in found.victims])


def check_victims(world: World, pod: ModelPod, names: list[str]) -> None:
    """Nobody goes from a namespace that has not borrowed, nor a more important pod of the same one."""
    there = list(world.pods)
    by_name = {each.name: each for each in there}
    for name in reversed(names):
        victim = by_name[name]
        if pod.namespace not in world.quotas or victim.namespace == pod.namespace:
            assert victim.priority < pod.priority
            assert (victim.namespace in world.quotas) == (pod.namespace in world.quotas)
        else:
            assert world.is_over_min(victim.namespace, there, [])
        there.remove(victim)
