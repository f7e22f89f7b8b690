"""Names of resources and the classes they fall into."""

from __future__ import annotations

import re
from functools import lru_cache

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

BASIC = (CPU, MEMORY, EPHEMERAL_STORAGE)

_NAME_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*", re.ASCII)


@lru_cache(maxsize=4096)
def is_qualified_name(name: str) -> bool:
    """`name` or `dns.sub.domain/name`, as labels and resources are called."""
    prefix, slash, rest = name.rpartition("/")
    if slash and not (0 < len(prefix) <= 253 and _DNS_SUBDOMAIN.fullmatch(prefix)):
        return False
    return _NAME_PART.fullmatch(rest) is not None


def is_label_value(text: str) -> bool:
    return text == "" or _NAME_PART.fullmatch(text) is not None


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
