"""What a waiting pod waits for, and what woke it, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from moorage.framework.events import Action
from moorage.insight.words.amounts import listed

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
    "podgroups.v1alpha1.scheduling.x-k8s.io": "pod group",
    "elasticquotas.v1alpha1.scheduling.x-k8s.io": "elastic quota",
}
_DOES = {
    Action.ADD: "is added",
    Action.DELETE: "goes",
    Action.UPDATE_NODE_ALLOCATABLE: "offers more",
    Action.UPDATE_NODE_LABEL: "gets other labels",
    Action.UPDATE_NODE_TAINT: "loses a taint",
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
    who, does = _parsed(label)
    return f"{who} {' or '.join(does)}" if does else who


def waits_for(labels: Iterable[str]) -> str:
    """`a node is added or loses a taint; a placed pod goes`: all that happens to a kind together."""
    by_kind: dict[str, list[str]] = {}
    for label in labels:
        who, does = _parsed(label)
        by_kind.setdefault(who, []).extend(does)
    clauses = []
    for who, does in by_kind.items():
        distinct = list(dict.fromkeys(does))
        clauses.append(f"{who} {listed(distinct, 5, 'or')}" if distinct else who)
    return "; ".join(clauses)


def _parsed(label: str) -> tuple[str, list[str]]:
    """Whom an event is about, and what happens."""
    found = None if label in _OTHERS else _LABEL.fullmatch(label)
    if found is None:
        return _OTHERS.get(label, label), []
    resource, named = found.groups()
    kind = _KINDS.get(resource, resource)
    article = "an" if kind[0] in "aeiou" else "a"
    action = Action(int(named) & int(Action.ALL)) if named.isdigit() else _ACTIONS[named]
    does = ["changes"] if action & Action.UPDATE == Action.UPDATE else []
    rest = action & ~Action.UPDATE if does else action
    return f"{article} {kind}", [text for one, text in _DOES.items() if rest & one] + does
