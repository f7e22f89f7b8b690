"""Moorage: the Kubernetes scheduler you extend in Python.

Everything a plugin needs is here; what is not here is private.
"""

from __future__ import annotations

# As that of typing, which takes longer to import than all of this; until then Ctrl-C shows a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from moorage.api.given_selectors import parse_label_selector as parse_label_selector
    from moorage.api.given_selectors import parse_node_selector as parse_node_selector
    from moorage.api.meta import Object as Object
    from moorage.api.meta import ObjectMeta as ObjectMeta
    from moorage.api.meta import PrinterColumn as PrinterColumn
    from moorage.api.meta import Quantity as Quantity
    from moorage.api.nodes import Node as Node
    from moorage.api.pods import Pod as Pod
    from moorage.api.quantities import QuantityError as QuantityError
    from moorage.api.quantities import parse_quantity as parse_quantity
    from moorage.api.quantities import quantity_milli_value as quantity_milli_value
    from moorage.api.quantities import quantity_value as quantity_value
    from moorage.api.requests import Resources as Resources
    from moorage.api.requests import parse_resources as parse_resources
    from moorage.api.selectors import LabelSelector as LabelSelector
    from moorage.api.selectors import NodeSelector as NodeSelector
    from moorage.api.selectors import NodeSelectorTerm as NodeSelectorTerm
    from moorage.api.selectors import Requirement as Requirement
    from moorage.api.selectors import Selector as Selector
    from moorage.api.selectors import SelectorError as SelectorError
    from moorage.api.taints import Taint as Taint
    from moorage.api.taints import Toleration as Toleration
    from moorage.cli.run import new_scheduler_command as new_scheduler_command
    from moorage.client.errors import ApiError as ApiError
    from moorage.client.errors import Conflict as Conflict
    from moorage.client.errors import NotFound as NotFound
    from moorage.client.resource_client import ResourceClient as ResourceClient
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
    from moorage.framework.placements import PlacedGroup as PlacedGroup
    from moorage.framework.placements import Placement as Placement
    from moorage.framework.placements import PlacementScorePlugin as PlacementScorePlugin
    from moorage.framework.plugin_errors import PluginError as PluginError
    from moorage.framework.queued_pod import QueuedPod as QueuedPod
    from moorage.framework.runtime.what_if import WhatIf as WhatIf
    from moorage.framework.runtime.what_if import WhatIfError as WhatIfError
    from moorage.framework.status import Code as Code
    from moorage.framework.status import Nomination as Nomination
    from moorage.framework.status import Status as Status
    from moorage.framework.status import Wait as Wait
    from moorage.framework.verdicts import Verdicts as Verdicts
    from moorage.state.node_info import NodeInfo as NodeInfo
    from moorage.state.nodes import Nodes as Nodes

__version__ = "0.1.0"

_HOMES = {
    "parse_label_selector": "api.given_selectors",
    "parse_node_selector": "api.given_selectors",
    "Object": "api.meta",
    "ObjectMeta": "api.meta",
    "PrinterColumn": "api.meta",
    "Quantity": "api.meta",
    "Node": "api.nodes",
    "Pod": "api.pods",
    "QuantityError": "api.quantities",
    "parse_quantity": "api.quantities",
    "quantity_milli_value": "api.quantities",
    "quantity_value": "api.quantities",
    "Resources": "api.requests",
    "parse_resources": "api.requests",
    "LabelSelector": "api.selectors",
    "NodeSelector": "api.selectors",
    "NodeSelectorTerm": "api.selectors",
    "Requirement": "api.selectors",
    "Selector": "api.selectors",
    "SelectorError": "api.selectors",
    "Taint": "api.taints",
    "Toleration": "api.taints",
    "new_scheduler_command": "cli.run",
    "ApiError": "client.errors",
    "Conflict": "client.errors",
    "NotFound": "client.errors",
    "ResourceClient": "client.resource_client",
    "every": "framework.background",
    "PODS_TO_ACTIVATE": "framework.cycle_state",
    "CycleState": "framework.cycle_state",
    "Action": "framework.events",
    "ClusterEvent": "framework.events",
    "Hint": "framework.events",
    "Handle": "framework.handle",
    "Lister": "framework.listers",
    "NodeStatuses": "framework.node_statuses",
    "Permission": "framework.permissions",
    "PlacedGroup": "framework.placements",
    "Placement": "framework.placements",
    "PlacementScorePlugin": "framework.placements",
    "PluginError": "framework.plugin_errors",
    "QueuedPod": "framework.queued_pod",
    "WhatIf": "framework.runtime.what_if",
    "WhatIfError": "framework.runtime.what_if",
    "Code": "framework.status",
    "Nomination": "framework.status",
    "Status": "framework.status",
    "Wait": "framework.status",
    "Verdicts": "framework.verdicts",
    "NodeInfo": "state.node_info",
    "Nodes": "state.nodes",
}

__all__: list[str]


def _homes() -> dict[str, str]:
    """Every public name, with the module that has it; the extension points are those of their table."""
    from moorage.api.points import POINTS

    points = [point.interface for point in POINTS.values() if not point.is_read_only]
    return {**_HOMES, **dict.fromkeys(points, "framework.extension_points")}


def __getattr__(name: str) -> object:
    homes = _homes()
    value: object
    if name == "__all__":
        value = sorted([*homes, "__version__"])
    elif name in homes:
        import importlib

        value = getattr(importlib.import_module(f"moorage.{homes[name]}"), name)
    else:
        raise AttributeError(f"module 'moorage' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*_homes(), "__version__"]
