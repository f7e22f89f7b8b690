"""What owners ask about their pods, and the pods that they make from their templates."""

from __future__ import annotations

from collections import Counter
from typing import Any

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.objects.writes import InternalWriter

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


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


def worth(pod: Stored, neighbours: Counter[str]) -> tuple[Any, ...]:
    """Sorts those to be deleted first to the front."""
    spec, status = pod.spec, pod.status
    node = spec.get("nodeName", "")
    ready = objects.ready_condition(pod)
    phases = {"Pending": 0, "Unknown": 1}
    try:
        cost = int(pod.annotations.get(DELETION_COST, "0"))
    except ValueError:
        cost = 0
    restarts = max((each.get("restartCount", 0) for each in status.get("containerStatuses") or ()), default=0)
    return (
        bool(node),
        phases.get(status.get("phase") or "Pending", 2),
        ready is not None,
        cost,
        -neighbours[node],
        -seconds_of(ready.get("lastTransitionTime") or "") if ready else 0.0,
        -restarts,
        -seconds_of(pod.created),
        pod.name,
    )


def create_pod(writer: InternalWriter, recorder: Recorder, owner: Stored, document: Document) -> Stored:
    """Makes a pod and tells so in an event of its owner; a refusal is told and raised."""
    try:
        pod = writer.create("pods", document)
    except Refusal as refusal:
        recorder.tell(owner, "FailedCreate", f"Error creating: {refusal.message}", warning=True)
        raise
    recorder.tell(owner, "SuccessfulCreate", f"Created pod: {pod.name}")
    return pod
