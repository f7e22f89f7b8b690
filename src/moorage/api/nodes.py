"""Nodes."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from moorage.api.meta import Int64, Object, Part
from moorage.api.pods import Condition, Fields, Quantities
from moorage.api.taints import Taint


class NodeSpec(Fields):
    """What is asked of a node."""

    unschedulable: bool = False
    """Whether it is cordoned."""
    taints: tuple[Taint, ...] = ()
    """What keeps pods away that do not tolerate it."""


class ContainerImage(Part, frozen=True, gc=False):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeStatus(Fields):
    """What a node says about itself."""

    allocatable: Quantities = {}
    """What pods may use, as quantities; `NodeInfo.allocatable` has it in numbers."""
    capacity: Quantities = {}
    """What the machine has, as quantities."""
    conditions: tuple[Condition, ...] = ()
    """Ready and others."""
    images: tuple[ContainerImage, ...] = ()
    """The container images that are there."""
    declared_features: tuple[str, ...] = ()
    """The features it declares."""


class Node(Object, kw_only=True):
    """A node as the API server has it. Plugins are mostly given a `NodeInfo`, which knows its pods, too."""

    kind: ClassVar[str] = "Node"
    resource: ClassVar[str] = "nodes"
    namespaced: ClassVar[bool] = False

    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    """What is asked of it."""
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)
    """What it says about itself."""
