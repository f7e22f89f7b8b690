"""What controllers want to know of documents."""

from __future__ import annotations

from typing import Any

from moorage.api.selectors import (
    NOTHING,
    LabelSelector,
    Requirement,
    Selector,
    SelectorError,
    parse_selector,
)
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.life.controllers.queue import Key

FINISHED = ("Succeeded", "Failed")


def key_of(stored: Stored) -> Key:
    return stored.namespace, stored.name


def uid_of(stored: Stored) -> str:
    uid: str = stored.document["metadata"].get("uid", "")
    return uid


def labels_of(stored: Stored) -> dict[str, str]:
    return stored.document["metadata"].get("labels") or {}


def annotations_of(stored: Stored) -> dict[str, str]:
    return stored.document["metadata"].get("annotations") or {}


def spec_of(stored: Stored) -> Document:
    return stored.document.get("spec") or {}


def status_of(stored: Stored) -> Document:
    return stored.document.get("status") or {}


def created(stored: Stored) -> str:
    """When it was created; texts of this form sort as the times do."""
    text: str = stored.document["metadata"].get("creationTimestamp") or ""
    return text


def is_deleted(stored: Stored) -> bool:
    """Whether its deletion has begun."""
    return stored.document["metadata"].get("deletionTimestamp") is not None


def is_ending(store: Store, namespace: str) -> bool:
    """Whether a namespace is on its way out, so that nothing can be created in it."""
    found = store.get("namespaces", "", namespace)
    return found is not None and is_deleted(found)


def finalizers_of(stored: Stored) -> list[str]:
    return stored.document["metadata"].get("finalizers") or []


def condition(status: Document, type: str) -> Document | None:
    for found in status.get("conditions") or ():
        if found.get("type") == type:
            return dict(found)
    return None


def ready_condition(pod: Stored) -> Document | None:
    """The Ready condition of a pod that is ready."""
    for found in status_of(pod).get("conditions") or ():
        if found.get("type") == "Ready":
            return found if found.get("status") == "True" else None
    return None


def is_active(pod: Stored) -> bool:
    """Whether a pod is neither finished nor being deleted."""
    return status_of(pod).get("phase") not in FINISHED and not is_deleted(pod)


def selector_of(selector: Document | None) -> Selector:
    """The usable form of a label selector; one that is invalid matches nothing."""
    if selector is None:
        return NOTHING
    expressions = tuple(
        Requirement(part.get("key", ""), part.get("operator", ""), tuple(part.get("values") or ()))
        for part in selector.get("matchExpressions") or ()
    )
    try:
        return parse_selector(LabelSelector(selector.get("matchLabels") or {}, expressions))
    except SelectorError:
        return NOTHING


def scaled(value: Any, total: int, *, up: bool) -> int:
    """A number, or a percentage of the total rounded up or down; what is neither is 0."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str) or not value.endswith("%"):
        return 0
    try:
        parts = int(value[:-1]) * total
    except ValueError:
        return 0
    return -(-parts // 100) if up else parts // 100
