"""The computed cells of Ingresses, their classes, and the addresses of Services."""

from __future__ import annotations

from moorage.cluster.base.parts import part, records, size, text, value
from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.pods import NONE

_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"
_SHOWN_HOSTS = 3


def ingress(ingress: Document, now: float) -> Document:
    points = records(ingress, "status", "loadBalancer", "ingress")
    found = {text(point, "ip") or text(point, "hostname") for point in points} - {""}
    return {
        "Hosts": _hosts(records(ingress, "spec", "rules")),
        "Address": ",".join(sorted(found)),
        "Ports": "80, 443" if size(ingress, "spec", "tls") else "80",
    }


def _hosts(rules: list[Document]) -> str:
    """The first three, and how many rules there are more."""
    found: list[str] = []
    for rule in rules:
        if len(found) == _SHOWN_HOSTS:
            return f"{','.join(found)} + {len(rules) - _SHOWN_HOSTS} more..."
        found += filter(None, [text(rule, "host")])
    return ",".join(found) or "*"


def ingress_class(ingress_class: Document, now: float) -> Document:
    name, reference = text(ingress_class, "metadata", "name"), part(ingress_class, "spec", "parameters")
    is_default = text(ingress_class, "metadata", "annotations", _DEFAULT_CLASS) == "true"
    kind = ".".join(filter(None, (text(reference, "kind"), text(reference, "apiGroup"))))
    return {
        "Name": f"{name} (default)" if is_default else name,
        "Parameters": f"{kind}/{text(reference, 'name')}" if reference else NONE,
    }


def ip_address(address: Document, now: float) -> Document:
    if value(address, "spec", "parentRef") is None:
        return {"ParentRef": NONE}
    parent = part(address, "spec", "parentRef")
    kind = ".".join(filter(None, (text(parent, "resource"), text(parent, "group")))).lower()
    return {
        "ParentRef": "/".join(filter(None, (kind, text(parent, "namespace"), text(parent, "name")))),
    }
