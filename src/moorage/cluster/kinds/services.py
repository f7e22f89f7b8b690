"""Services: defaults, what relates their fields, and what may change.

Their addresses are given out by `service_allocation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import WithStatus, own_part, part
from moorage.cluster.schema.checking import Around, check, check_form, relates

WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")
WITH_NODE_PORTS = ("NodePort", "LoadBalancer")
FAMILIES = ("IPv4", "IPv6")
FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")

_SESSION_SECONDS = 10800
_ONE_DAY = 86400
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_FOR_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_ONCE_SET = "may not change once set"


class ServiceStrategy(WithStatus):
    type_name = "core.v1.Service"

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"loadBalancer": {}}

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        super().default(document)
        kind, affinity = spec["type"], spec["sessionAffinity"]
        if affinity == "None":
            spec.pop("sessionAffinityConfig", None)
        elif affinity == "ClientIP":
            seconds = part(part(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds")
            if seconds is None:
                spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _SESSION_SECONDS}}
        for port in spec.get("ports") or ():
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if is_externally_accessible(spec):
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind in WITH_ADDRESS:
            spec.setdefault("internalTrafficPolicy", "Cluster")
        elif kind == "ExternalName":
            spec.pop("internalTrafficPolicy", None)
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
            for ingress in part(part(document, "status"), "loadBalancer").get("ingress") or ():
                if ingress.get("ip"):
                    ingress.setdefault("ipMode", "VIP")

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        after, before = own_part(new, "spec"), part(old, "spec")
        _drop_what_the_type_had(after, before)
        if after.get("type") != "LoadBalancer":
            new["status"] = {**part(new, "status"), "loadBalancer": {}}

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "spec"), part(old, "spec")
        if "ExternalName" not in (after.get("type"), before.get("type")):
            yield from _address_changes(after, before)
        if after.get("type") == before.get("type") == "LoadBalancer":
            chosen = after.get("loadBalancerClass")
            if chosen != before.get("loadBalancerClass"):
                yield invalid_value("spec.loadBalancerClass", chosen, _ONCE_SET)
            checked = needs_health_check(after) and needs_health_check(before)
            if checked and after.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
                yield forbidden_value("spec.healthCheckNodePort", "field is immutable")

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        balanced = part(part(new, "status"), "loadBalancer")
        if balanced.get("ingress") and part(new, "spec").get("type") != "LoadBalancer":
            text = "may only be used when `spec.type` is 'LoadBalancer'"
            return [forbidden_value("status.loadBalancer.ingress", text)]
        return check("core.v1.LoadBalancerStatus", balanced, "status.loadBalancer")

    def warnings(self, document: Document) -> list[str]:
        spec = part(document, "spec")
        headless, named = is_headless(spec), spec.get("type") == "ExternalName"
        outside, close = spec.get("externalIPs"), spec.get("trafficDistribution") == "PreferClose"
        told = {
            "loadBalancerIP is ignored for headless services": headless and spec.get("loadBalancerIP"),
            "externalIPs is ignored for headless services": headless and outside,
            "SessionAffinity is ignored for headless services": (
                headless and spec.get("sessionAffinity") != "None"
            ),
            "externalIPs is deprecated and may no longer be implemented in some clusters": (
                outside and not headless and not named
            ),
            'externalIPs is ignored when spec.type is "ExternalName"': named and outside,
            'externalName is ignored when spec.type is not "ExternalName"': (
                spec.get("externalName") and not named
            ),
            'trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"': close,
        }
        return [f"spec.{text}" for text, holds in told.items() if holds]


def is_externally_accessible(spec: Document) -> bool:
    kind = spec.get("type")
    return kind in WITH_NODE_PORTS or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Document) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def node_ports(spec: Document) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}


def _drop_what_the_type_had(after: Document, before: Document) -> None:
    """A change of the type need not name what only the old type had."""
    if before.get("type") != "ExternalName" and after.get("type") == "ExternalName":
        if all(before.get(name) == after.get(name) for name in ("clusterIP", "clusterIPs")):
            after.pop("clusterIP", None)
            after.pop("clusterIPs", None)
        for name in ("ipFamilies", "ipFamilyPolicy"):
            if before.get(name) == after.get(name):
                after.pop(name, None)
    if (
        before.get("type") in WITH_NODE_PORTS
        and after.get("type") not in WITH_NODE_PORTS
        and node_ports(before) >= node_ports(after)
    ):
        for port in after.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(after):
        _drop_same(after, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" != after.get("type"):
        _drop_same(after, before, "allocateLoadBalancerNodePorts")
        _drop_same(after, before, "loadBalancerClass")
    if is_externally_accessible(before) and not is_externally_accessible(after):
        _drop_same(after, before, "externalTrafficPolicy")


def _drop_same(after: Document, before: Document, name: str) -> None:
    if after.get(name) == before.get(name):
        after.pop(name, None)


# What relates the fields


def is_headless(spec: Document) -> bool:
    return spec.get("clusterIPs") == ["None"]


@relates("core.v1.ServiceSpec")
def _kind(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, headless = spec.get("type", ""), is_headless(spec)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield errors.required("spec.ports")
    if headless and kind in ("LoadBalancer", "NodePort"):
        yield invalid_value("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield forbidden_value(f"spec.{name}", "may not be set for ExternalName services")
        target = spec.get("externalName", "").removesuffix(".")
        if target:
            yield from check_form("dns-subdomain", target, "spec.externalName")
        else:
            yield errors.required("spec.externalName")


@relates("core.v1.ServicePort")
def _port_name(port: Document, path: str, around: Around) -> Iterator[Cause]:
    ports = around["core.v1.ServiceSpec"]["ports"]
    name = port.get("name", "")
    first = next(each for each in ports if each.get("name", "") == name)
    if name and first is not port:
        yield errors.duplicate_value(f"{path}.name", name)
    if not name and len(ports) > 1:
        yield errors.required(f"{path}.name")


@relates("core.v1.ServiceSpec")
def _affinity(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    affinity = spec.get("sessionAffinity", "")
    field = f"{path}.sessionAffinityConfig"
    if affinity == "ClientIP":
        seconds = part(part(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds", 0)
        if not 0 < seconds <= _ONE_DAY:
            text = f"must be greater than 0 and less than {_ONE_DAY}"
            yield invalid_value(f"{field}.clientIP.timeoutSeconds", seconds, text)
    elif affinity == "None" and "sessionAffinityConfig" in spec:
        yield forbidden_value(field, "must not be set when session affinity is None")


@relates("core.v1.ServiceSpec")
def _addresses(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from address_rules(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        place = f"{path}.externalIPs[{index}]"
        yield from check_form("ip", address, place) or addresses.endpoint_ip(place, address)


@relates("core.v1.ServiceSpec")
def _repeated_ports(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    ports = spec.get("ports") or ()
    outside = [(port.get("protocol"), port.get("nodePort", 0)) for port in ports]
    inside = [(port.get("protocol"), port.get("port", 0)) for port in ports]
    for index, (_, number) in enumerate(outside):
        if number and spec.get("type") == "ClusterIP":
            text = "may not be used when `type` is 'ClusterIP'"
            yield forbidden_value(f"{path}.ports[{index}].nodePort", text)
    for index, (_, number) in enumerate(outside):
        if number and outside[index] in outside[:index]:
            yield errors.duplicate_value(f"{path}.ports[{index}].nodePort", number)
    for index, (protocol, number) in enumerate(inside):
        if inside[index] in inside[:index]:
            whole = {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number}
            yield errors.duplicate_value(f"{path}.ports[{index}]", whole | {"TargetPort": 0, "NodePort": 0})


def address_rules(spec: Document) -> Iterator[Cause]:
    """Those of clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy together."""
    if spec.get("type") == "ExternalName":
        return
    first, every = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families: list[str] = spec.get("ipFamilies") or []
    field = "spec.clusterIPs"
    if first and not every:
        yield errors.required(field)
    elif first and every[0] != first:
        yield invalid_value(field, every, "first value must match `clusterIP`")
    elif every and not first:
        yield invalid_value(field, every, "must be empty when `clusterIP` is not specified")
    for index, family in enumerate(families):
        if family not in FAMILIES:
            yield errors.unsupported_value(f"spec.ipFamilies[{index}]", family, FAMILIES)
        if family in families[:index]:
            yield errors.duplicate_value(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in FAMILY_POLICIES:
        yield errors.unsupported_value("spec.ipFamilyPolicy", policy, FAMILY_POLICIES)
    problems: list[Cause] = []
    for index, address in enumerate(every):
        if index == 0 and address == "None":
            if len(every) > 1:
                problems.append(invalid_value(field, every, "'None' must be the first and only value"))
            continue
        problems += check_form("ip", address, f"{field}[{index}]")
    yield from problems
    if len(every) > 2:
        yield invalid_value(field, every, "may only hold up to 2 values")
    if problems:
        return
    if len(every) > 1 and not addresses.is_dual_stack(every):
        yield invalid_value(field, every, "may specify no more than one IP for each IP family")
    if not is_headless(spec):
        for index, (address, family) in enumerate(zip(every, families, strict=False)):
            if family in FAMILIES and addresses.family(address) != family:
                text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
                yield invalid_value(f"{field}[{index}]", address, text)


@relates("core.v1.ServiceSpec")
def _load_balancer(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    balanced = spec.get("type") == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges")
    if ranges:
        field = "spec.LoadBalancerSourceRanges"
        if not balanced:
            yield forbidden_value(field, _FOR_LOAD_BALANCERS)
        for index, value in enumerate(ranges):
            yield from addresses.cidr(f"{field}[{index}]", value.strip())
    elif (said := part(around["core.v1.Service"]["metadata"], "annotations").get(_SOURCE_RANGES)) is not None:
        field = f"metadata.annotations[{_SOURCE_RANGES}]"
        if not balanced:
            yield forbidden_value(field, _FOR_LOAD_BALANCERS)
        for value in said.split(",") if said.strip() else ():
            yield from addresses.cidr(field, value.strip())
    if "allocateLoadBalancerNodePorts" in spec and not balanced:
        yield forbidden_value("spec.allocateLoadBalancerNodePorts", _FOR_LOAD_BALANCERS)
    if "loadBalancerClass" in spec:
        field = "spec.loadBalancerClass"
        if balanced:
            yield from check_form("qualified-name", spec["loadBalancerClass"], field)
        else:
            yield forbidden_value(field, _FOR_LOAD_BALANCERS)


@relates("core.v1.ServiceSpec")
def _traffic(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    outside = spec.get("externalTrafficPolicy", "")
    if not is_externally_accessible(spec):
        if outside:
            text = "may only be set for externally-accessible services"
            yield invalid_value("spec.externalTrafficPolicy", outside, text)
    elif outside not in ("Cluster", "Local"):
        yield errors.unsupported_value("spec.externalTrafficPolicy", outside, ("Cluster", "Local"))
    health = spec.get("healthCheckNodePort", 0)
    if not needs_health_check(spec):
        if health:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield invalid_value("spec.healthCheckNodePort", health, text)
    elif not health:
        yield errors.required("spec.healthCheckNodePort")
    else:
        yield from check_form("port-number", health, "spec.healthCheckNodePort")


# Changes


def _address_changes(after: Document, before: Document) -> Iterator[Cause]:
    """Addresses and their families stay; there is one of each in this cluster, at most."""
    if is_headless(after) and is_headless(before):
        return
    old, new = before.get("clusterIPs") or [], after.get("clusterIPs") or []
    for index, address in enumerate(old):
        if new[index : index + 1] != [address]:
            yield invalid_value(f"spec.clusterIPs[{index}]", new, _ONCE_SET)
    families = after.get("ipFamilies") or []
    if families != (before.get("ipFamilies") or []) and not is_headless(after) and not is_headless(before):
        yield invalid_value("spec.ipFamilies[0]", families, _ONCE_SET)


@relates("core.v1.LoadBalancerIngress")
def _ip_mode(point: Document, path: str, around: Around) -> Iterator[Cause]:
    if point.get("ip") and "ipMode" not in point:
        yield errors.required(f"{path}.ipMode", "must be specified when `ip` is set")
    elif "ipMode" in point and not point.get("ip"):
        yield forbidden_value(f"{path}.ipMode", "may not be specified when `ip` is not set")
