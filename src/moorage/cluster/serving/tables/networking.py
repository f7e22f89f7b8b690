"""Services and the addresses behind them."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.columns import AGE, NAME, Columns, age_of, name_of, texts_of, wide
from moorage.cluster.serving.tables.formatting import NONE, UNKNOWN, UNSET, labels, some_of
from moorage.cluster.serving.tables.parts import number, records, text, texts, value


def _service(service: Document, now: float) -> list[Any]:
    addresses = texts(service, "spec", "clusterIPs")
    return [
        name_of(service),
        text(service, "spec", "type"),
        addresses[0] if addresses else NONE,
        _external_address(service),
        ",".join(_service_port(port) for port in records(service, "spec", "ports")) or NONE,
        age_of(service, now),
        labels(service, "spec", "selector"),
    ]


def _external_address(service: Document) -> str:
    type_ = text(service, "spec", "type")
    external = texts(service, "spec", "externalIPs")
    if type_ in ("ClusterIP", "NodePort"):
        return ",".join(external) or NONE
    if type_ == "LoadBalancer":
        balancers = {
            text(ingress, "ip") or text(ingress, "hostname")
            for ingress in records(service, "status", "loadBalancer", "ingress")
        }
        return ",".join([*sorted(balancers - {""}), *external]) or "<pending>"
    return text(service, "spec", "externalName") if type_ == "ExternalName" else UNKNOWN


def _service_port(port: Document) -> str:
    node_port = number(port, "nodePort")
    outside = f":{node_port}" if node_port > 0 else ""
    return f"{number(port, 'port')}{outside}/{text(port, 'protocol')}"


def _endpoints(endpoints: Document, now: float) -> list[Any]:
    subsets = records(endpoints, "subsets")
    found: list[str] = []
    for subset in subsets:
        addresses = [text(address, "ip") for address in records(subset, "addresses")]
        ports = records(subset, "ports")
        if not ports:
            found += addresses
        for port in ports:
            found += [_host_and_port(address, number(port, "port")) for address in addresses]
    return [name_of(endpoints), some_of(found) if subsets else NONE, age_of(endpoints, now)]


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _endpoint_slice(endpoint_slice: Document, now: float) -> list[Any]:
    addresses = [
        address
        for endpoint in records(endpoint_slice, "endpoints")
        for address in texts(endpoint, "addresses")
    ]
    return [
        name_of(endpoint_slice),
        text(endpoint_slice, "addressType"),
        some_of([_slice_port(port) for port in records(endpoint_slice, "ports")]) or UNSET,
        some_of(addresses) or UNSET,
        age_of(endpoint_slice, now),
    ]


def _slice_port(port: Document) -> str:
    if value(port, "port") is not None:
        return str(number(port, "port"))
    return text(port, "name", absent="*")


SERVICES = Columns(
    (NAME, *texts_of("Type", "Cluster-IP", "External-IP", "Port(s)"), AGE, *wide("Selector")), _service
)
ENDPOINTS = Columns((NAME, *texts_of("Endpoints"), AGE), _endpoints)
ENDPOINT_SLICES = Columns((NAME, *texts_of("AddressType", "Ports", "Endpoints"), AGE), _endpoint_slice)
