from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import ASSIGNED_POD, NODE, POD, Action, Hint
from moorage.framework.status import Code, Status
from moorage.plugins.cycle_reads import MissingState
from moorage.plugins.node_ports import NodePorts
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, passing, registered, views

TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")

Port = tuple[str, str, int]


def port_document(port: Port) -> dict[str, Any]:
    address, protocol, number = port
    return {"hostIP": address, "protocol": protocol, "hostPort": number, "containerPort": 1000}


def pod_with(*ports: Port, name: str = "pod", node: str = "", **spec: Any) -> Pod:
    containers = [{"name": "main", "ports": [port_document(port) for port in ports]}]
    return make_pod(name, node=node, containers=containers, **spec)


def on_one_node(*taken: Port) -> NodePorts:
    return NodePorts(None, cluster([make_node("n")], [pod_with(*taken, name="other", node="n")]))


@pytest.mark.parametrize(
    ("taken", "wanted", "conflict"),
    [
        (("127.0.0.1", "TCP", 80), ("127.0.0.1", "TCP", 80), True),
        (("127.0.0.1", "TCP", 80), ("127.0.0.2", "TCP", 80), False),
        (("127.0.0.1", "TCP", 80), ("127.0.0.1", "UDP", 80), False),
        (("127.0.0.1", "TCP", 80), ("127.0.0.1", "TCP", 81), False),
        (("127.0.0.1", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("0.0.0.0", "TCP", 80), ("127.0.0.1", "TCP", 80), True),
        (("", "", 80), ("0.0.0.0", "TCP", 80), True),
        (("", "", 80), ("127.0.0.1", "", 80), True),
        (("", "SCTP", 80), ("", "", 80), False),
        (("::", "TCP", 80), ("127.0.0.1", "TCP", 80), False),
        (("127.0.0.1", "TCP", 80), ("::", "TCP", 80), False),
        (("::1", "TCP", 80), ("::", "TCP", 80), False),
        (("::", "TCP", 80), ("::", "TCP", 80), True),
        (("::", "TCP", 80), ("0.0.0.0", "TCP", 80), True),
        (("0.0.0.0", "TCP", 80), ("::", "TCP", 80), True),
    ],
)
def test_conflicts(taken: Port, wanted: Port, conflict: bool) -> None:
    assert filtered(on_one_node(taken), pod_with(wanted)) == {"n": TAKEN if conflict else None}


def test_one_conflict_of_several_ports_is_enough() -> None:
    plugin = on_one_node(("", "", 80), ("", "", 443))
    assert passing(filtered(plugin, pod_with(("", "", 81), ("", "", 443)))) == set()


def test_a_port_wanted_twice_does_not_conflict_with_itself() -> None:
    pod = pod_with(("", "TCP", 80), ("", "TCP", 80))
    assert passing(filtered(on_one_node(("", "", 81)), pod)) == {"n"}


def test_ports_of_sidecars_count_and_those_of_other_init_containers_do_not() -> None:
    ports = [port_document(("", "", 80))]
    sidecar = make_pod(initContainers=[{"name": "i", "restartPolicy": "Always", "ports": ports}])
    ordinary = make_pod(initContainers=[{"name": "i", "ports": ports}])
    plugin = on_one_node(("", "", 80))
    assert passing(filtered(plugin, sidecar)) == set()
    assert passing(filtered(plugin, ordinary)) == {"n"}


def test_a_pod_without_host_ports_skips() -> None:
    pod = make_pod(containers=[{"name": "main", "ports": [{"containerPort": 80}]}])
    answer = NodePorts(None, cluster()).pre_filter(CycleState(), pod)
    assert answer is not None
    assert answer.code is Code.SKIP


def test_without_pre_filter_the_filter_fails() -> None:
    plugin = on_one_node(("", "", 80))
    with pytest.raises(MissingState, match=r'^reading "PreFilterNodePorts" from cycleState: not found$'):
        plugin.filter_nodes(CycleState(), pod_with(("", "", 80)), plugin.handle.nodes)


def test_removing_one_of_two_holders_frees_the_port() -> None:
    holders = [pod_with(("", "", 80), name=name, node="n") for name in ("one", "two")]
    plugin = NodePorts(None, cluster([make_node("n")], holders))
    plugin.handle.state.remove_pod(holders[0].uid)
    assert passing(filtered(plugin, pod_with(("", "", 80)))) == {"n"}


def test_what_if_changes_are_seen_and_undone() -> None:
    plugin = on_one_node(("", "", 80))
    state, pod = plugin.handle.state, pod_with(("", "", 90))
    info = state.node("n")
    assert info is not None
    with state.what_if(info) as trial:
        trial.add(state.pod_info(pod_with(("", "", 90), name="rival")))
        assert passing(filtered(plugin, pod)) == set()
    assert passing(filtered(plugin, pod)) == {"n"}


ports = st.tuples(
    st.sampled_from(["", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::"]),
    st.sampled_from(["", "TCP", "UDP"]),
    st.integers(80, 82),
)
port_lists = st.lists(ports, max_size=3)


def in_full(port: Port) -> Port:
    return port[0] or "0.0.0.0", port[1] or "TCP", port[2]


def has_conflict(wanted: list[Port], taken: list[Port]) -> bool:
    return any(
        mine[1:] == theirs[1:] and (mine[0] == theirs[0] or "0.0.0.0" in (mine[0], theirs[0]))
        for mine in map(in_full, wanted)
        for theirs in map(in_full, taken)
    )


@given(taken=st.lists(port_lists, min_size=1, max_size=6), wanted=port_lists.filter(bool))
def test_fast_form_is_the_rule_node_by_node(taken: list[list[Port]], wanted: list[Port]) -> None:
    nodes = [make_node(f"n{i}") for i in range(len(taken))]
    pods = [pod_with(*held, name=f"p{i}", node=f"n{i}") for i, held in enumerate(taken)]
    plugin = NodePorts(None, cluster(nodes, pods))
    for view in views(plugin.handle):
        for name, status in filtered(plugin, pod_with(*wanted), view).items():
            assert status == (TAKEN if has_conflict(wanted, taken[int(name[1:])]) else None)


def test_registered_events() -> None:
    assert registered(NodePorts(None, cluster())) == [(POD, Action.DELETE, True), (NODE, Action.ADD, False)]


PORT_80 = ("", "TCP", 80)


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        (pod_with(PORT_80), Hint.SKIP),
        (pod_with(node="n"), Hint.SKIP),
        (pod_with(PORT_80, node="n"), Hint.QUEUE),
        (pod_with(("127.0.0.1", "TCP", 80), node="n"), Hint.QUEUE),
        (pod_with(("", "UDP", 80), node="n"), Hint.SKIP),
        (pod_with(("", "TCP", 81), node="n"), Hint.SKIP),
        (pod_with(PORT_80, status={"nominatedNodeName": "n"}), Hint.QUEUE),
    ],
)
def test_pod_deleted_hint(deleted: Pod, expected: Hint) -> None:
    plugin = NodePorts(None, cluster())
    assert hint(plugin, ASSIGNED_POD, Action.DELETE, pod_with(PORT_80), deleted) is expected


def test_a_new_node_always_queues() -> None:
    plugin = NodePorts(None, cluster())
    assert hint(plugin, NODE, Action.ADD, pod_with(PORT_80), None, make_node()) is Hint.QUEUE
