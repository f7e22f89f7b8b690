"""The allocator against one that is slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.plugins.devices.allocation import lookahead, search
from moorage.plugins.devices.allocation.failures import AllocationFailed, InvalidPools
from tests.plugins.devices.device_objects import Cluster
from tests.plugins.devices.device_worlds import NODES, claims, worlds
from tests.plugins.devices.obvious import INVALID, NONE, Broken, World, allocate

Document = dict[str, Any]

generous = settings(max_examples=200, suppress_health_check=list(HealthCheck))


@pytest.fixture(params=["with patience", "without"])
def _patience(request: pytest.FixtureRequest) -> Iterator[None]:
    """Without patience the search looks ahead at once, and at every step."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "without":
            patch.setattr(search, "_PATIENCE", 0)
            patch.setattr(lookahead, "_LONGEST_PAUSE", 0)
        yield


@pytest.mark.usefixtures("_patience")
@generous
@given(worlds(), claims(), st.sampled_from(NODES))
def test_every_answer_is_that_of_the_obvious_allocator(
    world: World, wanted: list[Document], node: Document
) -> None:
    assert answer(cluster_of(world), wanted, node) == obvious_answer(world, wanted, node)


def cluster_of(world: World) -> Cluster:
    return Cluster(world.slices, world.classes.values(), world.claims, selectors=world.selectors)


def answer(cluster: Cluster, wanted: list[Document], node: Document) -> list[list[str]] | str:
    try:
        found = cluster.devices(*wanted, on=from_document(Node, node))
    except (AllocationFailed, InvalidPools) as error:
        return str(error)
    return NONE if found is None else found


def obvious_answer(world: World, wanted: list[Document], node: Document) -> list[list[str]] | str:
    assert str(InvalidPools()) == INVALID
    try:
        return allocate(world, node, wanted)
    except Broken as error:
        return str(error)
