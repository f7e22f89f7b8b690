"""Moorage: the Kubernetes scheduler you extend in Python.

Everything a plugin needs is here; what is not here is private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.api.points import POINTS

if TYPE_CHECKING:
    from moorage.api.meta import Object as Object
    from moorage.api.meta import ObjectMeta as ObjectMeta
    from moorage.api.meta import PrinterColumn as PrinterColumn
    from moorage.api.meta import Quantity as Quantity
    from moorage.api.nodes import Node as Node
    from moorage.api.pods import Pod as Pod
    from moorage.api.requests import Resources as Resources
    from moorage.cli.run import new_scheduler_command as new_scheduler_command
    from moorage.framework.background import every as every
    from moorage.framework.cycle_state import PODS_TO_ACTIVATE as PODS_TO_ACTIVATE
    from moorage.framework.cycle_state import CycleState as CycleState
    from moorage.framework.events import Action as Action
    from moorage.framework.events import ClusterEvent as ClusterEvent
    from moorage.framework.events import Hint as Hint
    from moorage.framework.extension_points import *  # noqa: F403
    from moorage.framework.handle import Handle as Handle
    from moorage.framework.listers import Lister as Lister
    from moorage.framework.node_statuses import NodeStatuses as NodeStatuses
    from moorage.framework.permissions import Permission as Permission
    from moorage.framework.queued_pod import QueuedPod as QueuedPod
    from moorage.framework.status import Code as Code
    from moorage.framework.status import Nomination as Nomination
    from moorage.framework.status import Status as Status
    from moorage.framework.status import Wait as Wait
    from moorage.framework.verdicts import Verdicts as Verdicts
    from moorage.state.node_info import NodeInfo as NodeInfo
    from moorage.state.nodes import Nodes as Nodes

__version__ = "0.1.0"

_HOMES = {
    "Object": "api.meta",
    "ObjectMeta": "api.meta",
    "PrinterColumn": "api.meta",
    "Quantity": "api.meta",
    "Node": "api.nodes",
    "Pod": "api.pods",
    "Resources": "api.requests",
    "new_scheduler_command": "cli.run",
    "every": "framework.background",
    "PODS_TO_ACTIVATE": "framework.cycle_state",
    "CycleState": "framework.cycle_state",
    "Action": "framework.events",
    "ClusterEvent": "framework.events",
    "Hint": "framework.events",
    **{point.interface: "framework.extension_points" for point in POINTS.values() if not point.is_read_only},
    "Handle": "framework.handle",
    "Lister": "framework.listers",
    "NodeStatuses": "framework.node_statuses",
    "Permission": "framework.permissions",
    "QueuedPod": "framework.queued_pod",
    "Code": "framework.status",
    "Nomination": "framework.status",
    "Status": "framework.status",
    "Wait": "framework.status",
    "Verdicts": "framework.verdicts",
    "NodeInfo": "state.node_info",
    "Nodes": "state.nodes",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'moorage' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"moorage.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*_HOMES, "__version__"]
