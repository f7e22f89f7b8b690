"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.api.resources import is_extended, is_native
from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, part
from moorage.cluster.kinds.fields import nanos, qualified_name, resource_quantity
from moorage.cluster.kinds.rules import IMMUTABLE
from moorage.cluster.schema.definitions import Strategy

_COMPUTE = frozenset(
    ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods")
)
_QUOTA_RESOURCES = _COMPUTE | {
    "ephemeral-storage",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.ephemeral-storage",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
}
_STANDARD_RESOURCES = _QUOTA_RESOURCES | {"storage"}
_POD_SCOPES = (
    "Terminating",
    "NotTerminating",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
)
_SCOPES = (*_POD_SCOPES, "BestEffort", "VolumeAttributesClass")
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuotaStrategy(WithStatus):
    def validate(self, document: Document) -> Iterator[Cause]:
        spec = part(document, "spec")
        hard = part(spec, "hard")
        yield from _amounts("spec.hard", hard)
        scopes: list[str] = spec.get("scopes") or []
        for scope in scopes:
            if scope not in _SCOPES:
                yield invalid_value("spec.scopes", scopes, "unsupported scope")
            for _ in _unscoped(scope, hard):
                yield invalid_value("spec.scopes", scopes, "unsupported scope applied to resource")
        for _ in _conflicts(scopes):
            yield invalid_value("spec.scopes", scopes, "conflicting scopes")
        if spec.get("scopeSelector") is not None:
            yield from _scope_selector(spec["scopeSelector"], hard, scopes)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "spec").get("scopes"), part(old, "spec").get("scopes")
        if set(after or ()) != set(before or ()):
            yield invalid_value("spec.scopes", after, IMMUTABLE)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        status = part(new, "status")
        for name in ("hard", "used"):
            yield from _amounts(f"status.{name}", part(status, name))


def _amounts(field: str, amounts: Document) -> Iterator[Cause]:
    for resource, quantity in sorted(amounts.items()):
        place = f"{field}[{resource}]"
        yield from _resource_name(place, resource)
        if "/" not in resource and not _is_quota_resource(resource):
            yield invalid_value(place, resource, "must be a standard resource for quota")
        yield from resource_quantity(place, resource, quantity)


def _scope_selector(selector: Document, hard: Document, scopes: list[str]) -> Iterator[Cause]:
    field = "spec.scopeSelector.matchExpressions"
    names = []
    for requirement in selector.get("matchExpressions") or ():
        scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
        values = requirement.get("values") or []
        names.append(scope)
        if scope not in _SCOPES:
            yield invalid_value(f"{field}.scopeName", scope, "unsupported scope")
        for _ in _unscoped(scope, hard):
            yield invalid_value(field, _shown_selector(selector), "unsupported scope applied to resource")
        plain = scope in _SCOPES and scope not in ("PriorityClass", "VolumeAttributesClass")
        if plain and operator != "Exists":
            yield invalid_value(f"{field}.operator", operator, _ONLY_EXISTS)
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{field}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid_value(f"{field}.values", values, text)
        else:
            yield invalid_value(f"{field}.operator", operator, "not a valid selector operator")
    for _ in _conflicts(names):
        yield invalid_value(field, scopes or None, "conflicting scopes")


def _shown_selector(selector: Document) -> Document:
    return {
        "MatchExpressions": [
            {
                "ScopeName": requirement.get("scopeName", ""),
                "Operator": requirement.get("operator", ""),
                "Values": requirement.get("values"),
            }
            for requirement in selector.get("matchExpressions") or ()
        ]
    }


def _unscoped(scope: str, hard: Document) -> Iterator[str]:
    """The standard resources a scope says nothing about."""
    for resource in hard:
        if not _is_quota_resource(resource):
            continue
        if scope in _POD_SCOPES:
            fits = resource in _COMPUTE
        elif scope == "BestEffort":
            fits = resource == "pods"
        elif scope == "VolumeAttributesClass":
            fits = resource in ("persistentvolumeclaims", "requests.storage")
        else:
            fits = True
        if not fits:
            yield resource


def _conflicts(scopes: Iterable[str]) -> Iterator[str]:
    for scope in ("BestEffort", "Terminating"):
        if scope in scopes and f"Not{scope}" in scopes:
            yield scope


def _is_huge_page(resource: str) -> bool:
    return resource.startswith(("hugepages-", "requests.hugepages-"))


def _is_quota_resource(resource: str) -> bool:
    return resource in _QUOTA_RESOURCES or _is_huge_page(resource)


def _resource_name(field: str, resource: str) -> Iterator[Cause]:
    problems = list(qualified_name(field, resource))
    yield from problems
    if problems or "/" in resource:
        return
    if resource not in _STANDARD_RESOURCES and not _is_huge_page(resource):
        yield invalid_value(field, resource, "must be a standard resource type or fully qualified")


class LimitRangeStrategy(Strategy):
    created_by_update = True

    def default(self, document: Document) -> None:
        for limit in part(document, "spec").get("limits") or ():
            if limit.get("type") != "Container":
                continue
            default = {**part(limit, "max"), **part(limit, "default")}
            request = {**part(limit, "min"), **default, **part(limit, "defaultRequest")}
            if default:
                limit["default"] = default
            if request:
                limit["defaultRequest"] = request

    def validate(self, document: Document) -> Iterator[Cause]:
        types = set()
        for index, limit in enumerate(part(document, "spec").get("limits") or ()):
            field, kind = f"spec.limits[{index}]", limit.get("type", "")
            problems = list(qualified_name(f"{field}.type", kind))
            yield from problems
            if not problems and "/" not in kind and kind not in _LIMIT_TYPES:
                text = "must be a standard limit type or fully qualified"
                yield invalid_value(f"{field}.type", kind, text)
            if kind in types:
                yield duplicate_value(f"{field}.type", kind)
            types.add(kind)
            yield from _limit(field, kind, limit)


def _limit(field: str, kind: str, limit: Document) -> Iterator[Cause]:
    parts = {
        name: part(limit, name)
        for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
    }
    for name, amounts in parts.items():
        if kind == "Pod" and name in ("default", "defaultRequest"):
            if amounts:
                yield forbidden_value(f"{field}.{name}", "may not be specified when `type` is 'Pod'")
                parts[name] = {}
            continue
        for resource in amounts:
            yield from _limited_resource(f"{field}.{name}[{resource}]", kind, resource)
    if kind == "PersistentVolumeClaim" and not {"storage"} & {*parts["min"], *parts["max"]}:
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{field}.limits", text)
    for resource in sorted({resource for amounts in parts.values() for resource in amounts}):
        found = {name: amounts[resource] for name, amounts in parts.items() if resource in amounts}
        yield from _order(field, resource, found)


def _limited_resource(field: str, kind: str, resource: str) -> Iterator[Cause]:
    yield from _resource_name(field, resource)
    if kind not in ("Pod", "Container"):
        return
    if "/" not in resource:
        if resource not in ("cpu", "memory", "ephemeral-storage") and not resource.startswith("hugepages-"):
            yield invalid_value(field, resource, "must be a standard resource for containers")
    elif not is_native(resource) and not is_extended(resource):
        yield invalid_value(field, resource, "doesn't follow extended resource name standard")


_PAIRS = (
    # smaller, greater, the field blamed, the value shown, their names in the text
    ("min", "max", "min", "min", "min value", "max value"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value", "default request value"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value", "max value"),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request value",
        "default limit value",
    ),
    ("min", "default", "default", "min", "min value", "default value"),
    ("default", "max", "default", "max", "default value", "max value"),
)


def _order(field: str, resource: str, found: dict[str, str]) -> Iterator[Cause]:
    """min ≤ defaultRequest ≤ default ≤ max, and a ratio that leaves room for something."""
    for smaller, greater, blamed, value, smaller_text, greater_text in _PAIRS:
        if smaller in found and greater in found and nanos(found[smaller]) > nanos(found[greater]):
            text = f"{smaller_text} {found[smaller]} is greater than {greater_text} {found[greater]}"
            yield invalid_value(f"{field}.{blamed}[{resource}]", found[value], text)
    ratio = found.get("maxLimitRequestRatio")
    if ratio is not None:
        place = f"{field}.maxLimitRequestRatio[{resource}]"
        if nanos(ratio) < nanos("1"):
            yield invalid_value(place, ratio, f"ratio {ratio} is less than 1")
        least = nanos(found.get("min", "0"))
        if "min" in found and "max" in found and least > 0:
            most = nanos(found["max"]) / least
            if nanos(ratio) / nanos("1") > most:
                yield invalid_value(place, ratio, f"ratio {ratio} is greater than max/min = {most:f}")
    overcommitted = is_native(resource) and not resource.startswith("hugepages-")
    if not overcommitted and "default" in found and "defaultRequest" in found:
        default, request = found["default"], found["defaultRequest"]
        if nanos(default) != nanos(request):
            text = f"default value {default} must equal to defaultRequest value {request} in {resource}"
            yield invalid_value(f"{field}.defaultRequest[{resource}]", request, text)
