"""Where the port of a Service really listens: at one of its pods whose containers are run for real."""

from __future__ import annotations

import random
from collections.abc import Callable

from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.base.webhook_client import Unreachable
from moorage.cluster.life.controllers.objects import ready_condition
from moorage.cluster.life.nodes.addresses import local_address


def locate(
    store: Store, runs_pod: Callable[[Stored], bool], namespace: str, name: str, port: int
) -> tuple[str, int]:
    """The address on this machine; raises Unreachable. `runs_pod` tells which pods are run for real."""
    service = store.get("services", namespace, name)
    if service is None:
        raise Unreachable(f'service "{name}" not found')
    found = next((each for each in service.spec.get("ports") or () if each.get("port") == port), None)
    if found is None:
        raise Unreachable(f'no service port {port} found for service "{name}"')
    target = found.get("targetPort") or port
    pods = [pod for pod in store.objects("pods", namespace) if _serves(service, pod) and runs_pod(pod)]
    places = [(pod, number) for pod in pods if (number := _number(pod, target))]
    if not places:
        raise Unreachable(f'no endpoints available for service "{name}"')
    pod, number = random.choice(places)
    return local_address(pod.document), number


def _serves(service: Stored, pod: Stored) -> bool:
    selector = service.spec.get("selector") or {}
    if not selector or not selector.items() <= pod.labels.items() or pod.is_deleted:
        return False
    return ready_condition(pod) is not None


def _number(pod: Stored, target: int | str) -> int:
    """The port of a container; 0 if none has this name."""
    if isinstance(target, int):
        return target
    ports: list[Document] = [
        port for container in pod.spec.get("containers") or () for port in container.get("ports") or ()
    ]
    return next((port["containerPort"] for port in ports if port.get("name") == target), 0)
