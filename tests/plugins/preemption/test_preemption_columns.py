"""When columns judge all nodes at once, and what that saves."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from moorage.api.meta import Object
from moorage.framework.status import Status
from moorage.plugins.preemption.candidates import Candidate
from moorage.plugins.preemption.dry_run import DryRun
from moorage.scheduler.cycle import NodeChooser
from moorage.state.node_info import NodeInfo
from moorage.testing import make_node, make_pod
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


def test_full_nodes_without_hope_are_not_tried_one_by_one() -> None:
    """What the columns rule out costs no trial."""
    nodes = [make_node(f"n{i}") for i in range(50)]
    pods = [make_pod(f"high{i}", node=f"n{i}", cpu="3", priority=50) for i in range(49)]
    pods += [make_pod(f"low{i}", node=f"n{i}", cpu="1") for i in range(49)]
    pods.append(make_pod("only", node="n49", cpu="4"))
    world = scenario(*nodes, *pods)
    decision = decide(world, preemptor())
    tried: list[str] = []
    plain = DryRun.on

    def counted(self: DryRun, node: NodeInfo) -> Candidate | Status:
        tried.append(node.name)
        return plain(self, node)

    with patch.object(DryRun, "on", counted):
        found = preemption(world).find_candidates(decision.cycle, preemptor(), decision.statuses)
    assert tried == ["n49"]
    assert found.statuses.get("n0") == Status.unschedulable("Insufficient cpu").by("NodeResourcesFit")
