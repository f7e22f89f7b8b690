"""The rules a Service must keep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.fields import (
    PROTOCOLS,
    dns_label,
    dns_subdomain,
    labels,
    port_number,
    port_number_or_name,
    qualified_name,
)

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
FAMILIES = ("IPv4", "IPv6")
FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")

_ONE_DAY = 86400
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_FOR_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"


def is_headless(spec: Document) -> bool:
    return spec.get("clusterIPs") == ["None"]


def service_rules(document: Document) -> Iterator[Cause]:
    spec = part(document, "spec")
    kind = spec.get("type", "")
    yield from _type_rules(spec, kind)
    yield from _port_rules(spec.get("ports") or (), kind)
    yield from labels("spec.selector", part(spec, "selector"))
    yield from _affinity_rules(spec)
    yield from address_rules(spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{index}]"
        problems = list(addresses.ip(field, address))
        yield from problems or addresses.endpoint_ip(field, address)
    if kind not in TYPES:
        yield unsupported_value("spec.type", kind, TYPES)
    yield from _repeated_ports(spec.get("ports") or (), kind)
    yield from _load_balancer_rules(document, spec, kind)
    yield from _traffic_rules(spec, kind)


def _type_rules(spec: Document, kind: str) -> Iterator[Cause]:
    headless = is_headless(spec)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if headless and kind in ("LoadBalancer", "NodePort"):
        yield invalid_value("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                yield forbidden_value(f"spec.{name}", "may not be set for ExternalName services")
        target = spec.get("externalName", "").removesuffix(".")
        if target:
            yield from dns_subdomain("spec.externalName", target)
        else:
            yield required("spec.externalName")


def _port_rules(ports: Sequence[Document], kind: str) -> Iterator[Cause]:
    names = set()
    for index, port in enumerate(ports):
        field = f"spec.ports[{index}]"
        name = port.get("name", "")
        if name:
            yield from dns_label(f"{field}.name", name)
            if name in names:
                yield duplicate_value(f"{field}.name", name)
            names.add(name)
        elif len(ports) > 1:
            yield required(f"{field}.name")
        yield from port_number(f"{field}.port", port.get("port", 0))
        protocol = port.get("protocol", "")
        if protocol not in PROTOCOLS:
            yield unsupported_value(f"{field}.protocol", protocol, PROTOCOLS)
        yield from port_number_or_name(f"{field}.targetPort", port.get("targetPort", 0))
        if "appProtocol" in port:
            yield from qualified_name(f"{field}.appProtocol", port["appProtocol"])


def _repeated_ports(ports: Sequence[Document], kind: str) -> Iterator[Cause]:
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield forbidden_value(
                    f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'"
                )
    seen = set()
    for index, port in enumerate(ports):
        outside = (port.get("protocol"), port.get("nodePort"))
        if outside[1] and outside in seen:
            yield duplicate_value(f"spec.ports[{index}].nodePort", outside[1])
        seen.add(outside)
    seen.clear()
    for index, port in enumerate(ports):
        inside = (port.get("protocol"), port.get("port", 0))
        if inside in seen:
            whole = {
                "Name": "",
                "Protocol": inside[0],
                "AppProtocol": None,
                "Port": inside[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate_value(f"spec.ports[{index}]", whole)
        seen.add(inside)


def _affinity_rules(spec: Document) -> Iterator[Cause]:
    affinity = spec.get("sessionAffinity", "")
    field = "spec.sessionAffinityConfig"
    if affinity == "ClientIP":
        seconds = part(part(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds", 0)
        if not 0 < seconds <= _ONE_DAY:
            text = f"must be greater than 0 and less than {_ONE_DAY}"
            yield invalid_value(f"{field}.clientIP.timeoutSeconds", seconds, text)
    elif affinity == "None":
        if "sessionAffinityConfig" in spec:
            yield forbidden_value(field, "must not be set when session affinity is None")
    else:
        yield unsupported_value("spec.sessionAffinity", affinity, ("ClientIP", "None"))


def address_rules(spec: Document) -> Iterator[Cause]:
    """Those of clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy together."""
    if spec.get("type") == "ExternalName":
        return
    first, every = spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    families: list[str] = spec.get("ipFamilies") or []
    field = "spec.clusterIPs"
    if first and not every:
        yield required(field)
    elif first and every[0] != first:
        yield invalid_value(field, every, "first value must match `clusterIP`")
    elif every and not first:
        yield invalid_value(field, every, "must be empty when `clusterIP` is not specified")
    for index, family in enumerate(families):
        if family not in FAMILIES:
            yield unsupported_value(f"spec.ipFamilies[{index}]", family, FAMILIES)
        if family in families[:index]:
            yield duplicate_value(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in FAMILY_POLICIES:
        yield unsupported_value("spec.ipFamilyPolicy", policy, FAMILY_POLICIES)
    problems: list[Cause] = []
    for index, address in enumerate(every):
        if index == 0 and address == "None":
            if len(every) > 1:
                problems.append(invalid_value(field, every, "'None' must be the first and only value"))
            continue
        problems += addresses.ip(f"{field}[{index}]", address)
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


def _load_balancer_rules(document: Document, spec: Document, kind: str) -> Iterator[Cause]:
    balanced = kind == "LoadBalancer"
    ranges = spec.get("loadBalancerSourceRanges")
    annotations = document["metadata"].get("annotations") or {}
    if ranges:
        field = "spec.LoadBalancerSourceRanges"
        if not balanced:
            yield forbidden_value(field, _FOR_LOAD_BALANCERS)
        for index, value in enumerate(ranges):
            yield from addresses.cidr(f"{field}[{index}]", value.strip())
    elif _SOURCE_RANGES in annotations:
        field = f"metadata.annotations[{_SOURCE_RANGES}]"
        if not balanced:
            yield forbidden_value(field, _FOR_LOAD_BALANCERS)
        if annotations[_SOURCE_RANGES].strip():
            for value in annotations[_SOURCE_RANGES].split(","):
                yield from addresses.cidr(field, value.strip())
    if "allocateLoadBalancerNodePorts" in spec and not balanced:
        yield forbidden_value("spec.allocateLoadBalancerNodePorts", _FOR_LOAD_BALANCERS)
    if "loadBalancerClass" in spec:
        field = "spec.loadBalancerClass"
        if balanced:
            yield from qualified_name(field, spec["loadBalancerClass"])
        else:
            yield forbidden_value(field, _FOR_LOAD_BALANCERS)


def _traffic_rules(spec: Document, kind: str) -> Iterator[Cause]:
    outside = spec.get("externalTrafficPolicy", "")
    accessible = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if not accessible:
        if outside:
            text = "may only be set for externally-accessible services"
            yield invalid_value("spec.externalTrafficPolicy", outside, text)
    elif outside not in ("Cluster", "Local"):
        yield unsupported_value("spec.externalTrafficPolicy", outside, ("Cluster", "Local"))
    health = spec.get("healthCheckNodePort", 0)
    if kind != "LoadBalancer" or outside != "Local":
        if health:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield invalid_value("spec.healthCheckNodePort", health, text)
    elif not health:
        yield required("spec.healthCheckNodePort")
    else:
        yield from port_number("spec.healthCheckNodePort", health)
    inside = spec.get("internalTrafficPolicy")
    if inside is not None and inside not in ("Cluster", "Local"):
        yield unsupported_value("spec.internalTrafficPolicy", inside, ("Cluster", "Local"))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in DISTRIBUTIONS:
        yield unsupported_value("spec.trafficDistribution", distribution, DISTRIBUTIONS)
