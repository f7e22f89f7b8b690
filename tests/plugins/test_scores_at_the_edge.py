"""Scorers and the filter of resources against Go's 64-bit arithmetic written down on Python's integers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.quantities import wrapped
from moorage.config.args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from moorage.framework.status import Code
from moorage.plugins.image_locality import ImageLocality
from moorage.plugins.int64_math import LOWEST, divided, truncated
from moorage.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources_fit import NodeResourcesFit
from moorage.plugins.normalize import default_normalize
from moorage.plugins.resource_scoring import on_line
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, scored
from tests.plugins.test_resource_scoring import strategy

PROPERTY = settings(max_examples=150, deadline=None)
GPU = "example.com/gpu"
NAMES = ("cpu", "memory", GPU)
SHAPE = [(10, 10), (45, 3), (90, 7)]

EDGES = (0, 1, 2**31, 2**53 - 1, 2**53 + 1, 2**56, 2**62, 2**63 // 100, 2**63 - 1)
numbers = st.one_of(
    st.sampled_from([sign * edge + off for edge in EDGES for sign in (1, -1) for off in (-1, 0, 1)]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 10**6),
).map(wrapped)


# Go's arithmetic


def quotient(a: int, b: int) -> int:
    """Truncated toward zero, and wrapped: the lowest number divided by -1 is itself."""
    return wrapped(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def integer(number: float) -> int:
    """What a float becomes on amd64."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else LOWEST


class Amount(NamedTuple):
    """Of one resource on one node: what there is, what is used, what the pod wants of it."""

    allocatable: int
    used: int
    wanted: int

    @property
    def requested(self) -> int:
        return wrapped(self.used + self.wanted)


def least(amount: Amount) -> int:
    if amount.requested > amount.allocatable:
        return 0
    return quotient(wrapped(wrapped(amount.allocatable - amount.requested) * 100), amount.allocatable)


def most(amount: Amount) -> int:
    return quotient(wrapped(min(amount.requested, amount.allocatable) * 100), amount.allocatable)


def mean(scores: list[tuple[int, int]]) -> int:
    """Of scores and weights."""
    weights = sum(weight for _, weight in scores)
    return quotient(wrapped(sum(score * weight for score, weight in scores)), weights) if weights else 0


def on_shape(amount: Amount) -> int:
    points = [(utilization, score * 10) for utilization, score in SHAPE]
    if amount.requested > amount.allocatable:
        return on_line(points, 100)
    return on_line(points, quotient(wrapped(amount.requested * 100), amount.allocatable))


def ratio(scores: list[tuple[int, int]]) -> int:
    scores = [(score, weight) for score, weight in scores if score > 0]
    weights = sum(weight for _, weight in scores)
    exact = sum(score * weight for score, weight in scores) / weights if weights else 0.0
    return math.floor(exact + 0.5)


def balance(used: list[int], allocatable: list[int]) -> int:
    fractions = [min(float(u) / float(a), 1.0) for u, a in zip(used, allocatable, strict=True)]
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        middle = in_order(fractions) / float(len(fractions))
        squares = [(fraction - middle) * (fraction - middle) for fraction in fractions]
        deviation = math.sqrt(in_order(squares) / float(len(fractions)))
    return integer((1 - deviation) * 100.0)


def in_order(numbers: list[float]) -> float:
    """Not `sum`, which may keep more digits than Go does."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def improvement(amounts: list[Amount]) -> int:
    allocatable = [amount.allocatable for amount in amounts]
    after = balance([amount.requested for amount in amounts], allocatable)
    before = balance([amount.used for amount in amounts], allocatable)
    return wrapped(50 + quotient(wrapped(50 + after - before), 2))


# The same amounts in a cluster


def text(name: str, number: int) -> str:
    """A quantity that is this number in 64 bits."""
    return f"{number % 2**64}{'m' if name == 'cpu' else ''}"


def quantities(amounts: dict[str, int]) -> dict[str, Any]:
    return {name: text(name, amount) for name, amount in amounts.items()}


Node = dict[str, tuple[int, int]]
"""Per resource what is allocatable and what is used."""

nodes_drawn = st.lists(
    st.fixed_dictionaries({name: st.tuples(numbers, numbers) for name in NAMES}), min_size=1, max_size=4
)
wants = st.fixed_dictionaries(dict.fromkeys(NAMES, numbers))
weights_drawn = st.fixed_dictionaries({name: st.integers(1, 100) for name in NAMES})


def handle_of(nodes: list[Node]) -> Any:
    return cluster(
        [
            make_node(f"n{place}", allocatable=quantities({name: pair[0] for name, pair in node.items()}))
            for place, node in enumerate(nodes)
        ],
        [
            make_pod(
                f"p{place}",
                node=f"n{place}",
                requests=quantities({name: pair[1] for name, pair in node.items()}),
            )
            for place, node in enumerate(nodes)
        ],
    )


def counted(node: Node, wanted: dict[str, int]) -> dict[str, Amount]:
    """A scalar resource counts only if the pod asks for it, and any only where the node has it."""
    return {
        name: Amount(*node[name], wanted[name])
        for name in NAMES
        if node[name][0] and (wanted[name] or name != GPU)
    }


@PROPERTY
@given(nodes_drawn, wants, weights_drawn)
def test_the_three_strategies(nodes: list[Node], wanted: dict[str, int], weights: dict[str, int]) -> None:
    handle, pod = handle_of(nodes), make_pod(requests=quantities(wanted))
    for kind, score, combine in (
        ("LeastAllocated", least, mean),
        ("MostAllocated", most, mean),
        ("RequestedToCapacityRatio", on_shape, ratio),
    ):
        args = strategy(kind, weights, SHAPE if kind == "RequestedToCapacityRatio" else None)
        assert scored(NodeResourcesFit(args, handle), pod) == {
            f"n{place}": combine(
                [(score(amount), weights[name]) for name, amount in counted(node, wanted).items()]
            )
            for place, node in enumerate(nodes)
        }, kind


@PROPERTY
@given(nodes_drawn, wants, st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
def test_balance(nodes: list[Node], wanted: dict[str, int], names: list[str]) -> None:
    handle, pod = handle_of(nodes), make_pod(requests=quantities(wanted))
    resources = [ResourceSpec(name=name, weight=1) for name in names]
    args = NodeResourcesBalancedAllocationArgs(resources=resources)
    found = scored(NodeResourcesBalancedAllocation(args, handle), pod)
    if not any(wanted[name] for name in names):
        assert found == {}
        return
    for place, node in enumerate(nodes):
        amounts = counted(node, wanted)
        assert found[f"n{place}"] == improvement([amounts[name] for name in names if name in amounts])


@PROPERTY
@given(nodes_drawn, wants)
def test_room(nodes: list[Node], wanted: dict[str, int]) -> None:
    found = filtered(NodeResourcesFit(None, handle_of(nodes)), make_pod(requests=quantities(wanted)))
    for place, node in enumerate(nodes):
        lacking = [
            name
            for name in NAMES
            if wanted[name] > 0 and wanted[name] > wrapped(node[name][0] - node[name][1])
        ]
        status = found[f"n{place}"]
        assert lacking == (
            [reason.removeprefix("Insufficient ") for reason in status.reasons] if status else []
        )
        if status is not None:
            is_hopeless = any(wanted[name] > node[name][0] for name in lacking)
            assert (status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE) == is_hopeless


@PROPERTY
@given(
    st.lists(numbers.filter(lambda size: size >= 0), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_images(sizes: list[int], times: int, without: int) -> None:
    """Every image is on the same nodes, and the pod uses each of them so many times."""
    images = {f"image{place}:1": size for place, size in enumerate(sizes)}
    nodes = [make_node("with", images=images), *(make_node(f"n{place}") for place in range(without))]
    containers = [{"name": f"c{place}", "image": name} for place, name in enumerate([*images] * times)]
    share = 1.0 / float(1 + without)
    total = 0
    for size in sizes * times:
        total = wrapped(total + integer(float(size) * share))
    smallest, largest = 23 * 2**20, 1000 * 2**20 * len(containers)
    expected = 100 * (min(max(total, smallest), largest) - smallest) // (largest - smallest)
    assert scored(ImageLocality(None, cluster(nodes)), make_pod(containers=containers))["with"] == expected


@PROPERTY
@given(st.lists(numbers, min_size=1, max_size=6), st.booleans())
def test_default_normalization(scores: list[int], reverse: bool) -> None:
    highest = max(0, *scores)
    if highest:
        expected = [quotient(wrapped(score * 100), highest) for score in scores]
        expected = [wrapped(100 - score) for score in expected] if reverse else expected
    else:
        expected = [100] * len(scores) if reverse else scores
    assert default_normalize(np.array(scores, dtype=np.int64), reverse=reverse).tolist() == expected


@PROPERTY
@given(st.lists(st.tuples(numbers, numbers.filter(bool)), min_size=1), st.lists(st.floats()))
def test_division_and_truncation(pairs: list[tuple[int, int]], floats: list[float]) -> None:
    dividends, divisors = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    assert divided(dividends, divisors).tolist() == [quotient(a, b) for a, b in pairs]
    assert divided(dividends, 7).tolist() == [quotient(a, 7) for a, _ in pairs]
    assert truncated(np.array(floats, dtype=np.float64)).tolist() == [
        LOWEST if math.isnan(number) else integer(number) for number in floats
    ]
