"""What a plugin signs for is about nodes as they are, not as they would be without victims."""

from __future__ import annotations

from collections.abc import Hashable

from moorage.api.pods import Pod
from moorage.config import load
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.cycle import NodeChooser
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests.plugins.preemption.preemption_cases import preemption

CONFIG = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Alone}]}}}]
"""


class Alone(FilterPlugin):
    """One pod per node."""

    reads_usage_only = True

    def sign(self, pod: Pod) -> Hashable:
        return "all"

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts.where(nodes.pod_count > 0, Status.unschedulable("somebody is there"))


def test_who_signs_is_asked_about_nodes_as_they_would_be() -> None:
    registry = in_tree_registry()
    registry.add_class(Alone, "here")
    world = Scenario([make_node("n"), make_pod("low", node="n", cpu="1")], registry, load(CONFIG).config)
    pod = make_pod("in", cpu="1", priority=10)
    decision = NodeChooser(find_all=True).decide(world.profile, pod)
    found = preemption(world).find_candidates(decision.cycle, pod, decision.statuses)
    assert [candidate.node_name for candidate in found.candidates] == ["n"]
    again = NodeChooser(find_all=True).decide(world.profile, make_pod("other", cpu="1"))
    assert again.node_name == ""
