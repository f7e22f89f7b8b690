from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.packed_racks.plugin import PackedRacks, PackedRacksArgs
from moorage import CycleState, FilterPlugin, Node, NodeInfo, Pod, ScorePlugin, Status
from moorage.testing import make_node, make_pod, run

RACK = "example.com/rack"


class NodeByNode(FilterPlugin, ScorePlugin):
    """The same rules in the easy form: what the fast form has to agree with."""

    args_type = PackedRacksArgs
    args: PackedRacksArgs

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        requested, allocatable = self._rack_cpu(node)
        if (requested + pod.requests["cpu"]) * 100 > allocatable * self.args.most_percent:
            return Status.unschedulable("rack has reached its limit")
        return None

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        requested, allocatable = self._rack_cpu(node)
        return min(100, requested * 100 // max(allocatable, 1))

    def _rack_cpu(self, node: NodeInfo) -> tuple[int, int]:
        label = self.args.rack_label
        rack = [each for each in self.handle.nodes if each.labels.get(label) == node.labels.get(label)]
        return sum(each.requested["cpu"] for each in rack), sum(each.allocatable["cpu"] for each in rack)


def in_racks(**racks: str) -> list[Node]:
    return [make_node(name, cpu="10", labels={RACK: rack}) for name, rack in racks.items()]


def test_the_rack_in_use_is_filled_first() -> None:
    nodes = in_racks(a1="a", a2="a", b1="b")
    result = run(PackedRacks, make_pod(cpu="1"), nodes, pods=[make_pod("other", node="a1", cpu="4")])
    assert {node: scores["PackedRacks"] for node, scores in result.scores.items()} == {
        "a1": 20,
        "a2": 20,
        "b1": 0,
    }


def test_a_rack_is_not_filled_beyond_its_limit() -> None:
    nodes = in_racks(a1="a", a2="a", b1="b")
    running = [make_pod("p1", node="a1", cpu="10"), make_pod("p2", node="a2", cpu="7500m")]
    assert run(PackedRacks, make_pod(cpu="500m"), nodes, pods=running).feasible == ["a2", "b1"]
    result = run(PackedRacks, make_pod(cpu="501m"), nodes, pods=running)
    assert result.feasible == ["b1"]
    assert result.statuses["a2"].message == "rack has reached its limit"


def test_the_limit_and_the_label_can_be_chosen() -> None:
    nodes = [make_node("a", cpu="10", labels={"row": "1"}), make_node("b", cpu="10", labels={"row": "2"})]
    args = {"rackLabel": "row", "mostPercent": 50}
    running = [make_pod("other", node="a", cpu="5")]
    assert run(PackedRacks, make_pod(cpu="1"), nodes, pods=running, args=args).feasible == ["b"]


@pytest.mark.parametrize("percent", [0, 101])
def test_a_limit_out_of_range_is_refused(percent: int) -> None:
    with pytest.raises(Exception, match=r"args\.mostPercent"):
        run(PackedRacks, make_pod(), in_racks(a="a"), args={"mostPercent": percent})


CPUS = st.integers(0, 9000).map("{}m".format)
CLUSTERS = st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), CPUS, CPUS), min_size=1, max_size=8)


def cluster(rows: Iterable[tuple[str, str, str]]) -> tuple[list[Node], list[Pod]]:
    """Per node its rack, its CPU and what is requested there."""
    nodes, pods = [], []
    for number, (rack, cpu, requested) in enumerate(rows):
        nodes.append(make_node(f"n{number}", cpu=cpu, labels={RACK: rack} if rack else {}))
        pods.append(make_pod(f"p{number}", node=f"n{number}", cpu=requested))
    return nodes, pods


@settings(deadline=None)
@given(CLUSTERS, CPUS, st.integers(1, 100))
def test_the_fast_form_says_what_the_easy_one_says(
    rows: list[tuple[str, str, str]], cpu: str, percent: int
) -> None:
    nodes, pods = cluster(rows)
    args = {"mostPercent": percent}
    fast, easy = (
        run(plugin, make_pod(cpu=cpu), nodes, pods=pods, args=args) for plugin in (PackedRacks, NodeByNode)
    )
    assert fast.feasible == easy.feasible
    assert {name: status.message for name, status in fast.statuses.items()} == {
        name: status.message for name, status in easy.statuses.items()
    }
    assert [each["PackedRacks"] for each in fast.scores.values()] == [
        each["NodeByNode"] for each in easy.scores.values()
    ]
