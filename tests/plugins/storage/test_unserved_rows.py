"""Which nodes have nothing is known at any time, whatever is taken, comes back, or changes on nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.selectors import NodeSelector
from moorage.plugins.storage.first_of_groups import FirstOfGroups, Members
from moorage.plugins.storage.free_volumes import affinity_of
from moorage.plugins.storage.masks import Mask
from moorage.plugins.storage.node_groups import NodeGroups
from moorage.plugins.storage.unserved_rows import UnservedRows
from moorage.testing import make_node
from tests.plugins.helpers import cluster, views
from tests.plugins.storage.volume_objects import HOST, ZONE, affinity, in_zone, line, make_volume

NODES = ("n0", "n1", "n2", "n3")


def selector(document: dict[str, Any]) -> NodeSelector | None:
    return affinity_of(make_volume("v", node_affinity=document))


PLACES = [
    *(selector(affinity([line(HOST, name)])) for name in NODES),
    selector(affinity([line(HOST, "n0")], [line(ZONE, "b")])),
    *(selector(in_zone(*zones)) for zones in ("a", "b", "ab")),
]
STEPS = st.one_of(
    st.tuples(st.just("take"), st.integers(0, 7)),
    st.tuples(st.just("bring back"), st.integers(0, 7)),
    st.tuples(st.just("move"), st.sampled_from(NODES)),
    st.tuples(st.just("look"), st.none()),
)


def node(name: str, zone: str) -> Node:
    return make_node(name, labels={HOST: name, ZONE: zone})


@given(
    st.lists(st.sampled_from(PLACES), min_size=1, max_size=7),
    st.booleans(),
    st.lists(STEPS, max_size=30),
)
def test_the_same_as_looking_at_each(
    places: list[NodeSelector | None], anywhere: bool, steps: list[tuple[str, Any]]
) -> None:
    handle = cluster([node(name, "ab"[number % 2]) for number, name in enumerate(NODES)])
    places = [*places, None] if anywhere else places
    groups = NodeGroups(handle.state.table, places)
    members = Members(groups.group_of, len(groups))
    suits = np.ones(len(places), dtype=np.bool_)
    unserved = UnservedRows(groups, FirstOfGroups(members, suits))
    answers: list[tuple[Mask, list[bool]]] = []
    for what, about in [*steps, ("look", None)]:
        if what == "move":
            handle.state.put_node(node(about, "c"))
        elif what != "look":
            members.set_free(about % len(places), what == "bring back")
        else:
            left = [place for place, free in zip(places, members.is_free, strict=True) if free]
            for nodes in views(handle):
                expected = [
                    not any(place is None or place.matches(info.node.labels, "") for place in left)
                    for info in nodes
                ]
                answers.append((unserved.among(nodes.rows), expected))
    for found, expected in answers:  # only now: none of them changed since it was given
        assert (found is False and not any(expected)) or np.array_equal(found, expected)
