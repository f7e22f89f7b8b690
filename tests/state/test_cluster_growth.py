"""What stays when everything is gone."""

from __future__ import annotations

import random

from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod
from tests.state.worlds import (
    affinity,
    described,
    selects,
    term,
)


def sizes(state: ClusterState) -> dict[str, int]:
    """How many entries there are in everything that could grow."""
    table, counts = state.table, state.counts
    return {
        "rows": len(table),
        "names": len(table.by_name),
        "problems": len(table.problems),
        "remembered allocatable": len(table._allocatable),
        "zones": len(table._order._zones) + len(table._order._zone_of),
        "images": len(table.images),
        "allocatable": len(table.allocatable.names()),
        "requested": len(table.requested.names()),
        "nonzero": len(table.nonzero_requested.names()),
        "ports": len(state.ports._by_port) + len(state.ports._nodes),
        "classes": len(counts) + len(counts._classes),
        "terms": sum(len(known.holders) + len(known._buckets) for known in counts.terms._lists),
        "usages": len(state.priorities._usages or {}),
        "ghosts": state.ghost_count,
        "placements": state.pod_total,
        "taint codes held": len(table.taint_sets._codes),
        "label values held": sum(len(label.codes._codes) for label in table._labels),
    }


def test_nothing_grows_while_nodes_and_pods_come_and_go() -> None:
    """Names, labels, resources, priorities, ports and terms that are never used twice leave no trace."""
    state, chance = ClusterState(), random.Random(7)
    described(state)
    empty = sizes(state)
    columns = len(list(state.table.columns))
    known_nodes: list[str] = []
    known_pods: list[str] = []
    for turn in range(2000):
        if len(known_nodes) < 10 or chance.random() < 0.2:
            name = f"node-{turn}"
            state.put_node(
                make_node(
                    name,
                    labels={"topology.kubernetes.io/zone": f"zone-{turn}", "tier": f"tier-{turn}"},
                    taints=[f"taint-{turn}:NoSchedule"],
                    images={f"image-{turn}": turn},
                    allocatable={f"example.com/r{turn}": 1},
                )
            )
            known_nodes.append(name)
        place = chance.choice([*known_nodes, f"ghost-{turn % 5}"])
        anti = affinity(far=[term("kubernetes.io/hostname", selects({"app": f"app-{turn}"}))])
        containers = [
            {
                "name": "main",
                "ports": [{"hostPort": 1 + turn}],
                "resources": {"requests": {f"example.com/r{turn}": 1}},
            }
        ]
        state.add_pod(
            make_pod(
                f"pod-{turn}",
                node=place,
                labels={"app": f"app-{turn}"},
                priority=turn,
                affinity=anti,
                containers=containers,
            )
        )
        known_pods.append(f"pod-default-pod-{turn}")
        while len(known_pods) > 20:
            state.remove_pod(known_pods.pop(chance.randrange(len(known_pods))))
        while len(known_nodes) > 12:
            state.remove_node(known_nodes.pop(chance.randrange(len(known_nodes))))
        state.table.refresh()
    assert all(size < 200 for size in sizes(state).values()), sizes(state)
    for uid in known_pods:
        state.remove_pod(uid)
    for name in known_nodes:
        state.remove_node(name)
    assert sizes(state) == empty
    assert len(list(state.table.columns)) <= columns
    assert all(len(label.codes) < 64 for label in state.table._labels), "codes are used again"
    assert len(state.table.taint_sets) < 64
