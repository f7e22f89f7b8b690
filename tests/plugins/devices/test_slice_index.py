"""The pools of nodes, kept while slices come and go."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.devices import ResourceSlice
from moorage.api.nodes import Node
from moorage.plugins.devices.allocation import slice_index
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.pools import NodePools, State
from moorage.plugins.devices.allocation.slice_index import SliceIndex
from tests.plugins.devices.device_objects import node, resource_slice
from tests.plugins.devices.device_worlds import NODES, slices

Document = dict[str, Any]


def index_of(*documents: Document) -> SliceIndex:
    index = SliceIndex()
    for document in documents:
        index.put(from_document(ResourceSlice, document))
    return index


def described(pools: NodePools) -> list[Any]:
    return [
        (
            pool.id,
            pool.state,
            [each.device for each in pool.candidates],
            sorted(each.id for each in pool.others),
            pool.counters,
        )
        for pool in pools.pools
    ]


def states(index: SliceIndex, on: Node | None = None) -> dict[str, State]:
    return {pool.name.partition("/")[2]: pool.state for pool in index.pools_of(on or node()).pools}


def devices(index: SliceIndex, on: Node | None = None) -> list[str]:
    return ["/".join(each.id[1:]) for each in index.pools_of(on or node()).candidates]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(slices(), slices(), st.data())
def test_what_is_kept_is_what_would_be_gathered_anew(
    first: list[Document], second: list[Document], data: st.DataObject
) -> None:
    index = SliceIndex()
    known: dict[str, Document] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slice_index, "_LONGEST_HISTORY", 4)
        for _ in range(data.draw(st.integers(1, 20))):
            if known and data.draw(st.integers(0, 3)) == 0:
                name = data.draw(st.sampled_from(sorted(known)))
                index.remove(name)
                del known[name]
            else:
                item = data.draw(st.sampled_from(first + second))
                known[item["metadata"]["name"]] = item
                index.put(from_document(ResourceSlice, item))
            for document in data.draw(st.sampled_from([NODES, NODES[:1], NODES[1:]])):
                here = from_document(Node, document)
                assert described(index.pools_of(here)) == described(index_of(*known.values()).pools_of(here))


def test_pools_stay_the_same_while_other_nodes_change() -> None:
    index = index_of(resource_slice("one", ["a"]), resource_slice("two", ["b"], pool="n2", nodeName="n2"))
    pools = index.pools_of(node(zone="a"))
    index.put(from_document(ResourceSlice, resource_slice("two", ["c"], pool="n2", nodeName="n2")))
    zone_b = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
    of_b = resource_slice("three", ["d"], pool="b", nodeSelector={"nodeSelectorTerms": [zone_b]})
    index.put(from_document(ResourceSlice, of_b))
    assert index.pools_of(node(zone="a")) is pools
    assert index.pools_of(node(zone="b")) is not pools
    assert devices(index, node(zone="b")) == ["b/d", "n1/a"]


def test_pools_are_ordered_by_driver_and_name_and_slices_by_name() -> None:
    index = index_of(
        resource_slice("z", ["z1"], driver="b", pool="x"),
        resource_slice("y", ["y1"], driver="a", pool="y"),
        resource_slice("w", ["w2", "w1"], driver="a", pool="x", count=2),
        resource_slice("v", ["v1"], driver="a", pool="x", count=2),
        resource_slice("u", [{"name": "u1", "bindingConditions": ["ok"]}, "u2"], driver="a", pool="a"),
    )
    assert devices(index) == ["x/v1", "x/w2", "x/w1", "y/y1", "x/z1", "a/u1", "a/u2"]


def test_a_pool_that_is_complete_as_seen_from_a_node_is_used_though_a_newer_one_is_published() -> None:
    old = resource_slice("old", ["a"])
    newer = resource_slice("newer", ["b"], generation=2, nodeName="n2")
    assert devices(index_of(old, newer)) == ["n1/a"]
    unfinished = resource_slice("old", ["a"], count=2)
    assert states(index_of(unfinished, newer)) == {}
    assert states(index_of(unfinished)) == {"n1": State.INCOMPLETE}


def test_slices_that_do_not_agree_on_their_number_are_not_finished() -> None:
    index = index_of(resource_slice("s", ["a"], count=2), resource_slice("t", ["b"], count=3))
    assert states(index) == {"n1": State.INCOMPLETE}


def test_slices_of_other_nodes_complete_a_pool() -> None:
    index = index_of(resource_slice("s", ["a"], count=2), resource_slice("t", ["a"], count=2, nodeName="n2"))
    assert devices(index) == devices(index, node("n2")) == ["n1/a"]


COUNTERS: Document = {"sharedCounters": [{"name": "s", "counters": {"x": {"value": "4"}}}]}


def drawing(name: str, counter: str = "x") -> Document:
    return {"name": name, "consumesCounters": [{"counterSet": "s", "counters": {counter: {"value": "1"}}}]}


@pytest.mark.parametrize(
    "mistake",
    [
        [resource_slice("s", ["a"], count=2), resource_slice("t", ["a"], count=2)],
        [resource_slice("s", [drawing("a")])],
        [resource_slice("s", [drawing("a", "y")], count=2), resource_slice("t", count=2, **COUNTERS)],
        [resource_slice(name, count=2, **COUNTERS) for name in "st"],
        [
            resource_slice("r", ["a"], count=3),
            resource_slice("s", [drawing("b", "y")], count=3, nodeName="n2"),
            resource_slice("t", count=3, **COUNTERS),
        ],
    ],
    ids=["device twice", "unknown set", "unknown counter", "set twice", "unknown counter elsewhere"],
)
def test_mistakes_make_a_pool_invalid(mistake: list[Document]) -> None:
    assert states(index_of(*mistake)) == {"n1": State.INVALID}


def test_counters_make_their_pool_a_matter_of_every_node() -> None:
    published = resource_slice("s", [drawing("a")], count=2)
    index = index_of(published, resource_slice("t", count=2, **COUNTERS))
    assert states(index, node("n9")) == {}
    index.remove("s")
    assert states(index, node("n9")) == {"n1": State.INCOMPLETE}
    index.put(from_document(ResourceSlice, published))
    assert states(index, node("n9")) == {}


def test_devices_that_say_where_they_are_for_nodes_that_some_are_for() -> None:
    index = index_of(
        resource_slice(
            "s",
            [
                {"name": "a", "nodeName": "n1"},
                {"name": "b", "nodeName": "n2"},
                {"name": "c", "allNodes": True},
            ],
            perDeviceNodeSelection=True,
        )
    )
    pools = index.pools_of(node())
    assert [pools.reach(each) for each in pools.candidates] == [True, False, True]
    assert [device.name for _, _, device in index.devices_for(node())] == ["a", "c"]


def test_a_selector_that_cannot_be_read_is_an_error() -> None:
    bad = {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}
    index = index_of(resource_slice("s", ["a"], nodeSelector={"nodeSelectorTerms": [bad]}))
    text = (
        "gather pool information: failed to perform node selection for slice s: failed to parse node selector"
    )
    for _ in range(2):
        with pytest.raises(AllocationFailed, match=text):
            index.pools_of(node())
    index.remove("s")
    assert states(index) == {}
