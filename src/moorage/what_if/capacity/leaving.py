"""What becomes of the pods of a node that is drained: by the rules of `kubectl drain`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import NamedTuple

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.state.node_info import NodeInfo
from moorage.what_if.capacity.copies import DAEMON_SET, controller_of

MIRROR = "kubernetes.io/config.mirror"
_LOCAL = "it has an emptyDir volume, which would be lost; --delete-emptydir-data allows that"
_ALONE = "no controller would make it again; --force deletes it"
_OTHER = "it is placed by another scheduler"
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


class Rules(NamedTuple):
    """The flags of `kubectl drain`."""

    force: bool = False
    """Pods without a controller go, and do not come back."""
    delete_emptydir_data: bool = False
    """Pods go though what is in their emptyDir volumes is lost."""


class Obstacle(NamedTuple):
    """A pod that keeps its node from being emptied, and why; without a pod, what is the matter otherwise."""

    pod: str
    why: str


class Leaving(NamedTuple):
    """The pods of a node, by what becomes of them."""

    moved: list[Pod]
    """Those in whose place their controllers make others."""
    deleted: list[Pod]
    """Those that nobody makes again."""
    stay: list[Pod]
    """Those that go with the node: of DaemonSets, mirror pods, and those that are ending anyway."""
    obstacles: list[Obstacle]
    """Why `kubectl drain` would refuse."""


def leaving(node: NodeInfo, rules: Rules, schedulers: Container[str]) -> Leaving:
    """Sorts the pods of a node; `schedulers` are those of which it is known where they place pods."""
    found = Leaving([], [], [], [])
    for pod in sorted(node.pods, key=lambda pod: pod.key):
        owner = controller_of(pod)
        if MIRROR in pod.annotations or pod.deleting or (owner is not None and owner["kind"] == DAEMON_SET):
            found.stay.append(pod)
        elif has_emptydir(pod) and not rules.delete_emptydir_data:
            found.obstacles.append(Obstacle(pod.key, _LOCAL))
        elif owner is not None and pod.spec.scheduler_name not in schedulers:
            found.obstacles.append(Obstacle(pod.key, f"{_OTHER}, {pod.spec.scheduler_name}"))
        elif owner is not None:
            found.moved.append(pod)
        elif rules.force:
            found.deleted.append(pod)
        else:
            found.obstacles.append(Obstacle(pod.key, _ALONE))
    return found


def has_emptydir(pod: Pod) -> bool:
    volumes: Iterable[dict[str, object]] = (pod.raw.get("spec") or {}).get("volumes") or ()
    return any("emptyDir" in volume for volume in volumes)


def is_of_control_plane(node: Node) -> bool:
    return any(label in node.labels for label in CONTROL_PLANE)
