"""EndpointSlices: the pods behind each Service, at most a hundred in a slice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.kinds import addresses
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.objects import Key
from moorage.cluster.life.controllers.services.backends import (
    HEADLESS,
    TRIGGER_TIME,
    OfServices,
    has_endpoints,
    host_name,
    is_headless,
    is_listed,
    is_ready,
    note,
    ports_of,
    target,
)

SLICES = "endpointslices.discovery.k8s.io"
SERVICE_NAME = "kubernetes.io/service-name"
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_MANAGER = "endpointslice-controller.k8s.io"
_RESERVED = (SERVICE_NAME, _MANAGED_BY, HEADLESS)
_MOST = 100  # endpoints of a slice
_ZONE = "topology.kubernetes.io/zone"
_CLOSE = ("PreferClose", "PreferSameZone", "PreferSameNode")

Ports = tuple[tuple[tuple[str, object], ...], ...]
"""The ports of a slice in a form that can be compared."""


class Wanted(NamedTuple):
    """A slice as it should be, and the one that is changed for it, if there is one."""

    ports: list[Document]
    endpoints: list[Document]
    known: Stored | None = None


class EndpointSlices(OfServices):
    name = "endpointslice"

    async def _reconcile(self, key: Key) -> float | None:
        service = self._store.get("services", *key)
        if service is None or not has_endpoints(service):
            return None  # the slices of a Service that is gone are garbage
        pods = [pod for pod in await self._pods_of(service) if is_listed(pod, even_ending=True)]
        trigger = self._trigger_time(service, pods)
        mine = [each for each in self._store.objects(SLICES, service.namespace) if _is_of(each, service)]
        families = service.spec.get("ipFamilies") or ["IPv4"]
        for family in families:
            known = [each for each in mine if each.document.get("addressType") == family]
            wanted: dict[Ports, tuple[list[Document], list[Document]]] = {}
            for pod in pods:
                if endpoint := self._endpoint(pod, service, family):
                    ports = ports_of(service, pod)
                    wanted.setdefault(_comparable(ports), (ports, []))[1].append(endpoint)
            self._write(service, family, known, wanted, trigger)
        for each in mine:
            if each.document.get("addressType") not in families:
                objects.delete_if_there(self._writer, SLICES, each)
        return None

    def _endpoint(self, pod: Stored, service: Stored, family: str) -> Document | None:
        addresses_ = [
            each["ip"]
            for each in pod.status.get("podIPs") or ()
            if each.get("ip") and addresses.version(each["ip"]) == family
        ]
        node = self._store.get("nodes", "", pod.spec.get("nodeName", ""))
        unready = bool(service.spec.get("publishNotReadyAddresses"))
        if not addresses_ or (node is None and not unready):
            return None
        serving, ending = is_ready(pod), pod.is_deleted
        ready = unready or (serving and not ending)
        endpoint: Document = {
            "addresses": addresses_,
            "conditions": {"ready": ready, "serving": serving, "terminating": ending},
            "targetRef": target(pod),
        }
        zone = node.labels.get(_ZONE) if node is not None else None
        more = {"nodeName": pod.spec.get("nodeName"), "zone": zone, "hostname": host_name(pod, service)}
        endpoint |= {name: value for name, value in more.items() if value}
        if ready and zone and (how := service.spec.get("trafficDistribution")) in _CLOSE:
            endpoint["hints"] = {"forZones": [{"name": zone}]}
            if how == "PreferSameNode":
                endpoint["hints"]["forNodes"] = [{"name": pod.spec["nodeName"]}]
        return endpoint

    def _write(
        self,
        service: Stored,
        family: str,
        known: list[Stored],
        wanted: dict[Ports, tuple[list[Document], list[Document]]],
        trigger: str,
    ) -> None:
        by_ports: dict[Ports, list[Stored]] = {}
        for each in known:
            by_ports.setdefault(_comparable(each.document.get("ports") or ()), []).append(each)
        slices: list[Wanted] = []
        for comparable, (ports, endpoints) in wanted.items():
            slices += packed(ports, endpoints, by_ports.get(comparable, []))
        if not slices:
            slices.append(Wanted([], []))
        kept = {each.known.name for each in slices if each.known is not None}
        free = [each for each in known if each.name not in kept]
        for slice_ in slices:
            reused = slice_._replace(known=free.pop(0)) if slice_.known is None and free else slice_
            self._write_one(service, family, reused, trigger)
        for each in free:
            objects.delete_if_there(self._writer, SLICES, each)

    def _write_one(self, service: Stored, family: str, wanted: Wanted, trigger: str) -> None:
        labels = {name: text for name, text in service.labels.items() if name not in _RESERVED}
        labels |= {SERVICE_NAME: service.name, _MANAGED_BY: _MANAGER}
        if is_headless(service):
            labels[HEADLESS] = ""
        content = {"ports": wanted.ports or None, "endpoints": wanted.endpoints or None}
        noted = {TRIGGER_TIME: trigger} if trigger else {}
        if wanted.known is not None:
            old = wanted.known.document
            if wanted.known.labels == labels and all(old.get(name) == content[name] for name in content):
                return

            def change(document: Document) -> None:
                document.update(content)
                document["metadata"]["labels"] = labels
                note(document["metadata"], noted, TRIGGER_TIME)

            self._writer.change(SLICES, wanted.known, change)
            return
        metadata = {
            "generateName": f"{service.name}-",
            "namespace": service.namespace,
            "labels": labels,
            "ownerReferences": [objects.controller_reference(service, "v1", "Service")],
        }
        note(metadata, noted)
        if service.is_deleted or objects.is_ending(self._store, service.namespace):
            return
        self._writer.create(SLICES, {"metadata": metadata, "addressType": family, **content})


def packed(ports: list[Document], endpoints: Iterable[Document], known: list[Stored]) -> list[Wanted]:
    """Endpoints with the same ports in slices: each stays where it is, and few slices change for others."""
    waiting = {_identity(each): each for each in endpoints}
    kept: list[Wanted] = []
    for slice_ in known:
        old = slice_.document.get("endpoints") or ()
        stay = [found for each in old if (found := waiting.pop(_identity(each), None)) is not None]
        if stay:
            kept.append(Wanted(ports, stay, slice_))
    new = list(waiting.values())
    for wanted in sorted(kept, key=lambda each: (not _is_changed(each), -len(each.endpoints))):
        if not new:
            break
        if _is_changed(wanted) or len(wanted.endpoints) + len(new) <= _MOST:
            room = _MOST - len(wanted.endpoints)
            wanted.endpoints.extend(new[:room])
            new = new[room:]
    kept += [Wanted(ports, new[start : start + _MOST]) for start in range(0, len(new), _MOST)]
    return kept


def _is_changed(wanted: Wanted) -> bool:
    return wanted.known is not None and wanted.endpoints != (wanted.known.document.get("endpoints") or [])


def _identity(endpoint: Document) -> tuple[object, ...]:
    reference = endpoint.get("targetRef") or {}
    return tuple(endpoint.get("addresses") or ()), endpoint.get("hostname"), reference.get("uid")


def _comparable(ports: Iterable[Document]) -> Ports:
    return tuple(sorted(tuple(sorted(each.items())) for each in ports))


def _is_of(slice_: Stored, service: Stored) -> bool:
    labels = slice_.labels
    is_mine = (labels.get(SERVICE_NAME), labels.get(_MANAGED_BY)) == (service.name, _MANAGER)
    return is_mine and objects.is_controlled_by(slice_, service)
