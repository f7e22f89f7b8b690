"""Pods as their owners' templates want them."""

from __future__ import annotations

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of
from moorage.cluster.life.controllers import objects


def pod_of(owner: Stored, reference: Document, template: Document) -> Document:
    """A new pod, which shares its parts with the template: to be copied before it is changed or written."""
    given = part(template, "metadata")
    metadata: Document = {
        "generateName": f"{owner.name}-",
        "namespace": owner.namespace,
        "ownerReferences": [reference],
        **{name: given[name] for name in ("labels", "annotations", "finalizers") if given.get(name)},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


def available_at(pod: Stored, min_ready_seconds: int) -> float | None:
    """From when on a pod that is ready counts as available; None if it is not ready."""
    ready = objects.ready_condition(pod)
    if ready is None:
        return None
    return (
        seconds_of(ready.get("lastTransitionTime") or "") + min_ready_seconds
        if min_ready_seconds > 0
        else 0.0
    )
