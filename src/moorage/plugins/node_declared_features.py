"""NodeDeclaredFeatures: pods that need something only some kubelets can do."""

from __future__ import annotations

import numpy as np

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.events import NODE, POD, Action, ClusterEvent, Hint
from moorage.framework.extension_points import FilterPlugin, PreFilterPlugin
from moorage.framework.status import Status
from moorage.framework.verdicts import Verdicts
from moorage.plugins.cycle_reads import read
from moorage.state.nodes import Nodes

_NEEDED = "PreFilterNodeDeclaredFeatures"
_DECLARED = "NodeDeclaredFeatures"
_LACKING = Status.unresolvable("node(s) didn't match Pod's required features")

_RESTART_ALL = "RestartAllContainersOnContainerExits"
_USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
_BITS = {_RESTART_ALL: 1, _USER_NAMESPACES: 2}


def needed_features(pod: Pod) -> int:
    """The features a pod cannot run without, one bit each."""
    spec = pod.spec
    needed = 0
    if any(
        rule.action == "RestartAllContainers"
        for container in (*spec.containers, *spec.init_containers)
        for rule in container.restart_policy_rules
    ):
        needed |= _BITS[_RESTART_ALL]
    if spec.host_network and spec.host_users is False:
        needed |= _BITS[_USER_NAMESPACES]
    return needed


def _declared_features(node: Node) -> int:
    return sum(_BITS.get(feature, 0) for feature in set(node.status.declared_features))


class NodeDeclaredFeatures(PreFilterPlugin, FilterPlugin):
    """Keeps a pod off nodes that do not declare the features it needs."""

    treats_like_pods_alike = True
    pre_filters_alike = True
    reads_usage_only = True

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        needed = needed_features(pod)
        if not needed:
            return Status.skip()
        cycle.write(_NEEDED, needed)
        return None

    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Verdicts:
        needed = read(cycle, _NEEDED, "reading")
        declared = nodes.column(_DECLARED, _declared_features, np.int64)
        return Verdicts.where((declared & needed) != needed, _LACKING)

    def events(self) -> list[ClusterEvent]:
        return [
            ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE, _node_changed),
            ClusterEvent(POD, Action.UPDATE, _pod_changed),
        ]


def _node_changed(pod: Pod, old: Node | None, new: Node) -> Hint:
    changed = old is None or old.status.declared_features != new.status.declared_features
    return Hint.QUEUE if changed else Hint.SKIP


def _pod_changed(pod: Pod, old: Pod, new: Pod) -> Hint:
    changed = new.uid == pod.uid and needed_features(old) != needed_features(new)
    return Hint.QUEUE if changed else Hint.SKIP
