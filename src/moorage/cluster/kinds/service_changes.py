"""What may change about a Service, and what its status may say."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.fields import dns_subdomain
from moorage.cluster.kinds.service_rules import is_headless

_ONCE_SET = "may not change once set"


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
            yield from addresses.ip(f"{place}.ip", point["ip"])
            if "ipMode" not in point:
                yield required(f"{place}.ipMode", "must be specified when `ip` is set")
        elif "ipMode" in point:
            yield forbidden_value(f"{place}.ipMode", "may not be specified when `ip` is not set")
        if point.get("ip") and point.get("ipMode", "VIP") not in ("Proxy", "VIP"):
            yield unsupported_value(f"{place}.ipMode", point["ipMode"], ("Proxy", "VIP"))
        if point.get("hostname"):
            yield from dns_subdomain(f"{place}.hostname", point["hostname"])
            if addresses.parse(point["hostname"]) is not None:
                text = "must be a DNS name, not an IP address"
                yield invalid_value(f"{place}.hostname", point["hostname"], text)
