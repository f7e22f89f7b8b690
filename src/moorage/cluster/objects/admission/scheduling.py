"""What decides where and when a pod runs: its priority, which is that of its class, and what it tolerates."""

from __future__ import annotations

from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.scheduling import SYSTEM_CLASSES
from moorage.cluster.objects.admission.attempt import CREATE, Attempt

CLASSES = "priorityclasses.scheduling.k8s.io"
_LOWER = "PreemptLowerPriority"
_TOLERATIONS = tuple(
    {
        "key": f"node.kubernetes.io/{state}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for state in ("not-ready", "unreachable")
)
"""Shared by all pods, as stored documents are never changed in place."""


def set_priority(attempt: Attempt) -> None:
    found = _class_of(attempt)
    _set(attempt, "priority", found.get("value", 0), "integer value of priority")
    if found.get("preemptionPolicy"):
        _set(attempt, "preemptionPolicy", found["preemptionPolicy"], "string value of PreemptionPolicy")


def set_group_priority(attempt: Attempt) -> None:
    """The same for a PodGroup, where groups are preempted as a whole."""
    if "WorkloadAwarePreemption" not in attempt.definition.strategy.gates:
        return
    spec = attempt.document["spec"]
    priority = _class_of(attempt).get("value", 0)
    given = spec.get("priority")
    if given is not None and given != priority:
        raise attempt.forbidden(
            f"priority set in the pod group ({given}) must match the priority computed ({priority}) based on "
            "the priority class set in the spec"
        )
    spec["priority"] = priority


def _class_of(attempt: Attempt) -> Document:
    """The class that an object names, or gets; its name is noted on the object."""
    spec = attempt.document["spec"]
    name = spec.get("priorityClassName")
    if name:
        stored = attempt.store.get(CLASSES, "", name)
        if stored is None:
            raise attempt.forbidden(f"no PriorityClass with name {name} was found")
        return stored.document
    found = default_class(attempt.store) or {"preemptionPolicy": _LOWER}
    if "metadata" in found:
        spec["priorityClassName"] = found["metadata"]["name"]
    return found


def _set(attempt: Attempt, field: str, value: int | str, words: str) -> None:
    spec = attempt.document["spec"]
    given = spec.get(field)
    if given is not None and given != value:
        raise attempt.forbidden(
            f"the {words} ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {value} from the given PriorityClass name"
        )
    spec[field] = value


def keep_priority(attempt: Attempt) -> None:
    spec, before = attempt.document["spec"], (attempt.old or {}).get("spec") or {}
    for name in ("priority", "preemptionPolicy"):
        if name not in spec and name in before:
            spec[name] = before[name]


def default_class(store: Store) -> Document | None:
    """The class of pods that name none; the lowest, should there be several."""
    defaults = (each.document for each in store.iterate(CLASSES) if each.document.get("globalDefault"))
    return min(defaults, key=lambda document: document.get("value", 0), default=None)


def admit_class_deletion(attempt: Attempt) -> None:
    if attempt.document["metadata"]["name"] in SYSTEM_CLASSES:
        raise attempt.forbidden("this is a system priority class and cannot be deleted")


def admit_priority_class(attempt: Attempt) -> None:
    known = default_class(attempt.store) if attempt.document.get("globalDefault") else None
    if known is None:
        return
    name = known["metadata"]["name"]
    if attempt.operation == CREATE or name != attempt.document["metadata"]["name"]:
        raise attempt.forbidden(
            f"PriorityClass {name} is already marked as default. Only one default can exist"
        )


def add_tolerations(attempt: Attempt) -> None:
    """Pods stay five minutes on a node that is not ready or not reached, unless they say otherwise."""
    spec = attempt.document["spec"]
    given = spec.get("tolerations") or []
    missing = [default for default in _TOLERATIONS if not any(_covers(each, default) for each in given)]
    if missing:
        spec["tolerations"] = [*given, *missing]


def _covers(toleration: Document, default: Document) -> bool:
    key, effect = toleration.get("key", ""), toleration.get("effect", "")
    return key in ("", default["key"]) and effect in ("", default["effect"])
