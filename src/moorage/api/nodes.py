"""Nodes."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from moorage.api.meta import Int64, Object, Part
from moorage.api.pods import Condition, Fields, Quantities
from moorage.api.taints import Taint


class NodeSpec(Fields):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Part, frozen=True, gc=False):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeStatus(Fields):
    allocatable: Quantities = {}
    capacity: Quantities = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Object, kw_only=True):
    kind: ClassVar[str] = "Node"
    resource: ClassVar[str] = "nodes"
    namespaced: ClassVar[bool] = False

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)
