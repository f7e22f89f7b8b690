"""Endpoints and EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import KindStrategy
from moorage.cluster.schema.checking import Around, check_form, relates


class EndpointsStrategy(KindStrategy):
    type_name = "core.v1.Endpoints"
    deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


@relates("core.v1.EndpointSubset")
def _subset(subset: Document, path: str, around: Around) -> Iterator[Cause]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield errors.required(path, "must specify `addresses` or `notReadyAddresses`")
    ports = subset.get("ports") or ()
    for index, port in enumerate(ports):
        if len(ports) > 1 and not port.get("name"):
            yield errors.required(f"{path}.ports[{index}].name")


@relates("core.v1.EndpointAddress")
def _reachable(address: Document, path: str, around: Around) -> Iterator[Cause]:
    return addresses.endpoint_ip(f"{path}.ip", address.get("ip", ""))


@relates("discovery.v1.Endpoint")
def _addresses(endpoint: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = around["discovery.v1.EndpointSlice"].get("addressType", "")
    for index, address in enumerate(endpoint.get("addresses") or ()):
        place = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            yield from check_form("dns-subdomain", address.removesuffix("."), place)
        elif kind in ("IPv4", "IPv6"):
            problems = check_form("ip", address, place)
            yield from problems
            if not problems and addresses.version(address) != kind:
                yield errors.invalid_value(f"{path}.addresses", address, f"must be an {kind} address")
            if not problems:
                yield from addresses.endpoint_ip(place, address)
