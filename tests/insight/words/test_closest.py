"""The node that is nearest to fitting, against a slow search of the obvious kind."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.insight.words.amounts import amount
from moorage.insight.words.closest import closest
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.what_if.scenario import Scenario

REGISTRY = in_tree_registry()
CONFIG = default_configuration(REGISTRY, [])
GPU = {"key": "gpu", "value": "true", "effect": "NoSchedule"}


def node(name: str, cpu: int, memory: int, taints: list[Any], cordoned: bool = False) -> Node:
    allocatable = {"cpu": f"{cpu}m", "memory": str(memory), "pods": "10"}
    spec = {"taints": taints, "unschedulable": cordoned}
    document = {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": allocatable}}
    return from_document(Node, document)


def pod(cpu: int, memory: int) -> Pod:
    requests = {"cpu": f"{cpu}m", "memory": str(memory)}
    spec = {"containers": [{"name": "main", "resources": {"requests": requests}}]}
    metadata = {"name": "p", "namespace": "default", "uid": "p"}
    return from_document(Pod, {"metadata": metadata, "spec": spec})


ROWS = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 5000), st.booleans(), st.booleans()),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 6000), st.integers(1, 6000))
def test_it_lacks_the_least(rows: list[tuple[int, int, bool, bool]], cpu: int, memory: int) -> None:
    nodes = [
        node(f"n{i}", has_cpu, has_memory, [GPU] if tainted else [], cordoned)
        for i, (has_cpu, has_memory, tainted, cordoned) in enumerate(rows)
    ]
    scenario = Scenario(nodes, REGISTRY, CONFIG)
    wanted = pod(cpu, memory)
    decision = scenario.evaluate(wanted).decision
    assert decision is not None
    table = scenario.services.state.table
    shortest: float | None = None
    taints = 0
    for has_cpu, has_memory, tainted, cordoned in rows:
        if tainted and not cordoned:
            taints += 1
        if not tainted and not cordoned:
            part = max((cpu - has_cpu) / cpu, (memory - has_memory) / memory)
            shortest = part if shortest is None else min(shortest, part)
    if decision.node_name:
        return
    found = closest(table, wanted, decision.statuses)
    assert found == closest(table, wanted), "the state says the same as the statuses of an attempt"
    if shortest is None and not taints:
        assert found is None
        return
    assert found is not None
    assert found.get("taints", {}) == ({"gpu=true:NoSchedule": taints} if taints else {})
    if shortest is None:
        assert "node" not in found
        return
    has_cpu, has_memory, *_ = rows[int(found["node"][1:])]
    short = {"cpu": cpu - has_cpu, "memory": memory - has_memory}
    parts = {"cpu": short["cpu"] / cpu, "memory": short["memory"] / memory}
    assert max(parts.values()) == shortest
    assert parts[found["resource"]] == shortest
    assert found["short"] == amount(found["resource"], short[found["resource"]])
    assert found.get("also", {}).keys() == {
        name for name, units in short.items() if units > 0 and name != found["resource"]
    }


def test_room_for_pods_counts_too() -> None:
    full = node("full", 4000, 4000, [])
    full.status.allocatable["pods"] = "0"
    scenario = Scenario([full], REGISTRY, CONFIG)
    assert closest(scenario.services.state.table, pod(1, 1)) == {
        "node": "full",
        "resource": "pods",
        "short": "1",
        "tooLarge": "0",
    }


def test_requests_that_cannot_be_read_have_no_answer() -> None:
    scenario = Scenario([node("n", 1, 1, [])], REGISTRY, CONFIG)
    odd = pod(1, 1)
    odd.spec.containers[0].resources.requests["cpu"] = "nonsense"
    assert closest(scenario.services.state.table, odd) is None
    assert closest(Scenario([], REGISTRY, CONFIG).services.state.table, pod(1, 1)) is None
