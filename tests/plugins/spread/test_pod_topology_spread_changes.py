"""AddPod and RemovePod: what hard constraints say after a pod came or went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import cluster, filtered, verdicts
from tests.plugins.spread.spread_cases import DELETING, ZONE, constraint, pod_with, spread, zones


def changed(handle: Handle, pod: Pod, *changes: tuple[str, Pod, str]) -> set[str]:
    """The nodes that pass after these pods were added or removed."""
    plugin, cycle = spread(handle), CycleState()
    assert plugin.pre_filter(cycle, pod) is None
    clone = cycle.clone()
    for what, other, name in changes:
        node = handle.node(name)
        assert node is not None
        (plugin.add_pod if what == "add" else plugin.remove_pod)(clone, pod, other, node)
    before = verdicts(plugin, cycle, pod)
    assert before == filtered(plugin, pod), "the clone's changes are its own"
    return {name for name, status in verdicts(plugin, clone, pod).items() if status is None}


def other(labels: Mapping[str, str] | None = None, **rest: Any) -> Pod:
    return make_pod("other", labels={"app": "a"} if labels is None else labels, **rest)


def test_added_and_removed_pods_count() -> None:
    pod = pod_with(constraint())
    assert changed(zones(a=1, b=1), pod) == {"n-a", "n-b"}
    assert changed(zones(a=1, b=1), pod, ("add", other(), "n-a")) == {"n-b"}
    assert changed(zones(a=1, b=1), pod, ("remove", other(), "n-a")) == {"n-a"}
    assert changed(zones(a=1, b=1), pod, ("add", other(), "n-a"), ("remove", other(), "n-a")) == {
        "n-a",
        "n-b",
    }


@pytest.mark.parametrize(
    "ignored",
    [other(namespace="elsewhere"), other(labels={"app": "b"}), other(labels={})],
    ids=["another namespace", "another app", "no labels"],
)
def test_pods_that_do_not_match_change_nothing(ignored: Pod) -> None:
    assert changed(zones(a=1, b=1), pod_with(constraint()), ("add", ignored, "n-a")) == {"n-a", "n-b"}


def test_removing_a_terminating_pod_counts_although_it_was_never_counted() -> None:
    pod, gone = pod_with(constraint()), other(metadata=DELETING)
    assert changed(zones(a=1, b=1), pod, ("remove", gone, "n-a")) == {"n-a"}
    assert changed(zones(a=0, b=0), pod, ("remove", gone, "n-a"), ("add", other(), "n-b")) == {"n-a"}


def test_an_empty_selector_counts_added_pods() -> None:
    pod = pod_with(constraint(selector={}))
    assert changed(zones(a=3, b=0), pod) == {"n-a", "n-b"}
    assert changed(zones(a=3, b=0), pod, ("add", other(labels={}), "n-a")) == {"n-b"}


def test_nodes_that_take_no_part_change_nothing() -> None:
    nodes = [make_node("n-a", labels={ZONE: "a", "want": "yes"}), make_node("n-b", labels={ZONE: "b"})]
    nodes.append(make_node("bare"))
    handle = cluster(nodes)
    pod = pod_with(constraint(), nodeSelector={"want": "yes"})
    assert changed(handle, pod, ("add", other(), "n-b"), ("add", other(), "bare")) == {"n-a", "n-b"}
