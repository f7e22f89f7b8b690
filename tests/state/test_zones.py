from __future__ import annotations

from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.state.cluster import ClusterState
from moorage.state.columns import Columns
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


class Order:
    """Nodes written as name:zone, in rows as the table has them."""

    def __init__(self, *nodes: str) -> None:
        self.columns = Columns()
        self.zones = ZoneOrder(self.columns)
        self.rows: list[str] = []
        for text in nodes:
            self.put(text)

    def put(self, text: str) -> None:
        name, _, zone = text.partition(":")
        region, _, zone = zone.rpartition("/")
        labels = {f"{NEW}/zone": zone} if zone else {}
        if region:
            labels[f"{NEW}/region"] = region
        if name not in self.rows:
            self.columns.append_row()
            self.rows.append(name)
        self.zones.put(self.rows.index(name), make_node(name, labels=labels))

    def remove(self, name: str) -> None:
        row = self.rows.index(name)
        self.zones.remove(row, name)
        self.columns.remove_row(row)
        last = self.rows.pop()
        if last != name:
            self.rows[row] = last

    def names(self) -> list[str]:
        order = self.zones.restored(len(self.rows))
        self.columns.reorder(order)
        self.rows = [self.rows[row] for row in order]
        return self.rows


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
    assert Order(*nodes.split()).names() == names.split()


def test_a_node_whose_zone_changes_goes_to_the_end_of_the_new_one() -> None:
    order = Order("a:1", "b:1", "c:2", "d:2")
    order.put("a:2")
    assert order.names() == ["b", "c", "d", "a"]
    order.put("a:2")  # no change, no move
    order.put("e:2")
    assert order.names() == ["b", "c", "d", "a", "e"]


def test_a_zone_that_becomes_empty_is_forgotten() -> None:
    order = Order("a:1", "b:2")
    order.remove("a")
    order.put("c:1")
    assert order.names() == ["b", "c"], "zone 1 comes after zone 2 now"
    order.remove("b")
    order.remove("c")
    assert order.names() == []
    assert (order.zones._zones, order.zones._zone_of, order.zones._left) == ({}, {}, {})


def test_the_same_zone_name_in_another_region_is_another_zone() -> None:
    assert Order("a:r1/z", "b:r1/z", "c:r2/z").names() == ["a", "c", "b"]


class Reference:
    """The order as it is defined: lists of names by zone."""

    def __init__(self) -> None:
        self.zones: dict[str, list[str]] = {}
        self.listed: list[str] = []

    def put(self, name: str, zone: str) -> None:
        if name not in self.zones.get(zone, []):
            self.remove(name)
            self.zones.setdefault(zone, []).append(name)

    def remove(self, name: str) -> None:
        for zone, names in list(self.zones.items()):
            if name in names:
                names.remove(name)
                if not names:
                    del self.zones[zone]

    def names(self) -> list[str]:
        turns = zip_longest(*self.zones.values())
        names = [name for turn in turns for name in turn if name is not None]
        if set(names) != set(self.listed):
            self.listed = names
        return self.listed


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["put", "put", "remove", "names"]), st.integers(0, 8), st.integers(0, 3))
    )
)
def test_the_order_is_the_one_of_lists_by_zone(acts: list[tuple[str, int, int]]) -> None:
    order, reference = Order(), Reference()
    for act, number, zone in acts:
        name = f"n{number}"
        if act == "put":
            order.put(f"{name}:z{zone}")
            reference.put(name, f"z{zone}")
        elif act == "remove" and name in order.rows:
            order.remove(name)
            reference.remove(name)
        elif act == "names":
            assert order.names() == reference.names()
    assert order.names() == reference.names()


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
