"""The priority of pods, from their PriorityClass."""

from __future__ import annotations

from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.scheduling import SYSTEM_CLASSES
from moorage.cluster.objects.admission.attempt import CREATE, Attempt

_CLASSES = "priorityclasses.scheduling.k8s.io"
_LOWER = "PreemptLowerPriority"


def set_priority(attempt: Attempt, store: Store) -> None:
    spec = attempt.document["spec"]
    if attempt.operation != CREATE:
        before = (attempt.old or {}).get("spec") or {}
        for name in ("priority", "preemptionPolicy"):
            if name not in spec and name in before:
                spec[name] = before[name]
        return
    name = spec.get("priorityClassName")
    if name:
        stored = store.get(_CLASSES, "", name)
        if stored is None:
            raise attempt.forbidden(f"no PriorityClass with name {name} was found")
        found: Document | None = stored.document
    else:
        found = default_class(store)
        if found is not None:
            spec["priorityClassName"] = found["metadata"]["name"]
    priority = found.get("value", 0) if found is not None else 0
    policy = found.get("preemptionPolicy", "") if found is not None else _LOWER
    given = spec.get("priority")
    if given is not None and given != priority:
        raise attempt.forbidden(
            f"the integer value of priority ({given}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
    spec["priority"] = priority
    if policy:
        given = spec.get("preemptionPolicy")
        if given is not None and given != policy:
            raise attempt.forbidden(
                f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
        spec["preemptionPolicy"] = policy


def default_class(store: Store) -> Document | None:
    """The class of pods that name none; the lowest, should there be several."""
    found: Document | None = None
    for stored in store.iterate(_CLASSES):
        document = stored.document
        if document.get("globalDefault") and (
            found is None or found.get("value", 0) > document.get("value", 0)
        ):
            found = document
    return found


def admit_class_deletion(attempt: Attempt) -> None:
    if attempt.definition.storage == _CLASSES and attempt.document["metadata"]["name"] in SYSTEM_CLASSES:
        raise attempt.forbidden("this is a system priority class and cannot be deleted")


def admit_priority_class(attempt: Attempt, store: Store) -> None:
    if not attempt.document.get("globalDefault"):
        return
    known = default_class(store)
    if known is None:
        return
    name = known["metadata"]["name"]
    if attempt.operation == CREATE or name != attempt.document["metadata"]["name"]:
        raise attempt.forbidden(
            f"PriorityClass {name} is already marked as default. Only one default can exist"
        )
