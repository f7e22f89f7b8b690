"""Cluster IPs and node ports for Services: the free ones are those no stored Service has."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from itertools import chain

from moorage.cluster.base.errors import Cause, Refusal, invalid, invalid_value
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.services import (
    WITH_NODE_PORTS,
    address_rules,
    is_headless,
    needs_health_check,
    node_ports,
)

CLUSTER_IPS = IPv4Network("10.96.0.0/16")
NODE_PORTS = range(30000, 32768)

_ASKED_FOR_IPS = 256  # the first ones are given out last, as they are the ones people ask for by name
_ASKED_FOR_PORTS = 86
_TAKEN_PORT = "provided port is already allocated"
_OUTSIDE_PORT = (
    f"provided port is not in the valid range. The range of valid ports is {NODE_PORTS[0]}-{NODE_PORTS[-1]}"
)


def allocate_service(document: Document, store: Store, old: Document | None = None) -> None:
    """Completes a Service with its addresses, families and node ports. Raises Refusal if it cannot."""
    spec = own_part(document, "spec")
    before = part(old, "spec") if old is not None else None
    if before is not None:
        _keep_what_was_given(spec, before)
    _normalize(spec, before)
    if spec.get("type") != "ExternalName":
        _set_families(document, spec, before)
        _set_cluster_ip(document, spec, before, store)
    taken = _Ports(store, document["metadata"])
    if spec.get("type") in WITH_NODE_PORTS:
        _set_node_ports(document, spec, node_ports(before) if before else set(), taken)
    if needs_health_check(spec) and not (before and needs_health_check(before)):
        _set_health_check_port(document, spec, taken)


def _keep_what_was_given(spec: Document, before: Document) -> None:
    """A client need not repeat in an update what the server chose."""
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = before["clusterIPs"]
    if _allocates_ports(spec) and _allocates_ports(before):
        kept = node_ports(before) & node_ports(spec)
        by_name = {port.get("name"): port.get("nodePort") for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            earlier = by_name.get(port.get("name"))
            if not port.get("nodePort") and earlier and earlier not in kept:
                port["nodePort"] = earlier
    if needs_health_check(spec) and needs_health_check(before) and before.get("healthCheckNodePort"):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])


def _normalize(spec: Document, before: Document | None) -> None:
    """clusterIP and clusterIPs say the same: whoever sets one of them need not know the other."""
    first, every = spec.get("clusterIP"), spec.get("clusterIPs")
    if before is None:
        if first and not every:
            spec["clusterIPs"] = [first]
        return
    if first == before.get("clusterIP"):
        if before.get("clusterIPs") and not every:
            spec["clusterIPs"] = before["clusterIPs"]
    elif first and every == before.get("clusterIPs"):
        spec["clusterIPs"] = [first]
    elif not first and every == before.get("clusterIPs"):
        spec.pop("clusterIPs", None)


def _set_families(document: Document, spec: Document, before: Document | None) -> None:
    headless, bare = is_headless(spec), not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = (before or {}).get("ipFamilyPolicy") or (
            "RequireDualStack" if headless and bare else "SingleStack"
        )
    _refuse(document, address_rules(spec))
    single = spec["ipFamilyPolicy"] == "SingleStack"
    every: list[str] = spec.get("clusterIPs") or []
    families: list[str] = list(spec.get("ipFamilies") or ())
    problems = []
    if single:
        for found, what in ((every, "cluster IPs"), (families, "IP families")):
            if len(found) == 2:
                text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                problems.append(invalid_value("spec.ipFamilyPolicy", "SingleStack", text))
    if not headless:
        for index, address in enumerate(every[len(families) :], len(families)):
            family = addresses.family(address)
            if family == "IPv4":
                families.append(family)
            else:
                text = f"{family} is not configured on this cluster"
                problems.append(invalid_value(f"spec.clusterIPs[{index}]", every, text))
    _refuse(document, problems)
    if headless and bare:
        families = families or ["IPv4"]
        if len(families) < 2 and not single:
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"] = families
        return
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        problems.append(invalid_value("spec.ipFamilyPolicy", "RequireDualStack", text))
    for index, family in enumerate(families):
        if family != "IPv4":
            text = "not configured on this cluster"
            problems.append(invalid_value(f"spec.ipFamilies[{index}]", family, text))
    _refuse(document, problems)
    spec["ipFamilies"] = families or ["IPv4"]


def _set_cluster_ip(document: Document, spec: Document, before: Document | None, store: Store) -> None:
    if is_headless(spec) or (before is not None and before.get("type") != "ExternalName"):
        return
    own = document["metadata"]
    taken = {
        address
        for stored in store.iterate("services")
        if before is None or not _is_same(stored.document["metadata"], own)
        for address in part(stored.document, "spec").get("clusterIPs") or ()
    }
    every: list[str] = spec.get("clusterIPs") or []
    if not every:
        address = _free_ip(taken)
        if address is None:
            text = f'failed to allocate a serviceIP for Service "{own.get("name", "")}": range is full'
            raise _internal(text)
        spec["clusterIP"], spec["clusterIPs"] = address, [address]
        return
    address = every[0]
    why = ""
    if address in taken:
        why = "provided IP is already allocated"
    elif IPv4Address(address) not in CLUSTER_IPS or address in (
        str(CLUSTER_IPS.network_address),
        str(CLUSTER_IPS.broadcast_address),
    ):
        why = "the provided network does not match the current range"
    if why:
        text = f"failed to allocate IP {address}: {why}"
        _refuse(document, [invalid_value("spec.clusterIPs", every, text)])


def _free_ip(taken: set[str]) -> str | None:
    size = CLUSTER_IPS.num_addresses
    for offset in chain(range(_ASKED_FOR_IPS + 1, size - 1), range(1, _ASKED_FOR_IPS + 1)):
        address = str(CLUSTER_IPS[offset])
        if address not in taken:
            return address
    return None


class _Ports:
    """The node ports that other Services have."""

    def __init__(self, store: Store, own: Document) -> None:
        self._store = store
        self._own = own
        self._taken: set[int] | None = None

    def take(self, port: int) -> str:
        """Why a port cannot be had, or nothing."""
        if port in self._all():
            return _TAKEN_PORT
        if port not in NODE_PORTS:
            return _OUTSIDE_PORT
        self._all().add(port)
        return ""

    def next(self) -> int:
        taken = self._all()
        for port in chain(NODE_PORTS[_ASKED_FOR_PORTS:], NODE_PORTS[:_ASKED_FOR_PORTS]):
            if port not in taken:
                taken.add(port)
                return port
        raise _internal("failed to allocate a nodePort: range is full")

    def _all(self) -> set[int]:
        if self._taken is None:
            self._taken = set()
            for stored in self._store.iterate("services"):
                if not _is_same(stored.document["metadata"], self._own):
                    spec = part(stored.document, "spec")
                    self._taken |= node_ports(spec)
                    if spec.get("healthCheckNodePort"):
                        self._taken.add(spec["healthCheckNodePort"])
        return self._taken


def _set_node_ports(document: Document, spec: Document, before: set[int], taken: _Ports) -> None:
    """Ports of the same number but of other protocols share a node port."""
    ports = spec.get("ports") or ()
    asked: dict[int, int] = {}
    for port in ports:
        if port.get("nodePort"):
            asked.setdefault(port.get("port", 0), port["nodePort"])
    given: dict[int, int] = {}
    for index, port in enumerate(ports):
        inside = port.get("port", 0)
        number = port.get("nodePort") or given.get(inside) or asked.get(inside)
        if not port.get("nodePort") and not _allocates_ports(spec):
            continue
        if not number:
            number = taken.next()
        elif number not in before and given.get(inside) != number:
            why = taken.take(number)
            if why:
                _refuse(document, [invalid_value(f"spec.ports[{index}].nodePort", number, why)])
        port["nodePort"] = given[inside] = number


def _set_health_check_port(document: Document, spec: Document, taken: _Ports) -> None:
    asked = spec.get("healthCheckNodePort")
    if not asked:
        spec["healthCheckNodePort"] = taken.next()
        return
    why = taken.take(asked)
    if why:
        # The original answers 500 here; a wrong request is not the server's fault.
        text = f"failed to allocate requested HealthCheck NodePort {asked}: {why}"
        _refuse(document, [invalid_value("spec.healthCheckNodePort", asked, text)])


def _allocates_ports(spec: Document) -> bool:
    kind = spec.get("type")
    return kind == "NodePort" or (
        kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    )


def _is_same(metadata: Document, own: Document) -> bool:
    return metadata.get("name") == own.get("name") and metadata.get("namespace") == own.get("namespace")


def _refuse(document: Document, causes: Iterable[Cause]) -> None:
    found = list(causes)
    if found:
        raise invalid("Service", "", document["metadata"].get("name", ""), found)


def _internal(text: str) -> Refusal:
    return Refusal(
        500, "InternalError", f"Internal error occurred: {text}", details={"causes": [{"message": text}]}
    )
