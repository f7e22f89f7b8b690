"""The parts of a pod that its containers can be told about themselves."""

from __future__ import annotations

import re

from moorage.api import quantities
from moorage.cluster.base.store import Document

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


class Unavailable(Exception):
    """Something a pod needs is not there; the text says what, as a kubelet does."""


def field_value(pod: Document, path: str) -> str:
    """`metadata.name`, `metadata.labels['app']`, `spec.nodeName`, `status.podIP` and their like."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    part = _SUBSCRIPT.fullmatch(path)
    if part:
        return str((metadata.get(part[1]) or {}).get(part[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        values = metadata.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f"{name}={_quoted(value)}" for name, value in sorted(values.items()))
    if path in ("status.podIPs", "status.hostIPs"):
        return ",".join(each.get("ip", "") for each in status.get(path.removeprefix("status.")) or ())
    places = {
        "metadata.name": metadata.get("name"),
        "metadata.namespace": metadata.get("namespace"),
        "metadata.uid": metadata.get("uid"),
        "spec.nodeName": spec.get("nodeName"),
        "spec.serviceAccountName": spec.get("serviceAccountName"),
        "status.hostIP": status.get("hostIP"),
        "status.podIP": status.get("podIP"),
    }
    if path not in places:
        raise Unavailable(f"unsupported fieldPath: {path}")
    return str(places[path] or "")


def resource_value(container: Document, node: Document, resource: str, divisor: str) -> str:
    """`limits.cpu` or `requests.memory` of a container; a limit that is not set is what the node has."""
    kind, _, name = resource.partition(".")
    amounts = (container.get("resources") or {}).get(kind) or {}
    amount = amounts.get(name)
    if amount is None:
        amount = ((node.get("status") or {}).get("allocatable") or {}).get(name) if kind == "limits" else "0"
    try:
        whole = quantities.parse(amount or "0")
        unit = quantities.parse(divisor or "1") or quantities.parse("1")
    except quantities.QuantityError as error:
        raise Unavailable(str(error)) from None
    return str(-(-whole // unit))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
