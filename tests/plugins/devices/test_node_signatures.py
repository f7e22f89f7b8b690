"""Nodes with equal signatures get equal answers."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.plugins.devices.allocation.failures import AllocationFailed, InvalidPools
from tests.plugins.devices.device_objects import (
    DRIVER,
    Cluster,
    claim,
    device_class,
    exactly,
    held,
    node,
    resource_slice,
)
from tests.plugins.devices.device_worlds import SELECTORS, claims, classes, devices, holders

Document = dict[str, Any]


def copies(node_names: list[str], made: list[list[Document]]) -> list[Document]:
    """Pools of one kind for each node, named like the node."""
    return [
        resource_slice(f"{name}-{number}", each, driver=f"{'ab'[number]}.example", pool=name, nodeName=name)
        for name in node_names
        for number, each in enumerate(made)
    ]


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(
    st.lists(devices(("d0", "d1", "d2", "d3"), (), False), min_size=1, max_size=2),
    claims(),
    st.data(),
)
def test_equal_signatures_mean_equal_answers(
    made: list[list[Document]], wanted: list[Document], data: st.DataObject
) -> None:
    names = ["n1", "n2", "n3"]
    offered = copies(names, made)
    cluster = Cluster(offered, classes().values(), data.draw(holders(offered)), selectors=SELECTORS)
    allocator = cluster.allocator(*wanted)
    answers: dict[object, list[Any]] = {}
    for name in names:
        here = from_document(Node, {"metadata": {"name": name}})
        signature = allocator.node_signature(here)
        assert signature is not None
        assert signature == allocator.node_signature(here)
        try:
            plans = allocator.allocate(here)
        except InvalidPools:
            answer: Any = "invalid"
        except AllocationFailed:
            answer = "failed"
        else:
            answer = (
                None
                if plans is None
                else [
                    (plan.chosen, [each.replace(f"/{name}/", "/*/") for each in plan.devices])
                    for plan in plans
                ]
            )
        answers.setdefault(signature, []).append(answer)
    for same in answers.values():
        assert all(answer == same[0] for answer in same)


def nodes_with(*labels: tuple[str, list[Document | str]], claims: list[Document] | None = None) -> Cluster:
    slices = [resource_slice(name, listed, pool=name, nodeName=name) for name, listed in labels]
    fast = device_class("gpu", "fast")
    return Cluster(
        slices, [fast], claims or (), fast=lambda _, device: device["attributes"]["mhz"]["int"] > 5
    )


def gpu(name: str, mhz: int, **more: Any) -> Document:
    return {"name": name, "attributes": {"mhz": {"int": mhz}, "uuid": {"string": f"{name}-{mhz}"}}, **more}


def test_what_nobody_asks_for_makes_no_difference() -> None:
    """Each device has a number of its own, but the selector does not ask for it."""
    cluster = nodes_with(("n1", [gpu("a", 1), gpu("b", 7)]), ("n2", [gpu("x", 3), gpu("y", 9)]))
    allocator = cluster.allocator(claim(exactly()))
    assert allocator.node_signature(node("n1")) == allocator.node_signature(node("n2"))


def test_a_constraint_asks_for_values() -> None:
    cluster = nodes_with(("n1", [gpu("a", 7), gpu("b", 7)]), ("n2", [gpu("x", 7), gpu("y", 9)]))
    plain = cluster.allocator(claim(exactly()))
    assert plain.node_signature(node("n1")) == plain.node_signature(node("n2"))
    constraints = [{"matchAttribute": f"{DRIVER}/mhz"}]
    same = cluster.allocator(claim(exactly(count=2), constraints=constraints))
    assert same.node_signature(node("n1")) != same.node_signature(node("n2"))


def test_the_devices_in_use_make_a_difference_while_they_are() -> None:
    listed: list[Document | str] = [gpu("a", 7), gpu("b", 7)]
    cluster = nodes_with(("n1", listed), ("n2", listed), claims=[held(("n1", "a"))])
    allocator = cluster.allocator(claim(exactly()))
    busy = allocator.node_signature(node("n1"))
    assert busy != allocator.node_signature(node("n2"))
    cluster.in_use.remove_claim("default/held")
    assert busy != allocator.node_signature(node("n1")) == allocator.node_signature(node("n2"))


def test_signatures_are_not_given_for_claims_that_fail_anyway() -> None:
    cluster = Cluster([resource_slice("s", ["a"])], classes=())
    assert cluster.allocator(claim(exactly())).node_signature(node()) is None
