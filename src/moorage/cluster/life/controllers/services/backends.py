"""The pods behind Services, as endpoints tell of them, and when that changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.cluster.base.parts import condition
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.objects import Key
from moorage.cluster.objects.writes import InternalWriter

GATHER = 0.1  # seconds in which changes of pods are gathered
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
HEADLESS = "service.kubernetes.io/headless"


class OfServices(Controller):
    """Works on the keys of Services that have a selector, whenever their pods change in what matters."""

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._selectors: dict[str, dict[str, Mapping[str, str]]] = {}
        self._triggers: dict[Key, dict[str, str]] = {}

    def _begin(self) -> None:
        self._listen("services", self._service_changed)
        self._listen("pods", self._pod_changed)
        for service in self._store.iterate("services"):
            self._know(service)

    def _service_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._selectors.get(change.new.namespace, {}).pop(change.new.name, None)
            self._triggers.pop(change.new.key, None)
            self._queue.add(change.new.key)
        else:
            self._know(change.new)

    def _know(self, service: Stored) -> None:
        known = self._selectors.setdefault(service.namespace, {})
        known.pop(service.name, None)
        if has_endpoints(service):
            known[service.name] = service.spec["selector"]
            self._queue.add(service.key)

    def _pod_changed(self, change: Change) -> None:
        services = self._selectors.get(change.new.namespace)
        if not services:
            return
        states = [each for each in (change.new, change.old) if each is not None]
        if change.type == "MODIFIED" and len({_told(pod) for pod in states}) == 1:
            return
        for name, selector in services.items():
            if any(_selects(selector, pod) for pod in states):
                self._queue.add_after((change.new.namespace, name), GATHER)

    async def _pods_of(self, service: Stored) -> list[Stored]:
        every = self._store.objects("pods", service.namespace)
        selector = service.spec["selector"]
        return [pod async for pod in Breaks().between(every) if _selects(selector, pod)]

    def _trigger_time(self, service: Stored, pods: list[Stored]) -> str:
        """Since when what is now told has been so; "" if nothing that counts has happened."""
        known = self._triggers.get(service.key)
        times = {pod.name: _ready_since(pod) for pod in pods}
        new = [time for name, time in times.items() if time and (known or {}).get(name) != time]
        self._triggers[service.key] = times
        return min(new if known is not None else [*new, service.created], default="")


def note(metadata: Document, notes: Mapping[str, str], *others: str) -> None:
    """Sets annotations; of these other ones, those are dropped that are not among them."""
    known = metadata.pop("annotations", None) or {}
    kept = {name: text for name, text in known.items() if name not in others}
    if kept or notes:
        metadata["annotations"] = {**kept, **notes}


def has_endpoints(service: Stored) -> bool:
    """Whether the endpoints of a Service are found by a selector; those of others are made by hand."""
    return service.spec.get("type") != "ExternalName" and service.spec.get("selector") is not None


def is_headless(service: Stored) -> bool:
    return service.spec.get("clusterIP", "") in ("", "None")


def is_listed(pod: Stored, *, even_ending: bool) -> bool:
    return bool(
        not objects.is_finished(pod)
        and (pod.status.get("podIP") or pod.status.get("podIPs"))
        and (even_ending or not pod.is_deleted)
    )


def is_ready(pod: Stored) -> bool:
    return objects.ready_condition(pod) is not None


def target(pod: Stored) -> Document:
    return {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def host_name(pod: Stored, service: Stored) -> str:
    """The name under which a pod can be found below its Service."""
    return pod.spec.get("hostname", "") if pod.spec.get("subdomain") == service.name else ""


def ports_of(service: Stored, pod: Stored) -> list[Document]:
    """Where a pod can be reached for each port of a Service; not for those that it does not have."""
    found = []
    for port in service.spec.get("ports") or ():
        number = _container_port(pod, port.get("targetPort"), port.get("protocol", "TCP"))
        if number is not None:
            more = {"appProtocol": port["appProtocol"]} if "appProtocol" in port else {}
            told = {"name": port.get("name", ""), "port": number, "protocol": port.get("protocol", "TCP")}
            found.append(told | more)
    return found


def _container_port(pod: Stored, wanted: Any, protocol: str) -> int | None:
    if isinstance(wanted, int):
        return wanted
    sidecars = [
        each for each in pod.spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    ]
    for container in (*(pod.spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == wanted and port.get("protocol", "TCP") == protocol:
                number: int = port["containerPort"]
                return number
    return None


def _selects(selector: Mapping[str, str], pod: Stored) -> bool:
    labels = pod.labels
    return all(labels.get(key) == value for key, value in selector.items())


def _ready_since(pod: Stored) -> str:
    found = condition(pod.status, "Ready") or {}
    return found.get("lastTransitionTime") or ""


def _told(pod: Stored) -> tuple[Any, ...]:
    """All of a pod that endpoints depend on."""
    spec, status = pod.spec, pod.status
    return (
        tuple(pod.labels.items()),
        pod.is_deleted,
        is_ready(pod),
        objects.is_finished(pod),
        tuple(each.get("ip", "") for each in status.get("podIPs") or ()),
        spec.get("nodeName"),
        spec.get("hostname"),
        spec.get("subdomain"),
    )
