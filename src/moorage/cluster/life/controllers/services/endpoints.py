"""Endpoints: the same as EndpointSlices in the older form, one object for each Service."""

from __future__ import annotations

from ipaddress import ip_address

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

ENDPOINTS = "endpoints"
_MANAGED_BY = "endpoints.kubernetes.io/managed-by"
_MANAGER = "endpoint-controller"
_OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
_MOST = 1000  # addresses of one object


class Endpoints(OfServices):
    name = "endpoint"

    async def _reconcile(self, key: Key) -> float | None:
        service = self._store.get("services", *key)
        known = self._store.get(ENDPOINTS, *key)
        if service is None and known is not None:
            objects.delete_if_there(self._writer, ENDPOINTS, known)
        if service is None or not has_endpoints(service):
            return None
        unready = bool(service.spec.get("publishNotReadyAddresses"))
        pods = [pod for pod in await self._pods_of(service) if is_listed(pod, even_ending=unready)]
        trigger = self._trigger_time(service, pods)
        subsets, is_cut = cut(self._subsets(service, pods, unready=unready))
        labels = {name: text for name, text in service.labels.items() if name != HEADLESS}
        labels |= {_MANAGED_BY: _MANAGER}
        if is_headless(service):
            labels[HEADLESS] = ""
        if known is not None and known.labels == labels and (known.document.get("subsets") or []) == subsets:
            return None
        noted = {TRIGGER_TIME: trigger} if trigger else {}
        if is_cut:
            noted[_OVER_CAPACITY] = "truncated"

        def fill(document: Document) -> None:
            document["metadata"]["labels"] = labels
            note(document["metadata"], noted, TRIGGER_TIME, _OVER_CAPACITY)
            document.pop("subsets", None)
            if subsets:
                document["subsets"] = subsets

        if known is not None:
            self._writer.change(ENDPOINTS, known, fill)
        elif not service.is_deleted and not objects.is_ending(self._store, service.namespace):
            made: Document = {"metadata": {"name": service.name, "namespace": service.namespace}}
            fill(made)
            self._writer.create(ENDPOINTS, made)
        return None

    def _subsets(self, service: Stored, pods: list[Stored], *, unready: bool) -> list[Document]:
        """Addresses with the same ports together."""
        families = service.spec.get("ipFamilies") or ["IPv4"]
        found: dict[str, Document] = {}
        for pod in pods:
            ips = [each.get("ip", "") for each in pod.status.get("podIPs") or ()]
            ip = next((each for each in ips if each and addresses.version(each) == families[0]), "")
            ports = [
                {name: value for name, value in port.items() if value} for port in ports_of(service, pod)
            ]
            if not ip or (not ports and service.spec.get("ports")):
                continue
            address = {"ip": ip, "nodeName": pod.spec.get("nodeName"), "targetRef": target(pod)}
            if hostname := host_name(pod, service):
                address["hostname"] = hostname
            subset = found.setdefault(str(ports), {"ports": ports} if ports else {})
            kind = "addresses" if unready or is_ready(pod) else "notReadyAddresses"
            subset.setdefault(kind, []).append(address)
        for subset in found.values():
            for kind in ("addresses", "notReadyAddresses"):
                subset.get(kind, []).sort(key=_order)
        return list(found.values())


def _order(address: Document) -> tuple[bytes, str]:
    return ip_address(address["ip"]).packed, address["targetRef"]["uid"]


def cut(subsets: list[Document]) -> tuple[list[Document], bool]:
    """As many addresses as one object holds, those that are ready first, and whether some are left out."""
    left, is_cut = _MOST, False
    for kind in ("addresses", "notReadyAddresses"):
        for subset in subsets:
            given = subset.get(kind, [])
            is_cut |= len(given) > left
            if kind in subset:
                subset[kind] = given[:left]
            left -= len(given[:left])
            if kind in subset and not subset[kind]:
                del subset[kind]
    kept = [each for each in subsets if each.get("addresses") or each.get("notReadyAddresses")]
    return kept, is_cut
