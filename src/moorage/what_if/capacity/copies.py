"""Further pods like one there is, as its controller would make them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from moorage.api.decoding import from_document
from moorage.api.pods import Pod

Document = dict[str, Any]

STATEFUL_SET = "StatefulSet"
DAEMON_SET = "DaemonSet"
_OF_ONE_POD = ("resourceVersion", "creationTimestamp", "deletionTimestamp", "selfLink", "managedFields")
_LONGEST = 240


def copy_of(pod: Pod, number: int, scheduler_name: str = "") -> Pod:
    """A new pod without a node, like this one; `number` makes its name and its uid."""
    return _renamed(pod, f"{pod.name[:_LONGEST]}-more-{number}", number, scheduler_name)


def replacement(pod: Pod, number: int) -> Pod:
    """The pod that its controller makes when it is evicted; that of a StatefulSet has the same name."""
    owner = controller_of(pod)
    keeps_name = owner is not None and owner["kind"] == STATEFUL_SET
    return _renamed(pod, pod.name if keeps_name else f"{pod.name[:_LONGEST]}-moved", number)


def controller_of(pod: Pod) -> Document | None:
    """Kind and name of what would make another pod in place of this one."""
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return {"kind": owner.kind, "name": owner.name, "apiVersion": owner.api_version, "uid": owner.uid}
    return None


def _renamed(pod: Pod, name: str, number: int, scheduler_name: str = "") -> Pod:
    document = deepcopy(pod.raw)
    metadata = document.setdefault("metadata", {})
    for field in _OF_ONE_POD:
        metadata.pop(field, None)
    metadata["name"] = name
    metadata["uid"] = f"{pod.uid}/{number}"
    document.pop("status", None)
    spec = document.setdefault("spec", {})
    spec.pop("nodeName", None)
    if scheduler_name:
        spec["schedulerName"] = scheduler_name
    return from_document(Pod, document)
