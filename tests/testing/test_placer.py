"""Many pods through the real scheduler, for studies."""

from __future__ import annotations

from typing import ClassVar

import pytest

from moorage import CycleState, NodeInfo, Pod, ReservePlugin, ScorePlugin, Status
from moorage.config import ConfigError
from moorage.testing import Placer, make_node, make_pod

NODES = [make_node("a", cpu="2"), make_node("b", cpu="4")]


class Fullest(ScorePlugin, ReservePlugin):
    """Prefers the node with the most requested, and notes what is reserved."""

    reserved: ClassVar[list[str]] = []

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        return min(100, node.requested["cpu"] // 100)

    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        self.reserved.append(f"{pod.name} on {node_name}")
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self.reserved.append(f"{pod.name} off {node_name}")


ALONE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {
                "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "Fullest"}]},
                "reserve": {"enabled": [{"name": "Fullest"}]},
            }
        }
    ],
}


def test_each_pod_sees_where_those_before_it_went() -> None:
    with Placer(Fullest, NODES, config=ALONE) as placer:
        first = placer.place(make_pod("first", cpu="1"))
        assert [placer.place(make_pod(f"p{i}", cpu="500m")) for i in range(2)] == [first] * 2
        plugin = placer.plugins["Fullest"]
    assert isinstance(plugin, Fullest)
    assert plugin.reserved[-3:] == [f"{name} on {first}" for name in ("first", "p0", "p1")]


def test_a_pod_that_fits_nowhere_is_given_up() -> None:
    with Placer(Fullest, NODES, config=ALONE) as placer:
        assert placer.place(make_pod("large", cpu="5")) == ""
        assert placer.place(make_pod("small", cpu="4")) == "b"
        assert placer.place(make_pod("large", cpu="5")) == ""


def test_without_a_configuration_the_default_plugins_take_part() -> None:
    with Placer([], [make_node("full", cpu="1"), make_node("noisy", taints=["noisy:NoSchedule"])]) as placer:
        assert placer.place(make_pod("p", cpu="1")) == "full"
        assert placer.place(make_pod("q", cpu="1")) == ""


def test_a_plugin_that_fails_is_told_of() -> None:
    class Broken(ScorePlugin):
        def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
            raise ValueError("no idea")

    with Placer(Broken, NODES) as placer, pytest.raises(RuntimeError, match=r"pod default/p: .*no idea"):
        placer.place(make_pod("p"))


def test_a_wrong_configuration_is_refused() -> None:
    with pytest.raises(ConfigError, match="profile"):
        Placer(Fullest, NODES, config={**ALONE, "profile": []})
