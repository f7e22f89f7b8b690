"""When columns judge all nodes at once, and what that saves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.config import load
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.preemption.candidates import Candidate
from moorage.plugins.preemption.dry_run import DryRun
from moorage.scheduler.cycle import NodeChooser
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod
from moorage.what_if.scenario import Scenario
from tests.plugins.preemption.preemption_cases import (
    Document,
    apart,
    decide,
    nominated,
    on_n,
    preemption,
    preemptor,
    scenario,
)

_WITH_PLUGIN = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: %s}]}}}]
"""


class Tried(NamedTuple):
    together: list[list[str]]
    alone: list[str]


@pytest.mark.parametrize(
    ("objects", "wanted", "by_columns"),
    [
        ([], {}, True),
        (
            [],
            {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/hostname": "n"}},
            True,
        ),
        ([nominated("rival", "1", 1)], {}, True),
        ([], {"affinity": apart("a")}, False),
        ([], {"containers": [{"name": "c", "ports": [{"hostPort": 1}]}]}, False),
    ],
    ids=["plain", "node selector", "somebody is nominated", "anti-affinity", "host port"],
)
def test_when_columns_decide(objects: list[Object], wanted: Document, by_columns: bool) -> None:
    world = scenario(make_node("n"), on_n("p", "3"), *objects)
    pod = preemptor(**wanted)
    decision = NodeChooser(find_all=True).decide(world.profile, pod)
    dry_run = DryRun(preemption(world).handle, decision.cycle, pod, [])
    assert dry_run._usage_decides() is by_columns


def test_filters_that_read_nothing_but_usage_say_so() -> None:
    plugins = scenario().profile.filter
    others = {plugin.name for plugin, _ in plugins if not plugin.reads_usage_only}
    about_volumes = {"VolumeRestrictions", "NodeVolumeLimits"}
    assert others == {"NodePorts", "PodTopologySpread", "InterPodAffinity", *about_volumes}


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> Tried:
    """Notes which nodes are tried, together and alone."""
    found = Tried([], [])
    alone, together = DryRun.on, DryRun._together

    def on(self: DryRun, node: NodeInfo) -> Candidate | Status:
        found.alone.append(node.name)
        return alone(self, node)

    def on_each(self: DryRun, rows: NDArray[np.intp]) -> Iterator[Candidate | Status]:
        found.together.append([self._handle.state.table.infos[row].name for row in rows])
        return together(self, rows)

    monkeypatch.setattr(DryRun, "on", on)
    monkeypatch.setattr(DryRun, "_together", on_each)
    return found


def test_full_nodes_without_hope_are_not_tried(tried: Tried) -> None:
    """What the columns rule out costs no trial."""
    nodes = [make_node(f"n{i}") for i in range(50)]
    pods = [make_pod(f"high{i}", node=f"n{i}", cpu="3", priority=50) for i in range(49)]
    pods += [make_pod(f"low{i}", node=f"n{i}", cpu="1") for i in range(49)]
    pods.append(make_pod("only", node="n49", cpu="4"))
    world = scenario(*nodes, *pods)
    decision = decide(world, preemptor())
    tried.together.clear()
    found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert tried == ([["n49"]], [])
    assert found.statuses.get("n0") == Status.unschedulable("Insufficient cpu").by("NodeResourcesFit")
    assert [candidate.node_name for candidate in found.candidates] == ["n49"]


def test_many_nodes_are_tried_together_and_those_with_a_rival_alone(tried: Tried) -> None:
    nodes = [make_node(f"n{i}") for i in range(5)]
    pods = [make_pod(f"low{i}", node=f"n{i}", cpu="4") for i in range(5)]
    rival = make_pod("rival", cpu="1", priority=1000, status={"nominatedNodeName": "n2"})
    lesser = make_pod("lesser", cpu="1", status={"nominatedNodeName": "n3"})
    world = scenario(*nodes, *pods, rival, lesser)
    decision = decide(world, preemptor())
    tried.alone.clear()
    tried.together.clear()
    preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses, everywhere=True)
    assert tried == ([["n0", "n1", "n3", "n4"]], ["n2"])


def test_no_more_nodes_are_tried_together_than_are_wanted(tried: Tried) -> None:
    nodes = [make_node(f"n{i}") for i in range(300)]
    world = scenario(*nodes, *(make_pod(f"low{i}", node=f"n{i}", cpu="4") for i in range(300)))
    decision = decide(world, preemptor())
    tried.together.clear()
    found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert [len(names) for names in tried.together] == [100]
    assert [candidate.node_name for candidate in found.candidates] == tried.together[0]


class Followed(PreFilterPlugin, FilterPlugin):
    """Keeps books of its own."""

    reads_usage_only = True

    def pre_filter(self, cycle: CycleState, pod: Pod) -> None:
        return None

    def add_pod(self, cycle: CycleState, pod: Pod, other: Pod, node: NodeInfo) -> None:
        return None

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts.passed()


class Easy(FilterPlugin):
    """Looks at one node after the other."""

    reads_usage_only = True

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return None


@pytest.mark.parametrize("plugin", [Followed, Easy])
def test_a_plugin_that_follows_each_pod_or_looks_at_the_node_has_nodes_tried_alone(
    plugin: type[FilterPlugin], tried: Tried
) -> None:
    registry = in_tree_registry()
    registry.add_class(plugin, "here")
    config = load(_WITH_PLUGIN % plugin.__name__.encode()).config
    world = Scenario([make_node("n"), on_n("p", "4")], registry, config)
    decide(world, preemptor())
    assert tried == ([], ["n"])


def test_amounts_beyond_all_bounds_are_tried_alone(tried: Tried) -> None:
    world = scenario(make_node("n", memory=str(2**58)), on_n("p", "3"))
    decide(world, preemptor())
    assert tried == ([], ["n"])


def test_a_filter_that_fails_when_a_pod_is_put_back_makes_it_a_victim() -> None:
    world = scenario(make_node("n"), on_n("p", "3"), on_n("q", "100m"))
    decision = decide(world, preemptor())
    fit = world.profile.plugins["NodeResourcesFit"]
    assert isinstance(fit, FilterPlugin)
    plain = fit.filter_nodes

    def failing(cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        if nodes.pod_count.any():
            raise RuntimeError("broken")
        return plain(cycle, pod, nodes)

    with patch.object(fit, "filter_nodes", failing):
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert [victim.name for victim in found.candidates[0].victims] == ["p", "q"]
    assert found.error is None


def test_no_victim_at_all_is_an_internal_error() -> None:
    """A filter that rejects the pod before and lets it pass with everybody back."""
    world = scenario(make_node("n"), on_n("p", "3"))
    decision = decide(world, preemptor())
    with patch.object(DryRun, "_filtered", return_value=None):
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert not found.candidates
    assert found.error == Status.error('expected at least one victim pod on node "n"')
