import pytest

from examples.most_available_cpu.plugin import MostAvailableCPU, MostAvailableCPUArgs
from moorage import CycleState, Node, Pod
from moorage.testing import FakeHandle, PluginFailed, Run, make_node, make_pod, run


def scores(result: Run) -> dict[str, int]:
    return {node: by_plugin["MostAvailableCPU"] for node, by_plugin in result.scores.items()}


def sized(**cpus: str) -> list[Node]:
    return [make_node(name, cpu=cpu) for name, cpu in cpus.items()]


def test_idle_nodes_are_compared_by_size() -> None:
    result = run(MostAvailableCPU, make_pod(), sized(a="2", b="4", c="8"))
    assert scores(result) == {"a": 25, "b": 50, "c": 100}
    assert result.node == "c"


def test_what_is_asked_for_is_not_available() -> None:
    running = [make_pod("p1", node="a", cpu="3500m"), make_pod("p2", node="b", cpu="1")]
    result = run(MostAvailableCPU, make_pod(), sized(a="4", b="4", c="2"), pods=running)
    assert scores(result) == {"a": 16, "b": 100, "c": 66}


def test_the_raw_scores_are_millicores_without_the_pod_itself() -> None:
    handle = FakeHandle([*sized(a="4"), make_pod("other", node="a", cpu="3500m")])
    plugin = MostAvailableCPU(MostAvailableCPUArgs(), handle)
    [node] = handle.nodes
    assert plugin.score(CycleState(), make_pod(cpu="100m"), node) == 500


def test_a_source_without_regard_to_use() -> None:
    filler = make_pod("filler", node="c", cpu="7")
    nodes = sized(a="2", b="4", c="8")
    assert scores(run(MostAvailableCPU, make_pod(), nodes, pods=[filler])) == {"a": 50, "b": 100, "c": 25}
    allocatable = run(MostAvailableCPU, make_pod(), nodes, pods=[filler], args={"source": "allocatable"})
    assert scores(allocatable) == {"a": 25, "b": 50, "c": 100}


def test_nodes_with_nothing_left_all_get_zero() -> None:
    full: list[Pod] = [make_pod("p1", node="a", cpu="2"), make_pod("p2", node="b", cpu="5")]
    result = run(MostAvailableCPU, make_pod(), sized(a="2", b="4"), pods=full)
    assert scores(result) == {"a": 0, "b": 0}


def test_more_than_a_hundred_cores_stay_in_range() -> None:
    result = run(MostAvailableCPU, make_pod(), sized(a="128", b="256"))
    assert scores(result) == {"a": 50, "b": 100}


def test_a_node_that_does_not_say_is_an_error() -> None:
    unknown = make_node("unknown")
    del unknown.status.allocatable["cpu"]
    with pytest.raises(
        PluginFailed, match=r"MostAvailableCPU failed at Score: .*error reading node: unknown"
    ):
        run(MostAvailableCPU, make_pod(), [unknown, make_node("known")])


def test_another_source_is_refused() -> None:
    with pytest.raises(Exception, match=r"args\.source: Invalid enum value 'x'"):
        run(MostAvailableCPU, make_pod(), sized(a="1"), args={"source": "x"})
