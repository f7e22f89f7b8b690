from __future__ import annotations

import pytest

from moorage.state.cluster import ClusterState
from moorage.state.zones import ZoneOrder, zone_of
from moorage.testing import make_node

OLD, NEW = "failure-domain.beta.kubernetes.io", "topology.kubernetes.io"


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ("", "")),
        ({f"{NEW}/zone": "z"}, ("", "z")),
        ({f"{NEW}/region": "r", f"{NEW}/zone": "z"}, ("r", "z")),
        ({f"{OLD}/zone": "old", f"{NEW}/zone": "new"}, ("", "old")),
        ({f"{OLD}/region": "old", f"{NEW}/region": "new", f"{NEW}/zone": "z"}, ("old", "z")),
        ({f"{OLD}/zone": "", f"{NEW}/zone": "new"}, ("", "")),
        ({f"{NEW}/region": "", f"{NEW}/zone": ""}, ("", "")),
    ],
)
def test_the_zone_of_a_node(labels: dict[str, str], zone: tuple[str, str]) -> None:
    """Each of the newer labels counts only where the older one is missing."""
    assert zone_of(make_node("n", labels=labels)) == zone


def order_of(*nodes: str) -> ZoneOrder:
    """Nodes written as name:zone."""
    order = ZoneOrder()
    for text in nodes:
        put(order, text)
    return order


def put(order: ZoneOrder, text: str) -> None:
    name, _, zone = text.partition(":")
    order.put(make_node(name, labels={f"{NEW}/zone": zone} if zone else {}))


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        ("", ""),
        ("a b c", "a b c"),
        ("a:1 b:1 c:2 d:2", "a c b d"),
        ("a:2 b:1 c:2 d:2 e:1", "a b c e d"),
        ("a:1 b c:1 d:3", "a b d c"),
    ],
)
def test_one_of_each_zone_in_turn(nodes: str, names: str) -> None:
    assert list(order_of(*nodes.split()).names()) == names.split()


def test_a_node_whose_zone_changes_goes_to_the_end_of_the_new_one() -> None:
    order = order_of("a:1", "b:1", "c:2", "d:2")
    put(order, "a:2")
    assert list(order.names()) == ["b", "c", "d", "a"]
    put(order, "a:2")  # no change, no move
    put(order, "e:2")
    assert list(order.names()) == ["b", "c", "d", "a", "e"]


def test_a_zone_that_becomes_empty_is_forgotten() -> None:
    order = order_of("a:1", "b:2")
    order.remove("a")
    put(order, "c:1")
    assert list(order.names()) == ["b", "c"], "zone 1 comes after zone 2 now"
    order.remove("nobody")
    order.remove("b")
    order.remove("c")
    assert (order._zones, order._zone_of) == ({}, {})


def test_the_same_zone_name_in_another_region_is_another_zone() -> None:
    order = ZoneOrder()
    for name, region in (("a", "r1"), ("b", "r1"), ("c", "r2")):
        order.put(make_node(name, labels={f"{NEW}/region": region, f"{NEW}/zone": "z"}))
    assert list(order.names()) == ["a", "c", "b"]


def test_a_pure_zone_change_shows_when_a_node_comes_or_goes() -> None:
    state = ClusterState()
    for name, zone in (("a", "1"), ("b", "1"), ("c", "2")):
        state.put_node(make_node(name, labels={f"{NEW}/zone": zone}))
    state.table.refresh()
    assert state.nodes.names == ["a", "c", "b"]
    state.put_node(make_node("a", labels={f"{NEW}/zone": "2"}))
    state.table.refresh()
    assert state.nodes.names == ["a", "c", "b"], "the old order until then"
    state.put_node(make_node("d", labels={f"{NEW}/zone": "1"}))
    state.table.refresh()
    assert state.nodes.names == ["b", "c", "d", "a"]


def test_a_node_that_goes_and_comes_back_between_two_cycles_keeps_its_place() -> None:
    """Until another comes or goes: then it stands at the end of its zone."""
    state = ClusterState()
    for name in "abc":
        state.put_node(make_node(name))
    state.table.refresh()
    state.remove_node("a")
    state.put_node(make_node("a", labels={"new": "yes"}))
    state.table.refresh()
    assert state.nodes.names == ["a", "b", "c"]
    assert state.nodes.info(0).labels["new"] == "yes"
    state.put_node(make_node("d"))
    state.table.refresh()
    assert state.nodes.names == ["b", "c", "a", "d"]


def test_a_node_that_is_gone_for_a_cycle_loses_its_place() -> None:
    state = ClusterState()
    for name in "abc":
        state.put_node(make_node(name))
    state.remove_node("a")
    state.table.refresh()
    state.put_node(make_node("a"))
    state.table.refresh()
    assert state.nodes.names == ["b", "c", "a"]
