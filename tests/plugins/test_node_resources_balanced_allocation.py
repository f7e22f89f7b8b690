from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.config.args import NodeResourcesBalancedAllocationArgs
from moorage.framework.cycle_state import CycleState
from moorage.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, scored, views

GPU = "example.com/gpu"
STORAGE = "ephemeral-storage"

Amounts = dict[str, int]
World = list[tuple[Amounts, list[Amounts]]]
"""What each node offers, and what its pods ask for."""


def args(*names: str) -> NodeResourcesBalancedAllocationArgs:
    document = {"resources": [{"name": name, "weight": 1} for name in names]}
    return msgspec.convert(document, NodeResourcesBalancedAllocationArgs)


def quantities(amounts: Amounts) -> dict[str, Any]:
    return {name: f"{amount}m" if name == "cpu" else amount for name, amount in amounts.items()}


def plugin_for(names: tuple[str, ...], world: World) -> NodeResourcesBalancedAllocation:
    nodes = [make_node(f"n{i}", allocatable=quantities(offer)) for i, (offer, _) in enumerate(world)]
    pods = [
        make_pod(f"p{i}-{j}", node=f"n{i}", requests=quantities(asked))
        for i, (_, here) in enumerate(world)
        for j, asked in enumerate(here)
    ]
    return NodeResourcesBalancedAllocation(args(*names), cluster(nodes, pods))


def score_of(used: tuple[int, ...], wanted: tuple[int, ...], offer: int = 1000) -> int:
    """The score on a node that has `offer` of each resource."""
    names = ("cpu", "memory", STORAGE)[: len(used)]
    amounts = [dict(zip(names, given, strict=True)) for given in (used, wanted)]
    plugin = plugin_for(names, [(dict.fromkeys(names, offer), [amounts[0]])])
    return scored(plugin, make_pod(requests=quantities(amounts[1])))["n0"]


@pytest.mark.parametrize(
    ("used", "wanted", "expected"),
    [
        ((250, 500), (250, 125), 78),
        ((250, 500), (0, 250), 69),
        ((0, 0), (250, 250), 75),
        ((500, 125), (125, 375), 81),
        ((100, 0, 0), (300, 250, 125), 71),
        # The balance of fractions .6 and .8 is 89, of .1 and .8 it is 64: 50 + trunc((50 + 89 - 64) / 2)
        ((100, 800), (500, 0), 87),
    ],
)
def test_check_values(used: tuple[int, ...], wanted: tuple[int, ...], expected: int) -> None:
    assert score_of(used, wanted) == expected


@pytest.mark.parametrize(("wanted", "expected"), [((600, 800), 69), ((100, 800), 57)])
def test_floats_are_not_exact_on_purpose(wanted: tuple[int, int], expected: int) -> None:
    """.6 and .8 balance to 89, not 90; .1 and .8 to 64, not 65. The empty node balances to 100."""
    assert score_of((0, 0), wanted) == expected


def test_fractions_end_at_one() -> None:
    assert score_of((2000, 3000), (100, 100)) == 75


def test_a_single_resource_is_always_balanced() -> None:
    assert score_of((100,), (300,)) == 75


def test_cpu_and_memory_of_existing_pods_count_without_defaults() -> None:
    world: World = [({"cpu": 1000, "memory": 1000}, [{}])]
    pod = make_pod(requests=quantities({"cpu": 250, "memory": 250}))
    assert scored(plugin_for(("cpu", "memory"), world), pod) == {"n0": 75}


@pytest.mark.parametrize(
    ("names", "pod", "skips"),
    [
        (("cpu", "memory"), make_pod(), True),
        (("cpu", "memory"), make_pod(cpu="0", memory="0"), True),
        (("cpu", "memory"), make_pod(requests={GPU: 1}), True),
        (("cpu", "memory"), make_pod(cpu="1m"), False),
        ((GPU,), make_pod(cpu="1"), True),
        (("cpu", "memory"), make_pod(resources={"requests": {"cpu": "1"}}), False),
    ],
)
def test_a_pod_that_asks_for_nothing_skips(names: tuple[str, ...], pod: Pod, skips: bool) -> None:
    plugin = plugin_for(names, [({}, [])])
    assert (scored(plugin, pod) == {}) is skips


def test_pod_level_requests_count() -> None:
    world = [({"cpu": 1000, "memory": 1000}, [{"cpu": 0, "memory": 500}])]
    pod = make_pod(resources={"requests": {"cpu": "500m"}})
    assert scored(plugin_for(("cpu", "memory"), world), pod) == {"n0": 50 + (50 + 100 - 75) // 2}


def test_without_pre_score_the_score_computes_on_the_spot() -> None:
    plugin = plugin_for(("cpu", "memory"), [({"cpu": 1000, "memory": 1000}, [])])
    for pod, expected in ((make_pod(cpu="500m", memory=500), [75]), (make_pod(), [0])):
        assert plugin.score_nodes(CycleState(), pod, plugin.handle.nodes).tolist() == expected


def test_default_resources() -> None:
    plugin = NodeResourcesBalancedAllocation(None, cluster([make_node("n", cpu="1", memory=1000)]))
    assert scored(plugin, make_pod(cpu="500m")) == {"n": 50 + (50 + 75 - 100) // 2}
    assert plugin.events() is None


def test_only_two_of_three_resources_on_a_node() -> None:
    """Two fractions are halved, not averaged, wherever they stand among the configured resources."""
    names = ("cpu", STORAGE, "memory")
    world: World = [({"cpu": 1000, STORAGE: 0, "memory": 1000}, []), (dict.fromkeys(names, 1000), [])]
    pod = make_pod(requests=quantities({"cpu": 600, "memory": 800}))
    scores = scored(plugin_for(names, world), pod)
    assert scores["n0"] == 69
    assert scores["n1"] == reference(names, *world[1], {"cpu": 600, "memory": 800})


# The same rules, written once more node by node

NAMES = ("cpu", "memory", STORAGE, GPU, "pods")
offers = st.fixed_dictionaries({name: st.just(0) | st.integers(1, 10**6) for name in NAMES})
requests = st.fixed_dictionaries({}, optional={name: st.integers(0, 5 * 10**5) for name in NAMES[:4]})
worlds = st.lists(st.tuples(offers, st.lists(requests, max_size=2)), min_size=1, max_size=6)


def balance(amounts: list[tuple[int, int]]) -> int:
    fractions = [min(1.0, float(used) / float(allocatable)) for used, allocatable in amounts]
    count = len(fractions)
    if count < 2:
        deviation = 0.0
    elif count == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        mean = 0.0
        for fraction in fractions:
            mean += fraction
        mean /= count
        total = 0.0
        for fraction in fractions:
            total += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(total / count)
    return int((1 - deviation) * 100.0)


def reference(names: tuple[str, ...], offer: Amounts, pods: list[Amounts], wanted: Amounts) -> int:
    before, after = [], []
    for name in names:
        asked = wanted.get(name, 0)
        if name == "pods" or (name == GPU and asked == 0) or offer[name] == 0:
            continue
        used = sum(pod.get(name, 0) for pod in pods)
        before.append((used, offer[name]))
        after.append((used + asked, offer[name]))
    return 50 + math.trunc((50 + balance(after) - balance(before)) / 2)


@settings(max_examples=120)
@given(
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True).map(tuple),
    world=worlds,
    wanted=requests,
)
def test_fast_form_is_the_rule_node_by_node(names: tuple[str, ...], world: World, wanted: Amounts) -> None:
    plugin = plugin_for(names, world)
    skips = not any(wanted.get(name, 0) for name in names)
    for view in views(plugin.handle):
        scores = scored(plugin, make_pod(requests=quantities(wanted)), view)
        assert len(scores) == (0 if skips else len(view))
        for node, score in scores.items():
            assert score == reference(names, *world[int(node[1:])], wanted)
