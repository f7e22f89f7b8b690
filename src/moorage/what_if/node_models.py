"""Nodes that do not exist, like ones that do."""

from __future__ import annotations

import copy
from typing import Any

from moorage.api.meta import Object
from moorage.api.nodes import Node

Document = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
OF_KUBERNETES = "node.kubernetes.io/"
"""Taints below this say that something is wrong with a node, and go when it is well again."""

_OF_ONE_NODE = ("uid", "resourceVersion", "creationTimestamp", "selfLink", "managedFields", "generation")
_OF_ONE_MACHINE = ("providerID", "podCIDR", "podCIDRs", "unschedulable")


def renamed(model: Object, name: str) -> Document:
    """The document of an object like another, but new and well; of a node, or what goes with one."""
    # Those of a list do not say what they are.
    document = {"apiVersion": model.api_version(), "kind": model.kind, **copy.deepcopy(model.raw)}
    metadata = document.get("metadata") or {}
    metadata = {key: value for key, value in metadata.items() if key not in _OF_ONE_NODE}
    labels = metadata.get("labels") or {}
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    document["metadata"] = {**metadata, "name": name}
    if isinstance(model, Node):
        spec = document.get("spec") or {}
        spec = {key: value for key, value in spec.items() if key not in _OF_ONE_MACHINE}
        taints = spec.pop("taints", None) or []
        lasting = [taint for taint in taints if not taint.get("key", "").startswith(OF_KUBERNETES)]
        document["spec"] = {**spec, **({"taints": lasting} if lasting else {})}
        status = document.get("status") or {}
        used = ("volumesInUse", "volumesAttached")
        document["status"] = {key: value for key, value in status.items() if key not in used}
    return document
