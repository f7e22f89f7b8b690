"""A large cluster in memory: every workload at once, nothing lost, nothing overcommitted."""

from __future__ import annotations

import asyncio
from itertools import chain

import pytest

from moorage.api.devices import ResourceClaim
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.what_if.device_workloads import make_claims, make_devices
from moorage.what_if.simulation import Simulation
from moorage.what_if.workloads import WORKLOADS, make_nodes, make_pods


@pytest.mark.soak
def test_every_pod_is_placed_once_and_no_node_is_overcommitted(soak: bool) -> None:
    nodes, pods_of_each = (15000, 4000) if soak else (300, 60)
    simulation = Simulation(load(DEFAULT_CONFIGURATION).config, in_tree_registry())
    made = list(make_nodes(nodes))
    pods = list(chain.from_iterable(make_pods(workload, pods_of_each, workload) for workload in WORKLOADS))
    for item in (*made, *make_devices(node.name for node in made), *make_claims(pods)):
        simulation.add(item)
    result = asyncio.run(simulation.run(pods))
    assert result.pending == {}
    assert len(result.placed) == pods_of_each * len(WORKLOADS)
    state = simulation.scheduler.state
    assert int(state.nodes.pod_count.sum()) == len(result.placed)
    for resource in ("cpu", "memory"):
        assert (state.nodes.requested[resource] <= state.nodes.allocatable[resource]).all()
    claims = state.objects.of(ResourceClaim).list()
    given = [
        each
        for claim in claims
        if claim.status.allocation
        for each in claim.status.allocation.devices.results
    ]
    assert len({(each.pool, each.device) for each in given}) == len(given) == pods_of_each
    assert simulation.scheduler.queue.describe() == "activeQ:0; backoffQ:0; unschedulablePods:0"
