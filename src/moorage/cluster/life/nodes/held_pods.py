"""Pods whose containers cannot be started: they wait, and say why."""

from __future__ import annotations

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.objects import write_status
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.machine import Machine

REASON = "ProcessNotAllowed"


def refuse(machine: Machine, pod: Stored, node: Document, why: str) -> None:
    """Has a pod wait that is to run for real where it may not. To look as if it ran would deceive those who
    count on it.
    """
    state = {"waiting": {"reason": REASON, "message": why}}
    changed = hold(machine, pod, node, state)
    if changed is not None and changed is not pod:
        machine.tell(changed, REASON, why, warning=True)


def hold(machine: Machine, pod: Stored, node: Document, state: Document) -> Stored | None:
    """Has all containers of a pod wait; None if the pod has meanwhile changed or gone."""
    status = statuses.pod_status(
        pod.document,
        node,
        phase=pod.status.get("phase") or statuses.PENDING,
        address=machine.addresses.take(pod.uid, node),
        containers=_waiting(pod, "containers", state),
        init_containers=_waiting(pod, "initContainers", state),
        now=machine.clock(),
    )
    return write_status(machine.writer, "pods", pod, status)


def _waiting(pod: Stored, field: str, state: Document) -> list[Document]:
    containers = pod.spec.get(field) or ()
    return [statuses.container_status(pod.uid, each, state, ready=False) for each in containers]
