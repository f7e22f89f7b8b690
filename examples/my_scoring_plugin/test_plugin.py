import numpy as np
import pytest

from examples.my_scoring_plugin.plugin import MyScoringPlugin
from moorage import CycleState
from moorage.testing import FakeHandle, make_node, make_pod, run

NODES = [make_node("n1"), make_node("n2")]


@pytest.fixture
def plugin() -> MyScoringPlugin:
    return MyScoringPlugin(None, FakeHandle(NODES))


def test_every_node_gets_ten(plugin: MyScoringPlugin) -> None:
    assert [plugin.score(CycleState(), make_pod(), node) for node in plugin.handle.nodes] == [10, 10]


def test_normalizing_changes_nothing(plugin: MyScoringPlugin) -> None:
    scores = plugin.normalize_scores(CycleState(), make_pod(), np.array([10, 10]))
    assert dict(zip(["n1", "n2"], scores.tolist(), strict=True)) == {"n1": 10, "n2": 10}


@pytest.mark.parametrize("args", [None, {}])
def test_no_arguments_are_needed(args: dict[str, str] | None) -> None:
    result = run(MyScoringPlugin, make_pod(), NODES, args=args)
    assert {node: scores["MyScoringPlugin"] for node, scores in result.scores.items()} == {"n1": 10, "n2": 10}


def test_the_placement_is_the_same_as_without_it() -> None:
    nodes = [make_node("small", cpu="2"), make_node("large", cpu="16")]
    assert run(MyScoringPlugin, make_pod(cpu="1"), nodes).node == run([], make_pod(cpu="1"), nodes).node
