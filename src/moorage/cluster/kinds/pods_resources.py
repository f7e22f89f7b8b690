"""Requests and limits of containers and pods: their defaults, their sums and their rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from moorage.api.names import is_qualified_name
from moorage.api.quantities import NANOS, milli, parse, value
from moorage.cluster.errors import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    shown,
    unsupported_value,
)
from moorage.cluster.kinds.rules import NEGATIVE, Found, check_dns_label, check_qualified_name
from moorage.cluster.store import Document

HUGE_PAGES = "hugepages-"
_QUOTA_HUGE_PAGES = "requests.hugepages-"
_NATIVE_DOMAIN = "kubernetes.io/"
_CONTAINER_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTED = frozenset(
    (
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_STANDARD = (
    _CONTAINER_RESOURCES
    | _COUNTED
    | {
        "requests.cpu",
        "requests.memory",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
        "storage",
        "requests.storage",
    }
)
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
        _add(total, _amounts(container, kind))
    peak: dict[str, tuple[int, str]] = {}
    beside: dict[str, tuple[int, str]] = {}
    for container in spec.get("initContainers", ()):
        amounts = _amounts(container, kind)
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


def _amounts(container: Document, kind: str) -> Quantities:
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


# Rules


def check_container_name_of(name: str, path: str, found: Found) -> None:
    """Whether a container can have this resource."""
    if name in _CONTAINER_RESOURCES:
        return
    _check_resource_name(name, path, found)
    if "/" not in name:
        if not is_huge_pages(name):
            found.append(invalid_value(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        found.append(invalid_value(path, name, "doesn't follow extended resource name standard"))


def _check_pod_name_of(name: str, path: str, found: Found) -> None:
    before = len(found)
    _check_resource_name(name, path, found)
    if len(found) == before and not is_pod_level(name):
        found.append(unsupported_value(path, name, ("cpu", HUGE_PAGES, "memory")))


def _check_resource_name(name: str, path: str, found: Found) -> None:
    before = len(found)
    check_qualified_name(name, path, found)
    known = "/" in name or name in _STANDARD or name.startswith((HUGE_PAGES, _QUOTA_HUGE_PAGES))
    if len(found) == before and not known:
        found.append(invalid_value(path, name, "must be a standard resource type or fully qualified"))


def check_amount(name: str, amount: str, path: str, found: Found) -> None:
    """Not negative, and whole where the resource is counted."""
    nanos = parse(amount)
    if nanos < 0:
        found.append(invalid_value(path, amount, NEGATIVE))
    if nanos % NANOS and (name in _COUNTED or is_extended(name)):
        found.append(invalid_value(path, amount, "must be an integer"))


def check_requirements(
    requirements: Document,
    path: str,
    claims: Iterable[str],
    found: Found,
    *,
    check_name: Callable[[str, str, Found], None] = check_container_name_of,
) -> None:
    """The rules of requests, limits and claims; `claims` are those the pod has."""
    limits: Quantities = requirements.get("limits", {})
    requests: Quantities = requirements.get("requests", {})
    for name, amount in limits.items():
        place = f"{path}.limits[{name}]"
        check_name(name, place, found)
        check_amount(name, amount, place, found)
        _check_huge_pages(name, amount, place, found)
    for name, amount in requests.items():
        place = f"{path}.requests[{name}]"
        check_name(name, place, found)
        check_amount(name, amount, place, found)
        if name in limits:
            _check_within(name, amount, limits[name], f"{path}.requests", found)
        elif not may_overcommit(name):
            found.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
        _check_huge_pages(name, amount, place, found)
    names = limits.keys() | requests.keys()
    if any(map(is_huge_pages, names)) and not names & {"cpu", "memory"}:
        found.append(forbidden_value(path, "HugePages require cpu or memory"))
    if "claims" in requirements:
        _check_claims(requirements["claims"], f"{path}.claims", claims, found)


def _check_within(name: str, amount: str, limit: str, path: str, found: Found) -> None:
    if amount == limit:
        return
    requested, limited = parse(amount), parse(limit)
    if requested != limited and not may_overcommit(name):
        found.append(invalid_value(path, amount, f"must be equal to {name} limit of {limit}"))
    elif requested > limited:
        found.append(invalid_value(path, amount, f"must be less than or equal to {name} limit of {limit}"))


def _check_huge_pages(name: str, amount: str, path: str, found: Found) -> None:
    if not is_huge_pages(name):
        return
    try:
        page = parse(name.removeprefix(HUGE_PAGES))
    except ValueError:
        page = 0
    if page <= 0 or page % NANOS or value(parse(amount)) % value(page):
        found.append(invalid_value(path, amount, f"{amount} is not positive integer multiple of {name}"))


def _check_claims(claims: list[Document], path: str, known: Iterable[str], found: Found) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        place = f"{path}[{index}]"
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            found.append(required(place))
            continue
        if name in seen:
            found.append(duplicate_value(place, name))
        else:
            key = name
            if request:
                check_dns_label(request, f"{place}.request", found)
                key = f"{name}/{request}"
            if key in seen:
                found.append(duplicate_value(place, key))
            elif not request:
                again = [duplicate_value(place, name) for each in seen if each.startswith(f"{name}/")]
                found.extend(again)
            seen.add(key)
        if name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            found.append(Cause("FieldValueNotFound", place, f"Not found: {shown(name)}: {detail}"))


def check_pod_resources(spec: Document, path: str, found: Found) -> None:
    """The rules of requests and limits of a pod as a whole."""
    resources = spec.get("resources")
    if resources is None:
        return
    place = f"{path}.resources"
    if spec.get("os", {}).get("name") == "windows":
        found.append(forbidden_value(place, "may not be set for a windows pod"))
        return
    if "claims" in resources:
        found.append(forbidden_value(f"{place}.claims", "claims may not be set for Resources at pod-level"))
    check_requirements(resources, place, (), found, check_name=_check_pod_name_of)
    requests: Quantities = resources.get("requests", {})
    limits: Quantities = resources.get("limits", {})
    for name, (amount, text) in aggregate(spec, "requests").items():
        if name in requests and amount > parse(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {text}"
            found.append(invalid_value(f"{place}.requests[{name}]", requests[name], detail))
    for name, (amount, text) in aggregate(spec, "limits").items():
        if is_huge_pages(name) and name in limits and amount > parse(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {text}"
            found.append(invalid_value(f"{place}.limits[{name}]", limits[name], detail))
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in _amounts(container, "limits").items():
            if name in limits and parse(limit) > parse(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                found.append(invalid_value(f"{place}.containers[{index}][{name}].limits", limit, detail))
