"""What the cluster itself consists of: nodes, namespaces, leases, priorities."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.columns import (
    AGE,
    BOOLEAN,
    INTEGER,
    NAME,
    Column,
    Columns,
    age_of,
    name_of,
    texts_of,
    wide,
)
from moorage.cluster.serving.tables.formatting import NONE, UNKNOWN
from moorage.cluster.serving.tables.parts import flag, number, part, records, text

_ROLE = "node-role.kubernetes.io/"
_ONLY_ROLE = "kubernetes.io/role"


def _node(node: Document, now: float) -> list[Any]:
    info = part(node, "status", "nodeInfo")
    kernel = text(info, "kernelVersion") or UNKNOWN
    if architecture := text(info, "architecture"):
        kernel = f"{kernel} ({architecture})"
    return [
        name_of(node),
        _readiness(node),
        ",".join(_roles(node)) or NONE,
        age_of(node, now),
        text(info, "kubeletVersion"),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        text(info, "osImage") or UNKNOWN,
        kernel,
        text(info, "containerRuntimeVersion") or UNKNOWN,
    ]


def _readiness(node: Document) -> str:
    ready = "Unknown"
    for condition in records(node, "status", "conditions"):
        if condition.get("type") == "Ready":
            ready = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{ready},SchedulingDisabled" if flag(node, "spec", "unschedulable") else ready


def _roles(node: Document) -> list[str]:
    roles = set()
    for key, label in part(node, "metadata", "labels").items():
        if key.startswith(_ROLE):
            roles.add(key.removeprefix(_ROLE))
        elif key == _ONLY_ROLE and isinstance(label, str):
            roles.add(label)
    return sorted(roles - {""})


def _address(node: Document, type_: str) -> str:
    for address in records(node, "status", "addresses"):
        if address.get("type") == type_:
            return text(address, "address")
    return NONE


def _namespace(namespace: Document, now: float) -> list[Any]:
    return [name_of(namespace), text(namespace, "status", "phase"), age_of(namespace, now)]


def _lease(lease: Document, now: float) -> list[Any]:
    return [name_of(lease), text(lease, "spec", "holderIdentity"), age_of(lease, now)]


def _priority_class(priority_class: Document, now: float) -> list[Any]:
    return [
        name_of(priority_class),
        number(priority_class, "value"),
        flag(priority_class, "globalDefault"),
        age_of(priority_class, now),
        text(priority_class, "preemptionPolicy"),
    ]


def _runtime_class(runtime_class: Document, now: float) -> list[Any]:
    return [name_of(runtime_class), text(runtime_class, "handler"), age_of(runtime_class, now)]


NODES = Columns(
    (
        NAME,
        *texts_of("Status", "Roles"),
        AGE,
        Column("Version"),
        *wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ),
    _node,
)
NAMESPACES = Columns((NAME, Column("Status"), AGE), _namespace)
LEASES = Columns((NAME, Column("Holder"), AGE), _lease)
PRIORITY_CLASSES = Columns(
    (NAME, Column("Value", INTEGER), Column("Global-Default", BOOLEAN), AGE, Column("PreemptionPolicy")),
    _priority_class,
)
RUNTIME_CLASSES = Columns((NAME, Column("Handler"), AGE), _runtime_class)
