"""Pods with device claims in a scheduler in memory: what is shared between pods and nodes changes nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.devices import ResourceClaim, ResourceSlice
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.devices import known_answers
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.testing import make_node
from moorage.what_if.scenario import Scenario
from moorage.what_if.simulation import Simulation
from tests.plugins.devices.clusters import claim, claiming, gpu_class
from tests.plugins.devices.device_objects import exactly, resource_slice

Document = dict[str, Any]

MODELS = ("a", "b")
SELECTORS = {
    model: [{"cel": {"expression": f'device.attributes["gpu.example.com"].model == "{model}"'}}]
    for model in MODELS
}
CLAIMS: tuple[list[Document], ...] = (
    [exactly()],
    [exactly(count=2)],
    [exactly(selectors=SELECTORS["a"])],
    [exactly("x", selectors=SELECTORS["a"]), exactly("y", selectors=SELECTORS["b"])],
    [
        {
            "name": "r",
            "firstAvailable": [
                {"name": "best", "deviceClassName": "gpu", "count": 2, "selectors": SELECTORS["b"]},
                {"name": "any", "deviceClassName": "gpu", "count": 1},
            ],
        }
    ],
)


def devices(node: str, models: list[str]) -> ResourceSlice:
    listed = [
        {"name": f"gpu-{n}", "attributes": {"model": {"string": model}}} for n, model in enumerate(models)
    ]
    return from_document(ResourceSlice, resource_slice(f"{node}-gpus", listed, pool=node, nodeName=node))


NODES = ("n1", "n2", "n3")
_models = st.lists(st.sampled_from(MODELS), max_size=3)
_steps = st.one_of(
    st.tuples(st.just("pod"), st.integers(0, len(CLAIMS) - 1)),
    st.tuples(st.just("devices"), st.tuples(st.sampled_from(NODES), _models)),
    st.tuples(st.just("free"), st.integers(0, 20)),
)


def held(simulation: Simulation) -> Counter[tuple[str, str, str]]:
    """How many claims have each device."""
    claims = simulation.scheduler.state.objects.of(ResourceClaim).list()
    allocations = (each.status.allocation for each in claims if each.status.allocation is not None)
    return Counter((r.driver, r.pool, r.device) for each in allocations for r in each.devices.results)


@settings(deadline=None, max_examples=60)
@given(steps=st.lists(_steps, min_size=3, max_size=14))
def test_every_pod_that_fits_is_placed_and_no_device_is_given_twice(steps: list[tuple[str, Any]]) -> None:
    simulation = Simulation(load(DEFAULT_CONFIGURATION).config, in_tree_registry())
    for item in (gpu_class(), *map(make_node, NODES), *(devices(name, ["a", "b"]) for name in NODES)):
        simulation.add(item)
    for number, (what, which) in enumerate(steps):
        if what == "pod":
            simulation.add(claim(f"c{number}", *CLAIMS[which]))
            expected = decided_anew(simulation, f"p{number}", f"c{number}")
            result = asyncio.run(simulation.run([claiming(f"p{number}", f"c{number}")]))
            assert bool(result.placed) is bool(expected), f"{result} but {expected}"
            assert not result.placed or set(result.placed.values()) <= set(expected)
        elif what == "devices":
            simulation.add(devices(*which))
        else:
            free_one(simulation, which)
        assert max(held(simulation).values(), default=0) <= 1


def decided_anew(simulation: Simulation, pod: str, name: str) -> list[str]:
    """Where a scheduler that knows nothing but what there is now would put a pod."""
    state = simulation.scheduler.state
    objects = [
        item
        for kind in (type(gpu_class()), ResourceSlice, ResourceClaim)
        for item in state.objects.of(kind).list()
    ]
    scenario = Scenario([*(info.node for info in state.table.infos), *objects], in_tree_registry())
    feasible: list[str] = scenario.evaluate(claiming(pod, name)).document()["feasible"]
    return feasible


def free_one(simulation: Simulation, which: int) -> None:
    claims = sorted(simulation.scheduler.state.objects.of(ResourceClaim).list(), key=lambda each: each.name)
    if claims:
        old = claims[which % len(claims)].raw
        version = str(int(old["metadata"]["resourceVersion"]) + 1)
        document = {**old, "metadata": {**old["metadata"], "resourceVersion": version}, "status": {}}
        simulation.add(from_document(ResourceClaim, document))


def test_nodes_that_are_alike_are_asked_once(monkeypatch: Any) -> None:
    asked: list[str] = []
    number = known_answers.KnownAnswers._number

    def noting(self: Any, node: Any, allocator: Any, ask: Any) -> int:
        def note_and_ask(node: Any) -> Any:
            asked.append(node.name)
            return ask(node)

        return number(self, node, allocator, note_and_ask)

    monkeypatch.setattr(known_answers.KnownAnswers, "_number", noting)
    simulation = Simulation(load(DEFAULT_CONFIGURATION).config, in_tree_registry())
    names = [f"n{n}" for n in range(50)]
    for item in (gpu_class(), *map(make_node, names), *(devices(name, ["a", "a"]) for name in names)):
        simulation.add(item)
    pods = []
    for n in range(60):
        simulation.add(claim(f"c{n}"))
        pods.append(claiming(f"p{n}", f"c{n}"))
    result = asyncio.run(simulation.run(pods))
    assert len(result.placed) == 60
    assert len(asked) <= 3, "as they are, with one device in use, and with both"
