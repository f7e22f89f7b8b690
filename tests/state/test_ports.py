from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.state.cluster import ClusterState
from moorage.state.node_info import HostPort
from moorage.state.ports import conflicts
from moorage.testing import make_node, make_pod

TCP: HostPort = ("10.0.0.1", "TCP", 80)


@pytest.mark.parametrize(
    ("wanted", "taken", "conflict"),
    [
        (("0.0.0.0", "TCP", 80), TCP, True),
        (TCP, ("0.0.0.0", "TCP", 80), True),
        (TCP, TCP, True),
        (TCP, ("10.0.0.2", "TCP", 80), False),
        (TCP, ("10.0.0.1", "UDP", 80), False),
        (TCP, ("10.0.0.1", "TCP", 81), False),
        (("::", "TCP", 80), TCP, False),
        (TCP, ("::", "TCP", 80), False),
        (("::", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
    ],
)
def test_which_ports_conflict(wanted: HostPort, taken: HostPort, conflict: bool) -> None:
    assert conflicts([wanted], {taken}) == conflict
    assert not conflicts([wanted], set())
    assert not conflicts([], {taken})


triples = st.tuples(
    st.sampled_from(["0.0.0.0", "10.0.0.1", "::"]), st.sampled_from(["TCP", "UDP"]), st.sampled_from([80, 81])
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(triples, max_size=3), min_size=1, max_size=4), st.lists(triples, max_size=2))
def test_the_columns_say_what_the_sets_say(held: list[list[HostPort]], wanted: list[HostPort]) -> None:
    state = ClusterState()
    for number, ports in enumerate(held):
        state.put_node(make_node(f"n{number}"))
        listed = [{"hostIP": ip, "protocol": protocol, "hostPort": port} for ip, protocol, port in ports]
        containers = [{"name": "c", "ports": listed}]
        state.add_pod(make_pod(f"p{number}", node=f"n{number}", containers=containers))
    columns = state.ports.conflicting(wanted)
    for info, ports in zip(state.table, held, strict=True):
        assert info.used_ports == set(ports)
        assert any(column[info.row] for column in columns) == conflicts(wanted, set(ports))
    for number in range(len(held)):
        state.remove_pod(f"pod-default-p{number}")
    assert (state.ports._by_port, state.ports._nodes) == ({}, {})
