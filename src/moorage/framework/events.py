"""Cluster events and which of them may make a rejected pod schedulable."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntFlag
from typing import Any, NamedTuple, TypeAlias

from moorage.api.kinds import WATCHED
from moorage.api.pods import Pod


class Action(IntFlag):
    """What happens to an object. Join several with `|`: `Action.ADD | Action.UPDATE_NODE_LABEL`."""

    ADD = 1
    """It appears."""
    DELETE = 2
    """It goes."""
    UPDATE_NODE_ALLOCATABLE = 4
    """What a node offers changes."""
    UPDATE_NODE_LABEL = 8
    """The labels of a node change."""
    UPDATE_NODE_TAINT = 16
    """The taints of a node change, or it is uncordoned."""
    UPDATE_NODE_CONDITION = 32
    """The status of a node's condition changes, Ready for example; a heartbeat is no change."""
    UPDATE_NODE_ANNOTATION = 64
    """The annotations of a node change."""
    UPDATE_NODE_DECLARED_FEATURE = 128
    """The features that a node declares change."""
    UPDATE_POD_LABEL = 256
    """The labels of a pod change."""
    UPDATE_POD_SCALE_DOWN = 512
    """A pod asks for less than before."""
    UPDATE_POD_TOLERATION = 1024
    """A pod gets a toleration."""
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048
    """The last scheduling gate of a pod goes."""
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    """A resource claim is made for a pod."""
    UPDATE = 8188
    """Any update, those above included; the only one of kinds beside nodes and pods."""
    ALL = 8191
    """Everything."""


_ACTION_NAMES = {action: name.title().replace("_", "") for name, action in Action.__members__.items()}

POD = "Pod"
ASSIGNED_POD = "AssignedPod"
UNSCHEDULABLE_POD = "UnschedulablePod"
NODE = "Node"
PERSISTENT_VOLUME = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
STORAGE_CLASS = "storage.k8s.io/StorageClass"
CSI_NODE = "storage.k8s.io/CSINode"
CSI_DRIVER = "storage.k8s.io/CSIDriver"
CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS = "resource.k8s.io/DeviceClass"
POD_GROUP = "scheduling.k8s.io/PodGroup"
WILDCARD = "*"

WATCHABLE = frozenset(
    (
        *(row.event for row in WATCHED if row.wakes),
        *(ASSIGNED_POD, UNSCHEDULABLE_POD, POD_GROUP, WILDCARD),
    )
)
"""The built-in resources that events can name."""


def is_watchable(resource: str) -> bool:
    """Whether events can name this resource: a built-in one, or `plural.version.group`."""
    return resource in WATCHABLE or resource.count(".") >= 2


class Hint(Enum):
    """What a hint function says about an event for one rejected pod."""

    SKIP = 0
    """The event does not help: the pod goes on waiting."""
    QUEUE = 1
    """The event may help: the pod is tried again."""


HintFunction: TypeAlias = Callable[[Pod, Any, Any], Hint]
"""Called with (pod, old object or None, new object or None)."""


class ClusterEvent(NamedTuple):
    """A change in the cluster: what a plugin registers for, and what happens.

    `resource` is the name of a built-in resource, as in `Node` or `storage.k8s.io/CSINode`, or
    `plural.version.group` of any other.
    """

    resource: str
    """What it happens to: a name of the table below."""
    action: Action
    """What happens."""
    hint: HintFunction | None = None
    """Asked about each pod that the plugin rejected, with (pod, old object or None, new object or None).

    None has every such pod tried again. An exception counts as `Hint.QUEUE`.
    """
    custom_label: str = ""
    """For the scheduler, not for plugins."""

    @property
    def label(self) -> str:
        """The name of the event in logs and metrics, for example `NodeAdd`."""
        return self.custom_label or self.resource + (_ACTION_NAMES.get(self.action) or str(int(self.action)))

    @property
    def wildcard(self) -> bool:
        """Whether it stands for everything."""
        return self.resource == WILDCARD and self.action == Action.ALL

    def covers(self, event: ClusterEvent) -> bool:
        """Whether a plugin that registered this event wants to hear of `event`."""
        if self.wildcard:
            return True
        same = self.resource in (WILDCARD, event.resource) or (
            self.resource == POD and event.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
        )
        registered, happened = int(self.action), int(event.action)
        return same and bool(registered & happened) and happened <= registered


EVERYTHING = tuple(ClusterEvent(row.event, Action.ALL) for row in WATCHED if row.wakes_all)
"""What a plugin hears of when it does not say."""

UNSCHEDULABLE_TIMEOUT = ClusterEvent(WILDCARD, Action.ALL, custom_label="UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(WILDCARD, Action.ALL, custom_label="ForceActivate")


def with_implied(events: list[ClusterEvent]) -> list[ClusterEvent]:
    """Adds (Node, UpdateNodeTaint) for a plugin that registers Node Add without it.

    A node is often added tainted and becomes usable by an update that only lifts the taint.
    """
    of_nodes = [event for event in events if event.resource == NODE]
    adds = any(event.action & Action.ADD for event in of_nodes)
    if adds and not any(event.action & Action.UPDATE_NODE_TAINT for event in of_nodes):
        return [*events, ClusterEvent(NODE, Action.UPDATE_NODE_TAINT)]
    return events
