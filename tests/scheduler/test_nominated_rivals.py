"""Nodes that others are nominated to must fit with these, and that rejection is the one that is told."""

from __future__ import annotations

import numpy as np
import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import FilterPlugin
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod
from tests.scheduler.worlds import World


class Alone(FilterPlugin):
    """Wants nodes without pods; like NodeResourcesFit it looks at nothing but usage."""

    reads_usage_only = True

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        return Verdicts.where(np.asarray(nodes.pod_count) > 0, Status.unschedulable("not alone"))


@pytest.mark.parametrize("rivals", [1, 4, 5, 9])
def test_the_rejection_with_nominated_pods_comes_first_however_many_there_are(rivals: int) -> None:
    world = World(
        Alone,
        nodes=[make_node(f"n{number}", cpu="1") for number in range(9)],
        in_tree=("PrioritySort", "Alone", "NodeResourcesFit", "DefaultBinder"),
    )
    # One pod is placed, so that what is requested of a resource is known at all.
    world.door.put(make_pod("placed", node="n8", cpu="100m"))
    for number in range(rivals):
        rival = make_pod(f"rival-{number}", priority=10, cpu="100m", schedulingGates=[{"name": "a/b"}])
        world.door.put(rival)
        world.services.nominations.add(rival, f"n{number}")
    profile = world.scheduler.profiles["default-scheduler"]
    for name in ("first", "second"):
        decision = world.scheduler.chooser.decide(profile, make_pod(name, cpu="2"))
        found = {name: status.reasons for name, status in decision.statuses.explicit()}
        expected = {f"n{number}": ("Insufficient cpu",) for number in range(9)}
        expected |= {f"n{number}": ("not alone",) for number in (8, *range(rivals))}
        assert found == expected
