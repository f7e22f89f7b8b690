from __future__ import annotations

import numpy as np
import pytest

from moorage.state.cluster import ClusterState
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod


@pytest.fixture
def state() -> ClusterState:
    state = ClusterState()
    for number in range(4):
        labels = {"tier": f"t{number}"} if number % 2 else {}
        state.put_node(make_node(f"n{number}", cpu=number + 1, labels=labels, unschedulable=number == 3))
    state.add_pod(make_pod("p", node="n2", cpu="500m"))
    state.table.refresh()
    return state


def stretches(state: ClusterState) -> list[tuple[Nodes, list[int]]]:
    table = state.table
    return [
        (Nodes.all(table), [0, 1, 2, 3]),
        (Nodes(table, slice(1, 3)), [1, 2]),
        (Nodes(table, slice(0, 0)), []),
        (Nodes(table, np.array([3, 0, 2], dtype=np.intp)), [3, 0, 2]),
        (Nodes.all(table).subset(np.array([2, 1], dtype=np.intp)), [2, 1]),
        (Nodes(table, slice(1, 4)).subset(np.array([2, 0], dtype=np.intp)), [3, 1]),
        (Nodes(table, np.array([3, 0, 2], dtype=np.intp)).subset(np.array([1], dtype=np.intp)), [0]),
    ]


def test_every_array_has_one_entry_per_node_in_the_same_order(state: ClusterState) -> None:
    for nodes, numbers in stretches(state):
        assert len(nodes) == len(numbers)
        assert nodes.names == [f"n{number}" for number in numbers]
        assert [info.name for info in nodes] == nodes.names
        assert nodes.row_numbers().tolist() == numbers
        assert nodes.allocatable["cpu"].tolist() == [1000 * (number + 1) for number in numbers]
        assert nodes.requested["cpu"].tolist() == [500 * (number == 2) for number in numbers]
        assert nodes.nonzero_requested["cpu"].tolist() == [500 * (number == 2) for number in numbers]
        assert nodes.requested["nobody/asks"].tolist() == [0] * len(numbers)
        assert nodes.pod_count.tolist() == [int(number == 2) for number in numbers]
        assert nodes.allowed_pods.tolist() == [110] * len(numbers)
        assert nodes.unschedulable.tolist() == [number == 3 for number in numbers]
        tier = nodes.label("tier")
        assert [tier.values[code] for code in tier.codes] == [
            f"t{number}" if number % 2 else None for number in numbers
        ]


def test_finding_nodes(state: ClusterState) -> None:
    for nodes, numbers in stretches(state):
        for place, number in enumerate(numbers):
            assert nodes.index(f"n{number}") == place
            assert nodes.info(place).name == f"n{number}"
        for number in {0, 1, 2, 3} - set(numbers):
            assert nodes.index(f"n{number}") is None
        assert nodes.index("nobody") is None


def test_a_column_of_ones_own(state: ClusterState) -> None:
    nodes = Nodes(state.table, slice(1, 3))
    last = nodes.column("last digit", lambda node: int(node.name[-1]), np.int64)
    assert last.tolist() == [1, 2]
    assert last.dtype == np.int64
