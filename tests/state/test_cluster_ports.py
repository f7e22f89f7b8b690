"""Host ports are a set, not a number of holders."""

from __future__ import annotations

from typing import Any

from moorage.api.pods import Pod
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod


def with_port(name: str, port: int = 80, **rest: Any) -> Pod:
    return make_pod(name, node="n", containers=[{"name": "c", "ports": [{"hostPort": port}]}], **rest)


def two_on_one_port() -> ClusterState:
    state = ClusterState()
    state.put_node(make_node("n"))
    for name in ("p", "q"):
        state.add_pod(with_port(name))
    return state


def port_is_taken(state: ClusterState) -> bool:
    taken = state.ports.conflicting([("0.0.0.0", "TCP", 80)])
    row = state.table.by_name["n"].row
    assert any(column[row] for column in taken) == bool(state.table.by_name["n"].used_ports)
    return bool(taken)


def test_removing_one_of_two_holders_frees_the_port() -> None:
    state = two_on_one_port()
    state.remove_pod("pod-default-p")
    assert not port_is_taken(state)


def test_any_update_of_the_holder_that_is_left_takes_the_port_again() -> None:
    state = two_on_one_port()
    state.remove_pod("pod-default-p")
    state.add_pod(with_port("q", status={"phase": "Running"}))
    assert port_is_taken(state)


def test_ports_stay_as_they_are_while_a_node_is_gone() -> None:
    state = two_on_one_port()
    state.remove_pod("pod-default-p")
    state.remove_node("n")
    state.put_node(make_node("n"))
    assert not port_is_taken(state)
    state.add_pod(with_port("r"))
    state.remove_node("n")
    state.put_node(make_node("n"))
    assert port_is_taken(state)


def test_what_if_undoes_the_ports_of_two_holders() -> None:
    state = two_on_one_port()
    info = state.table.by_name["n"]
    first, second = info.pod_infos
    with state.what_if(info) as trial:
        trial.remove(first)
        assert not port_is_taken(state)
        trial.add(first)
        trial.remove(second)
        assert not port_is_taken(state)
        trial.add(state.pod_info(with_port("r", 81)))
        assert info.used_ports == {("0.0.0.0", "TCP", 81)}
    assert port_is_taken(state)
    assert state.ports._nodes == {("0.0.0.0", "TCP", 80): 1}
    state.remove_pod("pod-default-p")
    with state.what_if(info) as trial:
        trial.remove(second)
        trial.add(second)
        assert port_is_taken(state)
    assert not port_is_taken(state), "as it was, although a holder came back meanwhile"
