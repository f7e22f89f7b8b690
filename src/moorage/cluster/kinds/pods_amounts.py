"""Requests and limits of containers: what they are called, their sums, and what they make of a pod."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.api.names import is_qualified_name
from moorage.api.quantities import NANOS, milli, parse
from moorage.cluster.base.store import Document

HUGE_PAGES = "hugepages-"
_NATIVE_DOMAIN = "kubernetes.io/"
_DECIMAL_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

Quantities = Mapping[str, str]


# Names


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """Whether it is a resource that vendors define, which is counted in whole units."""
    return not is_native(name) and not name.startswith("requests.") and is_qualified_name(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or is_huge_pages(name)


# Amounts


def rounded(amounts: dict[str, str]) -> None:
    """Rounds amounts up to thousandths, which is as fine as they are kept."""
    for name, amount in amounts.items():
        if amount[-1:] in ("n", "u") or "e-" in amount:
            amounts[name] = _text(milli(parse(amount)) * (NANOS // 1000), amount)


def aggregate(spec: Document, kind: str) -> dict[str, tuple[int, str]]:
    """What the containers of a pod have of each resource at the same time at most, also as text."""
    total: dict[str, tuple[int, str]] = {}
    for container in spec.get("containers") or ():
        _add(total, amounts_of(container, kind))
    peak: dict[str, tuple[int, str]] = {}
    beside: dict[str, tuple[int, str]] = {}
    for container in spec.get("initContainers", ()):
        amounts = amounts_of(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(beside, amounts)
            now = beside
        else:
            now = dict(beside)
            _add(now, amounts)
        for name, (amount, like) in now.items():
            if name not in peak or amount > peak[name][0]:
                peak[name] = amount, like
    for name, (amount, like) in peak.items():
        if name not in total or amount > total[name][0]:
            total[name] = amount, like
    return {name: (amount, _text(amount, like)) for name, (amount, like) in total.items()}


def amounts_of(container: Document, kind: str) -> Quantities:
    found: Quantities = container.get("resources", {}).get(kind, {})
    return found


def _add(total: dict[str, tuple[int, str]], amounts: Quantities) -> None:
    for name, amount in amounts.items():
        before, like = total.get(name, (0, amount))
        total[name] = before + parse(amount), like


def _text(nanos: int, like: str) -> str:
    """An amount in the shortest form of the family of another one's."""
    if nanos % NANOS:
        return f"{milli(nanos)}m"
    units = nanos // NANOS
    binary = like.endswith("i")
    step, suffixes = (1024, _BINARY_SUFFIXES) if binary else (1000, _DECIMAL_SUFFIXES)
    place = 0
    while units and units % step == 0 and place < len(suffixes) - 1:
        units //= step
        place += 1
    return f"{units}{suffixes[place]}"


def quality_class(spec: Document) -> str:
    """Guaranteed, Burstable or BestEffort, by what the pod requests and how far it is limited."""
    whole = spec.get("resources")
    parts = (
        [whole]
        if whole is not None
        else [
            container.get("resources", {})
            for container in (*(spec.get("containers") or ()), *spec.get("initContainers", ()))
        ]
    )
    if not any(parts):
        return "BestEffort"
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for part in parts:
        _count(requests, part.get("requests", {}))
        limited = _count(limits, part.get("limits", {}))
        if limited < 2 and (whole is None or part.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and len(requests) == len(limits):
        for name, amount in requests.items():
            if limits.get(name) != amount:
                return "Burstable"
        return "Guaranteed"
    return "Burstable"


def _count(total: dict[str, int], amounts: Quantities) -> int:
    """Adds up cpu and memory; says how many of the two there are."""
    found = 0
    for name in ("cpu", "memory"):
        amount = parse(amounts.get(name, "0"))
        if amount > 0:
            total[name] = total.get(name, 0) + amount
            found += 1
    return found
