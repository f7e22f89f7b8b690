"""Room that is kept for a member of a gang is no obstacle for the other members."""

from __future__ import annotations

from moorage.contrib.objects import GROUP_LABEL
from tests.contrib.gang_clusters import gang, node, placed, pod, simulated

RACK = "example.com/rack"
EVENLY = {
    "maxSkew": 1,
    "topologyKey": RACK,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {GROUP_LABEL: "g"}},
}


def test_a_gang_that_is_spread_gets_the_room_that_was_made_for_it() -> None:
    nodes = [node("a", cpu="5", labels={RACK: "a"}), node("b", cpu="2", labels={RACK: "b"})]
    low = pod("low", cpu="2", nodeName="b")
    members = gang("g", 3, 3, cpu="2", priority=1, topologySpreadConstraints=[EVENLY])
    then = placed(simulated([*nodes, low, *members], tries=3))
    assert then == {"g-0": "a", "g-1": "b", "g-2": "a"}
