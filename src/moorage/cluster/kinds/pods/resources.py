"""Requests and limits of containers and pods: their sums, what they make of a pod, and their rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from moorage.api.quantities import NANOS, milli, parse, value
from moorage.api.resources import BASIC, COUNTED, is_extended, is_native
from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of, part
from moorage.cluster.schema.canonical import amount_text
from moorage.cluster.schema.checking import Around, check_form, relates

HUGE_PAGES = "hugepages-"
_STANDARD = {"storage", "requests.storage", *COUNTED, *BASIC}
_STANDARD |= {f"{kind}.{name}" for kind in ("requests", "limits") for name in BASIC}

Quantities = Mapping[str, str]
Total = dict[str, tuple[int, str]]
"""Amounts in nanos, each with the text of one of them."""


def is_huge_pages(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def is_standard(name: str) -> bool:
    return name in _STANDARD or is_huge_pages(name.removeprefix("requests."))


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_pages(name)


def is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or is_huge_pages(name)


# Amounts


def round_amounts(requirements: Document) -> None:
    """Rounds requests and limits up to thousandths, which is as fine as they are kept."""
    for kind in ("limits", "requests"):
        if kind in requirements:
            rounded(requirements[kind])


def rounded(amounts: dict[str, str]) -> None:
    for name, amount in amounts.items():
        if amount[-1:] in ("n", "u") or "e-" in amount:
            amounts[name] = amount_text(milli(parse(amount)) * (NANOS // 1000), amount)


def aggregate(spec: Document, kind: str) -> Total:
    """What the containers of a pod have of each resource at the same time at most, also as text."""
    total: Total = {}
    for container in spec.get("containers") or ():
        _add(total, _amounts_of(container, kind))
    peak: Total = {}
    beside: Total = {}
    for container in spec.get("initContainers") or ():
        amounts = _amounts_of(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(beside, amounts)
            now = beside
        else:
            now = dict(beside)
            _add(now, amounts)
        _raise(peak, now)
    _raise(total, peak)
    return {name: (amount, amount_text(amount, like)) for name, (amount, like) in total.items()}


def _amounts_of(container: Document, kind: str) -> Quantities:
    return part(part(container, "resources"), kind)


def _add(total: Total, amounts: Quantities) -> None:
    for name, amount in amounts.items():
        before, like = total.get(name, (0, amount))
        total[name] = before + parse(amount), like


def _raise(total: Total, other: Total) -> None:
    """To what is more."""
    for name, (amount, like) in other.items():
        if name not in total or amount > total[name][0]:
            total[name] = amount, like


def quality_class(spec: Document) -> str:
    """Guaranteed, Burstable or BestEffort, by what the pod requests and how far it is limited."""
    whole = spec.get("resources")
    parts = (
        [
            part(each, "resources")
            for kind in ("containers", "initContainers")
            for each in spec.get(kind) or ()
        ]
        if whole is None
        else [whole]
    )
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for each in parts:
        _count(requests, part(each, "requests"))
        limited = _count(limits, part(each, "limits"))
        if limited < 2 and (whole is None or each.get("limits")):
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    same = len(requests) == len(limits) and all(limits.get(name) == requests[name] for name in requests)
    return "Guaranteed" if guaranteed and same else "Burstable"


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

_NameRule = Callable[[str, str], Iterator[Cause]]


def container_resource(name: str, path: str) -> Iterator[Cause]:
    """Whether a container can have this resource."""
    if name in BASIC:
        return
    yield from resource_name(name, path)
    if "/" not in name:
        if not is_huge_pages(name):
            yield errors.invalid_value(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield errors.invalid_value(path, name, "doesn't follow extended resource name standard")


def _pod_resource(name: str, path: str) -> Iterator[Cause]:
    found = list(resource_name(name, path))
    if not found and not is_pod_level(name):
        found = [errors.unsupported_value(path, name, ("cpu", HUGE_PAGES, "memory"))]
    yield from found


def resource_name(name: str, path: str) -> Iterator[Cause]:
    found = check_form("qualified-name", name, path)
    if not found and "/" not in name and not is_standard(name):
        found = [errors.invalid_value(path, name, "must be a standard resource type or fully qualified")]
    yield from found


@relates("core.v1.ResourceRequirements")
def _container_resources(resources: Document, path: str, around: Around) -> Iterator[Cause]:
    return _amounts(resources, path, container_resource)


@relates("core.v1.ResourceRequirements", where="claims")
def _container_claims(resources: Document, path: str, around: Around) -> Iterator[Cause]:
    claims = around["core.v1.PodSpec"].get("resourceClaims") or ()
    return _claims(resources, path, {claim["name"] for claim in claims if claim.get("name")})


@relates("core.v1.PodSpec", where="overhead")
def _overhead(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from _amounts({"limits": spec["overhead"]}, f"{path}.overhead", container_resource)


@relates("node.v1.Overhead", where="podFixed")
def _overhead_of_class(overhead: Document, path: str, around: Around) -> Iterator[Cause]:
    return _amounts({"limits": overhead["podFixed"]}, path, container_resource)


def _amounts(resources: Document, path: str, name_rule: _NameRule) -> Iterator[Cause]:
    limits: Quantities = resources.get("limits") or {}
    requests: Quantities = resources.get("requests") or {}
    for name, amount in limits.items():
        if name not in ("cpu", "memory") or parse(amount) < 0:
            yield from _amount(name, amount, f"{path}.limits[{name}]", name_rule)
    for name, amount in requests.items():
        if name not in ("cpu", "memory") or parse(amount) < 0:
            yield from _amount(name, amount, f"{path}.requests[{name}]", name_rule)
        if name not in limits:
            if not may_overcommit(name):
                yield errors.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif parse(amount) != parse(limits[name]) and not may_overcommit(name):
            text = f"must be equal to {name} limit of {limits[name]}"
            yield errors.invalid_value(f"{path}.requests", amount, text)
        elif parse(amount) > parse(limits[name]):
            text = f"must be less than or equal to {name} limit of {limits[name]}"
            yield errors.invalid_value(f"{path}.requests", amount, text)
    names = {*limits, *requests}
    if names.isdisjoint(("cpu", "memory")) and any(map(is_huge_pages, names)):
        yield errors.forbidden_value(path, "HugePages require cpu or memory")


def _amount(name: str, amount: str, path: str, name_rule: _NameRule) -> Iterator[Cause]:
    yield from name_rule(name, path)
    yield from resource_quantity(path, name, amount)
    if is_huge_pages(name) and not _is_multiple(parse(amount), name.removeprefix(HUGE_PAGES)):
        yield errors.invalid_value(path, amount, f"{amount} is not positive integer multiple of {name}")


def resource_quantity(path: str, resource: str, amount: str) -> Iterator[Cause]:
    """An amount of a resource: not negative, and whole where the resource is counted."""
    yield from check_form("quantity", amount, path)
    if parse(amount) % NANOS and (resource in COUNTED or is_extended(resource)):
        yield errors.invalid_value(path, amount, "must be an integer")


def _is_multiple(nanos: int, size: str) -> bool:
    try:
        page = parse(size)
    except ValueError:
        return False
    return page > 0 and not page % NANOS and not value(nanos) % value(page)


def _claims(resources: Document, path: str, known: set[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for claim, place in items_of(resources, "claims", path):
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            yield errors.required(place)
            continue
        if name in seen:
            yield errors.duplicate_value(place, name)
        else:
            key = f"{name}/{request}" if request else name
            if request:
                yield from check_form("dns-label", request, f"{place}.request")
            if key in seen or (not request and any(each.startswith(f"{name}/") for each in seen)):
                yield errors.duplicate_value(place, key)
            seen.add(key)
        if name not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            text = f"must be one of the names in pod.spec.resourceClaims{listed}"
            yield Cause("FieldValueNotFound", place, f"Not found: {errors.shown(name)}: {text}")


@relates("core.v1.PodSpec", where="resources")
def _pod_resources(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    """The rules of requests and limits of a pod as a whole."""
    resources, place = spec["resources"], f"{path}.resources"
    if part(spec, "os").get("name") == "windows":
        yield errors.forbidden_value(place, "may not be set for a windows pod")
        return
    if "claims" in resources:
        yield errors.forbidden_value(f"{place}.claims", "claims may not be set for Resources at pod-level")
        yield from _claims(resources, place, set())
    yield from _amounts(resources, place, _pod_resource)
    limits = part(resources, "limits")
    yield from _enough(spec, "requests", resources, place)
    yield from _enough(spec, "limits", resources, place)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in _amounts_of(container, "limits").items():
            if name in limits and parse(limit) > parse(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                yield errors.invalid_value(f"{place}.containers[{index}][{name}].limits", limit, text)


def _enough(spec: Document, kind: str, resources: Document, path: str) -> Iterator[Cause]:
    """A pod has what its containers request, and as many huge pages as they may have."""
    amounts = part(resources, kind)
    for name, (amount, sum_text) in aggregate(spec, kind).items():
        counts = kind == "requests" or is_huge_pages(name)
        if counts and name in amounts and amount > parse(amounts[name]):
            text = f"must be greater than or equal to aggregate container {kind} of {sum_text}"
            yield errors.invalid_value(f"{path}.{kind}[{name}]", amounts[name], text)
