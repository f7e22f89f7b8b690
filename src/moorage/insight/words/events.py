"""What a waiting pod waits for, and what woke it, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from moorage.framework.events import Action

_KINDS = {
    "Pod": "pod",
    "AssignedPod": "placed pod",
    "UnschedulablePod": "waiting pod",
    "Node": "node",
    "PersistentVolume": "persistent volume",
    "PersistentVolumeClaim": "persistent volume claim",
    "storage.k8s.io/StorageClass": "storage class",
    "storage.k8s.io/CSINode": "CSINode",
    "storage.k8s.io/CSIDriver": "CSIDriver",
    "storage.k8s.io/CSIStorageCapacity": "CSI storage capacity",
    "storage.k8s.io/VolumeAttachment": "volume attachment",
    "resource.k8s.io/ResourceClaim": "resource claim",
    "resource.k8s.io/ResourceSlice": "resource slice",
    "resource.k8s.io/DeviceClass": "device class",
    "scheduling.k8s.io/PodGroup": "pod group",
}
_DOES = {
    Action.ADD: "is added",
    Action.DELETE: "goes",
    Action.UPDATE_NODE_ALLOCATABLE: "offers more",
    Action.UPDATE_NODE_LABEL: "gets other labels",
    Action.UPDATE_NODE_TAINT: "loses a taint or is uncordoned",
    Action.UPDATE_NODE_CONDITION: "changes a condition",
    Action.UPDATE_NODE_ANNOTATION: "gets other annotations",
    Action.UPDATE_NODE_DECLARED_FEATURE: "declares other features",
    Action.UPDATE_POD_LABEL: "gets other labels",
    Action.UPDATE_POD_SCALE_DOWN: "asks for less",
    Action.UPDATE_POD_TOLERATION: "gets a toleration",
    Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "loses its scheduling gates",
    Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "gets its resource claim",
}
_BY_NAME = {action: name.title().replace("_", "") for name, action in Action.__members__.items()}
_LONGEST_FIRST = "|".join(sorted(_BY_NAME.values(), key=len, reverse=True))
_LABEL = re.compile(rf"(.+?)({_LONGEST_FIRST}|\d+)$")
_ACTIONS = {name: action for action, name in _BY_NAME.items()}
_OTHERS = {
    "UnschedulableTimeout": "it had waited long",
    "ForceActivate": "a plugin asked for it",
    "*All": "anything changes",
    "ScheduleAttemptFailure": "the last try failed",
    "BackoffComplete": "its pause was over",
}


def what_happens(label: str) -> str:
    """An event's name, such as `NodeAdd`, as a clause: `a node is added`."""
    if label in _OTHERS:
        return _OTHERS[label]
    found = _LABEL.fullmatch(label)
    if found is None:
        return label
    resource, named = found.groups()
    kind = _KINDS.get(resource, resource)
    article = "an" if kind[0] in "aeiou" else "a"
    action = Action(int(named) & int(Action.ALL)) if named.isdigit() else _ACTIONS[named]
    return f"{article} {kind} {_done(action)}"


def _done(action: Action) -> str:
    parts = []
    if action & Action.UPDATE == Action.UPDATE:
        parts = ["changes"]
        action &= ~Action.UPDATE
    parts = [text for one, text in _DOES.items() if action & one] + parts
    return " or ".join(parts) or "changes"


def waits_for(labels: Iterable[str]) -> str:
    """`a node is added, a placed pod goes`: each only once, at most six."""
    clauses = list(dict.fromkeys(what_happens(label) for label in labels))
    more = [f"{len(clauses) - 6} more"] if len(clauses) > 6 else []
    return ", ".join([*clauses[:6], *more])
