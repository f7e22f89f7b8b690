"""Services: defaults, and what an update keeps. Their addresses are given out by `service_allocation`."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, own_part, part
from moorage.cluster.kinds.service_changes import load_balancer_status, service_changes
from moorage.cluster.kinds.service_rules import is_headless, service_rules

WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")
WITH_NODE_PORTS = ("NodePort", "LoadBalancer")

_SESSION_SECONDS = 10800


class ServiceStrategy(WithStatus):
    created_by_update = True

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"loadBalancer": {}}

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        kind = spec.setdefault("type", "ClusterIP")
        affinity = spec.setdefault("sessionAffinity", "None")
        if affinity == "None":
            spec.pop("sessionAffinityConfig", None)
        elif affinity == "ClientIP":
            seconds = part(part(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds")
            if seconds is None:
                spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _SESSION_SECONDS}}
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
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

    def validate(self, document: Document) -> Iterator[Cause]:
        return service_rules(document)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return service_changes(part(new, "spec"), part(old, "spec"))

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return load_balancer_status(new, old)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        spec = part(document, "spec")
        return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}

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
