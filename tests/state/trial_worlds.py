"""A state in which pods share ports and volumes, and all of it that a trial may touch."""

from __future__ import annotations

from random import Random
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.framework.door import Door
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod
from tests.state import test_volume_sequences, volume_worlds


def with_port(pod: Pod, *ports: int) -> Pod:
    document = pod.raw
    document["spec"]["containers"][0]["ports"] = [{"hostPort": port} for port in ports]
    return from_document(Pod, document)


def everything(state: ClusterState) -> dict[str, Any]:
    """All that a trial may touch, to the object and the order."""
    table, ports = state.table, state.ports
    size = len(table)
    return {
        "amounts": [
            (
                held.extreme,
                dict(held._holders),
                {name: column.data[:size].tolist() for name, column in held._by_name.items()},
            )
            for held in (table.requested, table.nonzero_requested)
        ],
        "pod_count": table.pod_count.data[:size].tolist(),
        "pods": {info.name: [(uid, id(pod)) for uid, pod in info._infos.items()] for info in table},
        "plain pods": {info.name: list(info._pods.items()) for info in table},
        "ports": (
            {info.name: set(info.used_ports) for info in table},
            dict(ports._nodes),
            {
                key: {address: column.data[:size].tolist() for address, column in columns.items()}
                for key, columns in ports._by_port.items()
            },
        ),
        "volumes": repr(sorted_(test_volume_sequences.described(state))),
        "trials": list(state.trials),
    }


def sorted_(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(((repr(key), sorted_(item)) for key, item in value.items()), key=repr)
    return sorted(map(repr, value)) if isinstance(value, set) else value


def world(seed: int) -> ClusterState:
    """Two nodes, with pods that share ports, volumes and resources that nobody else has."""
    chance, door = Random(seed), Door()
    for item in volume_worlds.cluster(chance):
        if item.kind != "Node":
            door.put(item)
    for name in volume_worlds.NODE_NAMES[:2]:
        door.put(make_node(name))
    one, two = volume_worlds.NODE_NAMES[:2]
    for number in range(4):
        door.put(volume_worlds.pod(chance, f"p{number}", node=one if number < 3 else two))
    door.put(with_port(make_pod("a", node=one, cpu="1", requests={"example.com/gpu": 1}), 80, 81))
    door.put(with_port(make_pod("b", node=one, memory="1Gi"), 80))
    door.put(with_port(make_pod("c", node=two, cpu="2"), 80, 82))
    return door.state
