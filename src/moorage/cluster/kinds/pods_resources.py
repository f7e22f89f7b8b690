"""The rules of requests, limits and claims of containers and pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from moorage.api.quantities import NANOS, parse, value
from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    shown,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.pods_amounts import (
    HUGE_PAGES,
    Quantities,
    aggregate,
    amounts_of,
    is_extended,
    is_huge_pages,
    is_native,
    is_pod_level,
    may_overcommit,
)
from moorage.cluster.kinds.rules import NEGATIVE, Found, check_dns_label, check_qualified_name

_QUOTA_HUGE_PAGES = "requests.hugepages-"
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
        for name, limit in amounts_of(container, "limits").items():
            if name in limits and parse(limit) > parse(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                found.append(invalid_value(f"{place}.containers[{index}][{name}].limits", limit, detail))
