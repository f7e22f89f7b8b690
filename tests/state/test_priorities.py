from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod

Place = tuple[str, int | None, dict[str, int]]

places = st.tuples(
    st.sampled_from(["a", "b", "ghost"]),
    st.sampled_from([None, -1, 0, 5, 2**31 - 1]),
    st.dictionaries(st.sampled_from(["cpu", "memory", "example.com/gpu"]), st.integers(0, 50)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(places, max_size=10), st.integers(0, 10), st.sampled_from([-1, 0, 1, 5, 6, 2**31]))
def test_pods_below_and_usage_without_them(known: list[Place], asked_after: int, priority: int) -> None:
    """Nothing is kept until the first question; whenever that comes, the answers are the same."""
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(make_node(name))
    for number, (node, own, requests) in enumerate(known):
        if number == asked_after:
            assert state.priorities._usages is None
            state.priorities.pods_below(0)
        state.add_pod(make_pod(str(number), node=node, priority=own, requests=requests))
    expected = {
        name: [(own or 0, requests) for node, own, requests in known if node == name] for name in ("a", "b")
    }
    below = state.priorities.pods_below(priority)
    before = {info.name: info.requested for info in state.table}
    with state.priorities.gone_below(priority):
        for info in state.table:
            left = [requests for own, requests in expected[info.name] if own >= priority]
            assert below[info.row] == len(expected[info.name]) - len(left)
            assert state.table.pod_count[info.row] == len(left)
            cpu = 1000 * sum(requests.get("cpu", 0) for requests in left)
            gpus = sum(requests.get("example.com/gpu", 0) for requests in left)
            assert (info.requested["cpu"], info.requested["example.com/gpu"]) == (cpu, gpus)
    assert {info.name: info.requested for info in state.table} == before
    assert state.table.pod_count.data[:2].tolist() == [len(expected[info.name]) for info in state.table]


def test_a_priority_nobody_has_is_forgotten() -> None:
    state = ClusterState()
    state.put_node(make_node("a"))
    assert state.priorities.pods_below(10).tolist() == [0]
    state.add_pod(make_pod("p", node="a", priority=3))
    assert set(state.priorities._usages or {}) == {3}
    state.remove_node("a")
    assert state.priorities._usages == {}
    state.put_node(make_node("a"))
    assert state.priorities.pods_below(10).tolist() == [1]
