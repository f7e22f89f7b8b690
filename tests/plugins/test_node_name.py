from __future__ import annotations

import numpy as np

from moorage.framework.events import NODE, Action, Hint
from moorage.framework.status import Status
from moorage.plugins.node_name import NodeName
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, hint, passing, registered, views

OTHER = Status.unresolvable("node(s) didn't match the requested node name")


def three_nodes() -> NodeName:
    return NodeName(None, cluster([make_node("a"), make_node("b"), make_node("c")]))


def test_a_pod_without_a_node_name_passes_everywhere() -> None:
    assert passing(filtered(three_nodes(), make_pod())) == {"a", "b", "c"}


def test_only_the_named_node_passes() -> None:
    assert filtered(three_nodes(), make_pod(node="b")) == {"a": OTHER, "b": None, "c": OTHER}


def test_an_unknown_node_passes_nowhere() -> None:
    assert passing(filtered(three_nodes(), make_pod(node="z"))) == set()


def test_every_view_of_the_nodes_gives_the_same_answer() -> None:
    plugin = three_nodes()
    for nodes in views(plugin.handle):
        for name, status in filtered(plugin, make_pod(node="b"), nodes).items():
            assert status == (None if name == "b" else OTHER)


def test_a_view_without_the_named_node() -> None:
    plugin = three_nodes()
    a_and_c = Nodes(plugin.handle.state.table, np.array([0, 2], dtype=np.intp))
    assert passing(filtered(plugin, make_pod(node="b"), a_and_c)) == set()


def test_hints() -> None:
    plugin = three_nodes()
    assert registered(plugin) == [(NODE, Action.ADD, False)]
    assert hint(plugin, NODE, Action.ADD, make_pod(node="z"), None, make_node("y")) is Hint.QUEUE
