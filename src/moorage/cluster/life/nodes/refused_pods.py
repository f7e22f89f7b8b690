"""Pods that are to run for real where they may not: they wait, and say why."""

from __future__ import annotations

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.objects import write_status
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.machine import Machine

REASON = "ProcessNotAllowed"


def hold(machine: Machine, pod: Stored, node: Document, why: str) -> None:
    """Has all containers of a pod wait. To look as if they ran would deceive those who count on them."""
    state = {"waiting": {"reason": REASON, "message": why}}
    status = statuses.pod_status(
        pod.document,
        node,
        phase=pod.status.get("phase") or statuses.PENDING,
        address=machine.addresses.take(pod.uid, node),
        containers=_waiting(pod, "containers", state),
        init_containers=_waiting(pod, "initContainers", state),
        now=machine.clock(),
    )
    changed = write_status(machine.writer, "pods", pod, status)
    if changed is not None and changed is not pod:
        machine.tell(changed, REASON, why, warning=True)


def _waiting(pod: Stored, field: str, state: Document) -> list[Document]:
    containers = pod.spec.get(field) or ()
    return [statuses.container_status(pod.uid, each, state, ready=False) for each in containers]
