"""What a change of a node or a pod means for the pods that wait: the events it stands for."""

from __future__ import annotations

from moorage.api import quantities
from moorage.api.nodes import Node
from moorage.api.pods import Pod, Quantities
from moorage.api.requests import pod_requests
from moorage.framework.events import (
    ASSIGNED_POD,
    NODE,
    UNSCHEDULABLE_POD,
    Action,
    ClusterEvent,
)

NODE_ADD = ClusterEvent(NODE, Action.ADD)
NODE_DELETE = ClusterEvent(NODE, Action.DELETE)
ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_UPDATE = ClusterEvent(ASSIGNED_POD, Action.UPDATE)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, Action.DELETE)
UNSCHEDULABLE_POD_ADD = ClusterEvent(UNSCHEDULABLE_POD, Action.ADD)
UNSCHEDULABLE_POD_UPDATE = ClusterEvent(UNSCHEDULABLE_POD, Action.UPDATE)
UNSCHEDULABLE_POD_DELETE = ClusterEvent(UNSCHEDULABLE_POD, Action.DELETE)


def node_events(old: Node, new: Node) -> list[ClusterEvent]:
    """One event per aspect in which a node changed, in a fixed order; a taint may be reported twice."""
    aspects = (
        (Action.UPDATE_NODE_TAINT, old.spec.unschedulable and not new.spec.unschedulable),
        (Action.UPDATE_NODE_ALLOCATABLE, _amounts_differ(old.status.allocatable, new.status.allocatable)),
        (Action.UPDATE_NODE_LABEL, old.labels != new.labels),
        (Action.UPDATE_NODE_TAINT, old.spec.taints != new.spec.taints),
        (Action.UPDATE_NODE_CONDITION, _condition_statuses(old) != _condition_statuses(new)),
        (Action.UPDATE_NODE_ANNOTATION, old.annotations != new.annotations),
        (
            Action.UPDATE_NODE_DECLARED_FEATURE,
            old.status.declared_features != new.status.declared_features,
        ),
    )
    return [ClusterEvent(NODE, action) for action, changed in aspects if changed]


def pod_events(old: Pod, new: Pod, resource: str) -> list[ClusterEvent]:
    """One event per aspect in which a pod changed, in a fixed order, or a plain Update if none is known.

    `resource` is ASSIGNED_POD for a pod that has a node, else UNSCHEDULABLE_POD.
    """
    aspects = (
        (Action.UPDATE_POD_LABEL, old.labels != new.labels),
        (Action.UPDATE_POD_SCALE_DOWN, _asks_for_less(old, new)),
        (
            Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates,
        ),
        (Action.UPDATE_POD_TOLERATION, len(old.spec.tolerations) != len(new.spec.tolerations)),
        (
            Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
            old.status.resource_claim_statuses != new.status.resource_claim_statuses,
        ),
    )
    changed = [ClusterEvent(resource, action) for action, differs in aspects if differs]
    return changed or [ClusterEvent(resource, Action.UPDATE)]


def _asks_for_less(old: Pod, new: Pod) -> bool:
    """Whether some request was lowered or removed, resizes that are under way taken into account."""
    before, after = pod_requests(old, use_status=True), pod_requests(new, use_status=True)
    return before != after and any(
        name not in after or quantities.milli(after[name]) < quantities.milli(amount)
        for name, amount in before.items()
    )


def _amounts_differ(old: Quantities, new: Quantities) -> bool:
    """Whether amounts differ by more than their spelling."""
    return old != new and _exact(old) != _exact(new)


def _exact(amounts: Quantities) -> dict[str, int]:
    return {name: quantities.parse(amount) for name, amount in amounts.items()}


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
