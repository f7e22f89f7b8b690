import pytest

from examples.quiet_nodes.plugin import QuietNodes
from moorage import Node
from moorage.testing import Cluster, make_node, make_pod, run

NOISY = make_node("noisy", labels={"noisy": "true"})


def test_a_noisy_node_is_avoided() -> None:
    result = run(QuietNodes, make_pod(), [NOISY, make_node("quiet")])
    assert result.node == "quiet"
    assert result.statuses["noisy"].message == "node is noisy"


def test_the_emptiest_node_is_preferred() -> None:
    running = [make_pod(f"p{number}", node="busy") for number in range(30)]
    result = run(QuietNodes, make_pod(), [make_node("busy"), make_node("idle")], pods=running)
    assert {node: scores["QuietNodes"] for node, scores in result.scores.items()} == {"busy": 70, "idle": 100}
    assert result.node == "idle"


def test_a_pod_stays_pending_when_all_nodes_are_noisy() -> None:
    result = run(QuietNodes, make_pod(), [NOISY])
    assert result.node == ""
    assert result.message.startswith("0/1 nodes are available: 1 node is noisy.")


@pytest.mark.moorage(plugins=[QuietNodes], nodes=[NOISY])
def test_a_node_that_becomes_quiet_gets_the_pod(cluster: Cluster) -> None:
    waiting = cluster.schedule(make_pod())
    assert waiting.message.startswith("0/1 nodes are available: 1 node is noisy.")
    cluster.patch(Node, {"metadata": {"labels": {"noisy": None}}}, "noisy")
    assert cluster.wait_bound(waiting.pod).spec.node_name == "noisy"
