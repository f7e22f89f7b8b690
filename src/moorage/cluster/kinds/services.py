"""Services: defaults, what relates their fields, and what may change.

Their addresses are given out by `service_allocation`.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import WithStatus, own_part, part
from moorage.cluster.schema.checking import Around, check_form, relates

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
        return service_changes(part(new, "spec"), part(old, "spec"))

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return load_balancer_status(new, old)

    def warnings(self, document: Document) -> list[str]:
        spec = part(document, "spec")
        kind, outside = spec.get("type"), spec.get("externalIPs")
        headless = is_headless(spec)
        found = []
        if headless:
            if spec.get("loadBalancerIP"):
                found.append("spec.loadBalancerIP is ignored for headless services")
            if outside:
                found.append("spec.externalIPs is ignored for headless services")
            if spec.get("sessionAffinity") != "None":
                found.append("spec.SessionAffinity is ignored for headless services")
        elif outside and kind != "ExternalName":
            found.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
        if kind == "ExternalName" and outside:
            found.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
        if kind != "ExternalName" and spec.get("externalName"):
            found.append('spec.externalName is ignored when spec.type is not "ExternalName"')
        if spec.get("trafficDistribution") == "PreferClose":
            found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
        return found


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
    annotations = around["core.v1.Service"]["metadata"].get("annotations") or {}
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
            yield from check_form("qualified-name", spec["loadBalancerClass"], field)
        else:
            yield forbidden_value(field, _FOR_LOAD_BALANCERS)


@relates("core.v1.ServiceSpec")
def _traffic(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = spec.get("type", "")
    outside = spec.get("externalTrafficPolicy", "")
    accessible = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if not accessible:
        if outside:
            text = "may only be set for externally-accessible services"
            yield invalid_value("spec.externalTrafficPolicy", outside, text)
    elif outside not in ("Cluster", "Local"):
        yield errors.unsupported_value("spec.externalTrafficPolicy", outside, ("Cluster", "Local"))
    health = spec.get("healthCheckNodePort", 0)
    if kind != "LoadBalancer" or outside != "Local":
        if health:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            yield invalid_value("spec.healthCheckNodePort", health, text)
    elif not health:
        yield errors.required("spec.healthCheckNodePort")
    else:
        yield from check_form("port-number", health, "spec.healthCheckNodePort")


# Changes


def service_changes(after: Document, before: Document) -> Iterator[Cause]:
    if "ExternalName" not in (after.get("type"), before.get("type")):
        yield from _address_changes(after, before)
        yield from _family_changes(after, before)
    if after.get("type") == before.get("type") == "LoadBalancer":
        chosen = after.get("loadBalancerClass")
        if chosen != before.get("loadBalancerClass"):
            yield invalid_value("spec.loadBalancerClass", chosen, _ONCE_SET)
        local = after.get("externalTrafficPolicy") == before.get("externalTrafficPolicy") == "Local"
        if local and after.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
            yield forbidden_value("spec.healthCheckNodePort", "field is immutable")


def _address_changes(after: Document, before: Document) -> Iterator[Cause]:
    if is_headless(after) and is_headless(before):
        return
    old, new = before.get("clusterIPs") or [], after.get("clusterIPs") or []
    if len(old) == len(new):
        for index, address in enumerate(old):
            if new[index] != address:
                yield invalid_value(f"spec.clusterIPs[{index}]", new, _ONCE_SET)
        return
    if old and not new:
        yield invalid_value("spec.clusterIPs[0]", new, "primary clusterIP can not be unset")
    elif old and new[0] != old[0]:
        yield invalid_value("spec.clusterIPs[0]", new, _ONCE_SET)
    if len(old) > len(new) == 1 and after.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid_value("spec.ipFamilyPolicy", after.get("ipFamilyPolicy"), text)


def _family_changes(after: Document, before: Document) -> Iterator[Cause]:
    if is_headless(after) or is_headless(before):
        return
    old, new = before.get("ipFamilies") or [], after.get("ipFamilies") or []
    if len(old) == len(new):
        if old != new:
            yield invalid_value("spec.ipFamilies[0]", new, _ONCE_SET)
        return
    if old and new and new[0] != old[0]:
        yield invalid_value("spec.ipFamilies[0]", after.get("clusterIPs"), _ONCE_SET)
    if len(old) > len(new) == 1 and after.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        yield invalid_value("spec.ipFamilyPolicy", after.get("ipFamilyPolicy"), text)


def load_balancer_status(new: Document, old: Document) -> Iterator[Cause]:
    ingress = part(part(new, "status"), "loadBalancer").get("ingress") or ()
    field = "status.loadBalancer.ingress"
    if ingress and part(new, "spec").get("type") != "LoadBalancer":
        yield forbidden_value(field, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for index, point in enumerate(ingress):
        place = f"{field}[{index}]"
        if point.get("ip"):
            yield from check_form("ip", point["ip"], f"{place}.ip")
            if "ipMode" not in point:
                yield errors.required(f"{place}.ipMode", "must be specified when `ip` is set")
        elif "ipMode" in point:
            yield forbidden_value(f"{place}.ipMode", "may not be specified when `ip` is not set")
        if point.get("ip") and point.get("ipMode", "VIP") not in ("Proxy", "VIP"):
            yield errors.unsupported_value(f"{place}.ipMode", point["ipMode"], ("Proxy", "VIP"))
        if point.get("hostname"):
            yield from check_form("dns-subdomain", point["hostname"], f"{place}.hostname")
            if addresses.parse(point["hostname"]) is not None:
                text = "must be a DNS name, not an IP address"
                yield invalid_value(f"{place}.hostname", point["hostname"], text)
