"""Endpoints and EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address

from moorage.api.names import label_value_problems
from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    invalid_value,
    required,
    too_many,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.fields import (
    PROTOCOLS,
    broken,
    dns_label,
    dns_subdomain,
    immutable,
    labels,
    port_number,
    qualified_name,
)
from moorage.cluster.schema.definitions import Strategy

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")

_MAX_ENDPOINTS = 1000
_MAX_PORTS = 20000
_MAX_ADDRESSES = 100
_MAX_TOPOLOGY_LABELS = 16
_MAX_HINTS = 8


class EndpointsStrategy(Strategy):
    deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    created_by_update = True

    def default(self, document: Document) -> None:
        for subset in document.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")

    def validate(self, document: Document) -> Iterator[Cause]:
        for index, subset in enumerate(document.get("subsets") or ()):
            field = f"subsets[{index}]"
            if not subset.get("addresses") and not subset.get("notReadyAddresses"):
                yield required(field, "must specify `addresses` or `notReadyAddresses`")
            for name in ("addresses", "notReadyAddresses"):
                for number, address in enumerate(subset.get(name) or ()):
                    yield from _address(f"{field}.{name}[{number}]", address)
            ports = subset.get("ports") or ()
            for number, port in enumerate(ports):
                yield from _port(f"{field}.ports[{number}]", port, len(ports) > 1)


def _address(field: str, address: Document) -> Iterator[Cause]:
    ip = address.get("ip", "")
    yield from addresses.ip(f"{field}.ip", ip)
    if address.get("hostname"):
        yield from dns_label(f"{field}.hostname", address["hostname"])
    if "nodeName" in address:
        yield from dns_subdomain(f"{field}.nodeName", address["nodeName"])
    yield from addresses.endpoint_ip(f"{field}.ip", ip)


def _port(field: str, port: Document, needs_name: bool) -> Iterator[Cause]:
    if port.get("name"):
        yield from dns_label(f"{field}.name", port["name"])
    elif needs_name:
        yield required(f"{field}.name")
    yield from port_number(f"{field}.port", port.get("port", 0))
    yield from _protocol(field, port)


def _protocol(field: str, port: Document) -> Iterator[Cause]:
    protocol = port.get("protocol", "")
    if protocol not in PROTOCOLS:
        yield unsupported_value(f"{field}.protocol", protocol, PROTOCOLS)
    if "appProtocol" in port:
        yield from qualified_name(f"{field}.appProtocol", port["appProtocol"])


class EndpointSliceStrategy(Strategy):
    counts_generations = True

    def default(self, document: Document) -> None:
        for port in document.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def validate(self, document: Document) -> Iterator[Cause]:
        kind = document.get("addressType", "")
        if not kind:
            yield required("addressType")
        elif kind not in ADDRESS_TYPES:
            yield unsupported_value("addressType", kind, ADDRESS_TYPES)
        yield from _slice_ports(document.get("ports") or ())
        endpoints = document.get("endpoints") or ()
        if len(endpoints) > _MAX_ENDPOINTS:
            yield too_many("endpoints", len(endpoints), _MAX_ENDPOINTS)
            return
        for index, endpoint in enumerate(endpoints):
            yield from _endpoint(f"endpoints[{index}]", endpoint, kind)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return immutable("addressType", new.get("addressType", ""), old.get("addressType", ""))


def _slice_ports(ports: Sequence[Document]) -> Iterator[Cause]:
    if len(ports) > _MAX_PORTS:
        yield too_many("ports", len(ports), _MAX_PORTS)
        return
    names = set()
    for index, port in enumerate(ports):
        name = port.get("name", "")
        if name:
            yield from dns_label(f"ports[{index}].name", name)
        if name in names:
            yield duplicate_value(f"ports[{index}].name", name)
        names.add(name)
        yield from _protocol(f"ports[{index}]", port)


def _endpoint(field: str, endpoint: Document, kind: str) -> Iterator[Cause]:
    found = endpoint.get("addresses") or ()
    if not found:
        yield required(f"{field}.addresses", "must contain at least 1 address")
    elif len(found) > _MAX_ADDRESSES:
        yield too_many(f"{field}.addresses", len(found), _MAX_ADDRESSES)
    for index, address in enumerate(found):
        place = f"{field}.addresses[{index}]"
        if kind == "FQDN":
            yield from dns_subdomain(place, address.removesuffix("."))
        elif kind in ("IPv4", "IPv6"):
            yield from _typed_address(field, place, address, kind)
    if "nodeName" in endpoint:
        yield from dns_subdomain(f"{field}.nodeName", endpoint["nodeName"])
    topology = part(endpoint, "deprecatedTopology")
    if len(topology) > _MAX_TOPOLOGY_LABELS:
        yield too_many(f"{field}.deprecatedTopology", len(topology), _MAX_TOPOLOGY_LABELS)
    yield from labels(f"{field}.deprecatedTopology", topology)
    if "hostname" in endpoint:
        yield from dns_label(f"{field}.hostname", endpoint["hostname"])
    yield from _hints(f"{field}.hints", part(endpoint, "hints"))


def _typed_address(field: str, place: str, address: str, kind: str) -> Iterator[Cause]:
    problems = list(addresses.ip(place, address))
    if problems:
        yield from problems
        return
    if not isinstance(addresses.parse(address), IPv4Address if kind == "IPv4" else IPv6Address):
        yield invalid_value(f"{field}.addresses", address, f"must be an {kind} address")
    yield from addresses.endpoint_ip(place, address)


def _hints(field: str, hints: Document) -> Iterator[Cause]:
    for name in ("forZones", "forNodes"):
        found = hints.get(name) or ()
        if len(found) > _MAX_HINTS:
            yield too_many(f"{field}.{name}", len(found), _MAX_HINTS)
            return
        seen = set()
        for index, hint in enumerate(found):
            target, place = hint.get("name", ""), f"{field}.{name}[{index}].name"
            if target in seen:
                yield duplicate_value(place, target)
            seen.add(target)
            if name == "forZones":
                yield from broken(place, target, label_value_problems(target))
            else:
                yield from dns_subdomain(place, target)
