"""ResourceQuotas and LimitRanges."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, WithStatus, part
from moorage.cluster.kinds.pods import resources as resources
from moorage.cluster.schema.checking import IMMUTABLE, Around, check_form, relates
from moorage.cluster.schema.forms import nanos

_COMPUTE = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods")
_SCOPES: Mapping[str, Collection[str]] = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "BestEffort": ("pods",),
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "CrossNamespacePodAffinity": _COMPUTE,
    "VolumeAttributesClass": ("persistentvolumeclaims", "requests.storage"),
}
"""With the resources that each of them can be for."""
_WITH_VALUES = ("PriorityClass", "VolumeAttributesClass")
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuotaStrategy(WithStatus):
    type_name = "core.v1.ResourceQuota"

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "spec").get("scopes"), part(old, "spec").get("scopes")
        if set(after or ()) != set(before or ()):
            yield invalid_value("spec.scopes", after, IMMUTABLE)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        for name in ("hard", "used"):
            yield from _amounts(f"status.{name}", part(part(new, "status"), name))


@relates("core.v1.ResourceQuotaSpec")
def _quota(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    hard = part(spec, "hard")
    yield from _amounts(f"{path}.hard", hard)
    scopes: list[str] = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid_value(f"{path}.scopes", scopes, "unsupported scope")
        for _ in _unscoped(scope, hard):
            yield invalid_value(f"{path}.scopes", scopes, "unsupported scope applied to resource")
    for _ in _conflicts(scopes):
        yield invalid_value(f"{path}.scopes", scopes, "conflicting scopes")
    if spec.get("scopeSelector") is not None:
        yield from _scope_selector(spec["scopeSelector"], hard, scopes)


def _amounts(field: str, amounts: Document) -> Iterator[Cause]:
    for resource, quantity in sorted(amounts.items()):
        place = f"{field}[{resource}]"
        yield from resources.resource_name(resource, place)
        if "/" not in resource and not _is_quota_resource(resource):
            yield invalid_value(place, resource, "must be a standard resource for quota")
        yield from resources.resource_quantity(place, resource, quantity)


def _scope_selector(selector: Document, hard: Document, scopes: list[str]) -> Iterator[Cause]:
    field = "spec.scopeSelector.matchExpressions"
    requirements = selector.get("matchExpressions") or ()
    for requirement in requirements:
        scope, operator = requirement.get("scopeName", ""), requirement.get("operator", "")
        values = requirement.get("values") or []
        if scope not in _SCOPES:
            yield invalid_value(f"{field}.scopeName", scope, "unsupported scope")
        elif scope not in _WITH_VALUES and operator != "Exists":
            yield invalid_value(f"{field}.operator", operator, _ONLY_EXISTS)
        for _ in _unscoped(scope, hard):
            yield invalid_value(field, selector, "unsupported scope applied to resource")
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield errors.required(f"{field}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid_value(f"{field}.values", values, text)
        else:
            yield invalid_value(f"{field}.operator", operator, "not a valid selector operator")
    for _ in _conflicts([requirement.get("scopeName", "") for requirement in requirements]):
        yield invalid_value(field, scopes or None, "conflicting scopes")


def _unscoped(scope: str, hard: Document) -> list[str]:
    """The standard resources a scope says nothing about."""
    known = _SCOPES.get(scope, hard)
    return [resource for resource in hard if _is_quota_resource(resource) and resource not in known]


def _conflicts(scopes: list[str]) -> list[str]:
    return [scope for scope in scopes if f"Not{scope}" in scopes]


def _is_quota_resource(resource: str) -> bool:
    return resource != "storage" and resources.is_standard(resource)


class LimitRangeStrategy(KindStrategy):
    type_name = "core.v1.LimitRange"

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


@relates("core.v1.LimitRangeItem")
def _limit_type(limit: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = limit.get("type", "")
    problems = check_form("qualified-name", kind, f"{path}.type")
    yield from problems
    if not problems and "/" not in kind and kind not in ("Pod", "Container", "PersistentVolumeClaim"):
        yield invalid_value(f"{path}.type", kind, "must be a standard limit type or fully qualified")


@relates("core.v1.LimitRangeItem")
def _limits(limit: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = limit.get("type", "")
    name_rule = resources.container_resource if kind in ("Pod", "Container") else resources.resource_name
    parts = {}
    for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        if kind == "Pod" and name.startswith("default") and limit.get(name):
            yield errors.forbidden_value(f"{path}.{name}", "may not be specified when `type` is 'Pod'")
            continue
        parts[name] = part(limit, name)
        for resource in parts[name]:
            yield from name_rule(resource, f"{path}.{name}[{resource}]")
    if kind == "PersistentVolumeClaim" and not {"storage"} & {*parts["min"], *parts["max"]}:
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield errors.required(f"{path}.limits", text)
    for resource in sorted({resource for amounts in parts.values() for resource in amounts}):
        found = {name: amounts[resource] for name, amounts in parts.items() if resource in amounts}
        yield from _order(path, resource, found)


_PAIRS = (
    # smaller, greater, the field blamed, the value shown, their names in the text
    ("min", "max", "min", "min", "min", "max"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request", "default limit"),
    ("min", "default", "default", "min", "min", "default"),
    ("default", "max", "default", "max", "default", "max"),
)


def _order(field: str, resource: str, found: dict[str, str]) -> Iterator[Cause]:
    """min ≤ defaultRequest ≤ default ≤ max, and a ratio that leaves room for something."""
    for smaller, greater, blamed, value, smaller_text, greater_text in _PAIRS:
        if smaller in found and greater in found and nanos(found[smaller]) > nanos(found[greater]):
            least, most = f"{smaller_text} value {found[smaller]}", f"{greater_text} value {found[greater]}"
            place = f"{field}.{blamed}[{resource}]"
            yield invalid_value(place, found[value], f"{least} is greater than {most}")
    if "maxLimitRequestRatio" in found:
        yield from _ratio(f"{field}.maxLimitRequestRatio[{resource}]", found)
    if not resources.may_overcommit(resource) and "default" in found and "defaultRequest" in found:
        default, request = found["default"], found["defaultRequest"]
        if nanos(default) != nanos(request):
            text = f"default value {default} must equal to defaultRequest value {request} in {resource}"
            yield invalid_value(f"{field}.defaultRequest[{resource}]", request, text)


def _ratio(field: str, found: dict[str, str]) -> Iterator[Cause]:
    ratio = found["maxLimitRequestRatio"]
    if nanos(ratio) < nanos("1"):
        yield invalid_value(field, ratio, f"ratio {ratio} is less than 1")
    least = nanos(found.get("min", "0"))
    if "max" in found and least > 0:
        most = nanos(found["max"]) / least
        if nanos(ratio) / nanos("1") > most:
            yield invalid_value(field, ratio, f"ratio {ratio} is greater than max/min = {most:f}")
