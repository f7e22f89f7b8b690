"""When things happened to a pod, where the pod itself knows it better than whoever hears of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from moorage.what_if.trace.kept import MIRROR, Document

_FINISHED = ("Succeeded", "Failed")


def steps(known: Document | None, pod: Document, now: float) -> Iterator[tuple[float, Document]]:
    """What happened to a pod since it was last known, each with its time and the pod as it was then.

    One that was created, got a node and ended while nobody heard of it has three of them.
    """
    metadata, status = pod["metadata"], pod.get("status", {})
    had_node, was_over, was_deleted = _state(known)
    has_node, is_over, is_deleted = _state(pod)
    before_its_end = {**pod, "status": {**status, "phase": "Running"}} if is_over and not was_over else pod
    if known is None:
        yield _exact(metadata.get("creationTimestamp"), now), _as_created(pod)
    if has_node and not had_node:
        kept_on = metadata if was_deleted else _without(metadata, "deletionTimestamp")
        yield _exact(_scheduled_at(status), now), {**before_its_end, "metadata": kept_on}
    ended = _exact(_ended_at(status), now) if is_over and not was_over else None
    if is_deleted and not was_deleted:
        deleted = _exact(metadata.get("deletionTimestamp"), now, metadata.get("deletionGracePeriodSeconds"))
        if ended is not None and ended < deleted:
            yield ended, {**pod, "metadata": _without(metadata, "deletionTimestamp")}
        yield deleted, before_its_end if ended is not None and ended >= deleted else pod
    if ended is not None:
        yield ended, pod
    yield now, pod


def _state(pod: Document | None) -> tuple[bool, bool, bool]:
    """Whether it has a node, has ended, and is to go."""
    if pod is None:
        return False, False, False
    is_deleted = bool(pod["metadata"].get("deletionTimestamp"))
    return bool(pod.get("spec", {}).get("nodeName")), has_ended(pod), is_deleted


def has_ended(pod: Document) -> bool:
    return pod.get("status", {}).get("phase") in _FINISHED


def _as_created(pod: Document) -> Document:
    """Without what came later; a node that no scheduler gave was there from the beginning."""
    metadata, spec = _without(pod["metadata"], "deletionTimestamp"), pod.get("spec", {})
    is_of_node = MIRROR in (metadata.get("annotations") or ()) or any(
        owner.get("kind") == "Node" for owner in metadata.get("ownerReferences") or ()
    )
    if _scheduled_at(pod.get("status", {})) is not None and not is_of_node:
        spec = _without(spec, "nodeName")
    return {**pod, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _without(fields: Document, name: str) -> Document:
    return {key: value for key, value in fields.items() if key != name}


def _scheduled_at(status: Document) -> str | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            found: str | None = condition.get("lastTransitionTime")
            return found
    return None


def _ended_at(status: Document) -> str | None:
    """When the last of its containers ended."""
    ended = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt") or ""
        for each in status.get("containerStatuses") or ()
    ]
    return max(ended, default="") or None


def _exact(text: str | None, now: float, less: float | None = None) -> float:
    """A time that an object tells, or now if it tells none.

    They are told in whole seconds: within the same second, hearing of it is more exact.
    """
    try:
        told = datetime.fromisoformat(text or "").timestamp() - (less or 0)
    except ValueError:
        return now
    return told if now - told >= 1.0 else now
