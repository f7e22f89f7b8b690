"""What docs/quick-start.md says about the labels of the default nodes."""

from __future__ import annotations

from moorage.cluster.life.nodes import default_nodes
from tests.docs.blocks import ROOT


def test_the_labels_of_default_nodes_are_documented() -> None:
    page = (ROOT / "docs" / "quick-start.md").read_text()
    nodes = default_nodes(10)
    assert [node["metadata"]["name"] for node in (nodes[0], nodes[-1])] == ["node-01", "node-10"]
    assert "`node-01` to `node-10`" in page
    for node in nodes:
        for label, value in node["metadata"]["labels"].items():
            assert label in page
            if label.startswith("topology.kubernetes.io/"):
                assert value in page
