"""Names of resources and the classes they fall into."""

from __future__ import annotations

from functools import lru_cache

from moorage.api.names import is_qualified_name

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

BASIC = (CPU, MEMORY, EPHEMERAL_STORAGE)
COUNTED = (
    PODS,
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
"""Resources that are objects, and so come whole."""


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith("requests.") and is_qualified_name(f"requests.{name}")


@lru_cache(maxsize=4096)
def is_scalar(name: str) -> bool:
    """Resources other than cpu, memory, ephemeral storage and pods that a scheduler counts."""
    return (
        is_extended(name)
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in name
    )
