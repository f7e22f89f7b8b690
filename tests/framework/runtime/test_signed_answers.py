"""What a plugin that signs its pods said about a node is kept until the node, or a pod on it, changes."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin, ScorePlugin
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
from tests.scheduler.worlds import World

Call = tuple[str, str]


class Signing(FilterPlugin, ScorePlugin):
    name = "Signing"
    calls: list[Call]

    def sign(self, pod: Pod) -> str:
        return pod.labels["app"]

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> None:
        self.calls.append(("filter", node.name))

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        self.calls.append(("score", node.name))
        return sum(int(other.annotations.get("bias", 0)) for other in node.pods)


NEIGHBOUR: dict[str, Any] = {"node": "n1", "annotations": {"bias": "5"}}
CHANGES: dict[str, dict[str, Any]] = {
    "annotations": {**NEIGHBOUR, "annotations": {"bias": "9"}},
    "labels": {**NEIGHBOUR, "labels": {"x": "y"}},
    "phase": {**NEIGHBOUR, "status": {"phase": "Running"}},
}


@pytest.mark.parametrize("change", ["nothing", "node", *CHANGES])
def test_a_node_is_asked_about_again_when_something_on_it_changed(change: str) -> None:
    Signing.calls = []
    world = World(Signing, nodes=[make_node(f"n{number}") for number in range(3)])
    world.door.put(make_pod("neighbour", **NEIGHBOUR))
    profile, decide = world.scheduler.profiles["default-scheduler"], world.scheduler.chooser.decide
    assert decide(profile, make_pod("first", labels={"app": "a"})).node_name == "n1"
    assert len(Signing.calls) == 6
    Signing.calls.clear()
    if change == "node":
        world.door.put(make_node("n1", annotations={"new": "yes"}))
    elif change != "nothing":
        world.door.put(make_pod("neighbour", **CHANGES[change]))
    decision = decide(profile, make_pod("second", labels={"app": "a"}))
    assert Signing.calls == ([] if change == "nothing" else [("filter", "n1"), ("score", "n1")])
    assert decision.scores is not None
    expected = 9 if change == "annotations" else 5
    assert sorted(decision.scores.totals.tolist()) == [0, 0, expected]


def test_pods_with_another_signature_are_asked_about() -> None:
    Signing.calls = []
    world = World(Signing, nodes=2)
    profile, decide = world.scheduler.profiles["default-scheduler"], world.scheduler.chooser.decide
    for app in ("a", "b", "a", "b"):
        decide(profile, make_pod(f"of-{app}", labels={"app": app}))
    assert len(Signing.calls) == 8
