import pytest

from examples.name_score.plugin import NameScore, name_score
from moorage.testing import make_node, make_pod, run


@pytest.mark.parametrize(
    ("name", "score"),
    [("n", 0), ("n7", 70), ("n10", 100), ("n123", 100), ("7n", 0), ("k8s-node02", 20), ("n0", 0)],
)
def test_the_number_at_the_end_decides(name: str, score: int) -> None:
    assert name_score(name) == score


def test_nodes_that_are_equal_otherwise_are_told_apart_by_it() -> None:
    names = ["k8s-master01", "k8s-node01", "k8s-node02"]
    result = run(NameScore, make_pod(), [make_node(name) for name in names])
    assert [result.scores[name]["name-score"] for name in names] == [10, 10, 20]
    assert result.node == "k8s-node02"
