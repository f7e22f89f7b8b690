"""What ResourceClaims, their templates and DeviceClasses say about the devices that are wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from moorage.api.names import label_value_problems
from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    invalid_value,
    required,
    shown,
    too_long,
    too_many,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.fields import broken, dns_label, dns_subdomain, driver_name, qualified_name
from moorage.cluster.kinds.rules import NOT_POSITIVE
from moorage.cluster.schema.forms import size

EFFECTS = ("NoExecute", "NoSchedule", "None")

_MODES = ("All", "ExactCount")
_MAX_REQUESTS = 32
_MAX_CONSTRAINTS = 32
_MAX_CONFIGURATIONS = 32
_MAX_SELECTORS = 32
_MAX_ALTERNATIVES = 8
_MAX_EXPRESSION = 10 * 1024
_MAX_PARAMETERS = 10 * 1024
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_FORM = re.compile(_IDENTIFIER)
_IDENTIFIER_RULE = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    f"'{_IDENTIFIER}')"
)
_REQUEST_RULE = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)

Rule = Callable[[str, Any], Iterator[Cause]]


def default_claim(spec: Document) -> None:
    for request in part(spec, "devices").get("requests") or ():
        exactly = request.get("exactly")
        for wanted in (*((exactly,) if exactly is not None else ()), *(request.get("firstAvailable") or ())):
            if wanted.setdefault("allocationMode", "ExactCount") == "ExactCount" and not wanted.get("count"):
                wanted["count"] = 1


def claim_rules(field: str, spec: Document) -> Iterator[Cause]:
    devices = part(spec, "devices")
    field = f"{field}.devices"
    requests = devices.get("requests") or ()
    names = _request_names(requests)
    yield from every(
        f"{field}.requests", requests, _MAX_REQUESTS, _request, lambda found: found.get("name", "")
    )

    def constraint(place: str, found: Document) -> Iterator[Cause]:
        yield from _references(place, found, names)
        if found.get("matchAttribute") is not None:
            yield from _full_name(f"{place}.matchAttribute", found["matchAttribute"])
        elif found.get("distinctAttribute") is not None:
            yield from _full_name(f"{place}.distinctAttribute", found["distinctAttribute"])
        else:
            yield required(
                place,
                'exactly one of "matchAttribute" or "distinctAttribute" is required, '
                "but multiple fields are set",
            )

    def configuration(place: str, found: Document) -> Iterator[Cause]:
        yield from _references(place, found, names)
        yield from configuration_rules(place, found)

    yield from every(f"{field}.constraints", devices.get("constraints") or (), _MAX_CONSTRAINTS, constraint)
    yield from every(f"{field}.config", devices.get("config") or (), _MAX_CONFIGURATIONS, configuration)


def shown_claim(spec: Document) -> dict[str, Any]:
    """A claim with its fields named and ordered as they are in messages."""
    devices = part(spec, "devices")
    requests = [
        {
            "Name": request.get("name", ""),
            "Exactly": _shown_wanted(request.get("exactly")),
            "FirstAvailable": [_shown_wanted(each) for each in request.get("firstAvailable") or ()] or None,
        }
        for request in devices.get("requests") or ()
    ]
    return {
        "Devices": {
            "Requests": requests or None,
            "Constraints": devices.get("constraints"),
            "Config": devices.get("config"),
        }
    }


def _shown_wanted(wanted: Document | None) -> dict[str, Any] | None:
    if wanted is None:
        return None
    fields = ("selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity")
    shown_name = {"Name": wanted["name"]} if "name" in wanted else {}
    rest = {name[0].upper() + name[1:]: wanted.get(name) for name in fields}
    return {**shown_name, "DeviceClassName": wanted.get("deviceClassName", ""), **rest}


def class_rules(spec: Document) -> Iterator[Cause]:
    yield from _selectors("spec.selectors", spec.get("selectors") or ())
    configurations = spec.get("config") or ()
    yield from every("spec.config", configurations, _MAX_CONFIGURATIONS, configuration_rules)


def configuration_rules(field: str, found: Document) -> Iterator[Cause]:
    opaque = found.get("opaque")
    if opaque is None:
        yield required(f"{field}.opaque")
        return
    yield from driver_name(f"{field}.opaque.driver", opaque.get("driver", ""))
    parameters, place = opaque.get("parameters"), f"{field}.opaque.parameters"
    if parameters is None:
        yield required(place)
    elif not isinstance(parameters, dict):
        yield invalid_value(place, "<value omitted>", "must be a valid JSON object")
    elif size(shown(parameters)) > _MAX_PARAMETERS:
        yield too_long(place, _MAX_PARAMETERS)


def every(
    field: str, items: Sequence[Any], limit: int, rule: Rule, key: Callable[[Any], Any] | None = None
) -> Iterator[Cause]:
    """The rules of all items of a list, which is not too long and where keys are given once."""
    if len(items) > limit:
        yield too_many(field, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from rule(f"{field}[{index}]", item)
    if key is None:
        return
    seen = set()
    for index, item in enumerate(items):
        if key(item) in seen:
            yield duplicate_value(f"{field}[{index}]", key(item))
        seen.add(key(item))


def device_qualified_name(field: str, name: str) -> Iterator[Cause]:
    """The name of an attribute or capacity: an identifier, with or without a domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        domain, identifier = "", name
    elif "/" in identifier:
        return
    if slash and not domain:
        yield invalid_value(field, "", "the domain must not be empty")
    elif domain:
        yield from driver_name(field, domain)
    if slash and not identifier:
        yield invalid_value(field, "", "the name must not be empty")
        return
    if size(identifier) > 32:
        yield too_long(field, 32)
    if not _IDENTIFIER_FORM.fullmatch(identifier):
        yield invalid_value(field, identifier, _IDENTIFIER_RULE)


def _full_name(field: str, name: str) -> Iterator[Cause]:
    yield from device_qualified_name(field, name)
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        yield invalid_value(field, name, text)


def _request(field: str, request: Document) -> Iterator[Cause]:
    yield from dns_label(f"{field}.name", request.get("name", ""))
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable")
    text = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        yield required(field, text)
    elif exactly is not None and alternatives:
        yield invalid_value(field, None, f"{text}, but multiple fields are set")
    elif exactly is not None:
        yield from _wanted(f"{field}.exactly", exactly)
    else:
        yield from every(
            f"{field}.firstAvailable",
            alternatives or (),
            _MAX_ALTERNATIVES,
            _alternative,
            lambda found: found.get("name", ""),
        )


def _alternative(field: str, wanted: Document) -> Iterator[Cause]:
    yield from dns_label(f"{field}.name", wanted.get("name", ""))
    yield from _wanted(field, wanted)


def _wanted(field: str, wanted: Document) -> Iterator[Cause]:
    device_class = wanted.get("deviceClassName", "")
    if device_class:
        yield from dns_subdomain(f"{field}.deviceClassName", device_class)
    else:
        yield required(f"{field}.deviceClassName")
    yield from _selectors(f"{field}.selectors", wanted.get("selectors") or ())
    mode, count = wanted.get("allocationMode", ""), wanted.get("count", 0)
    if mode not in _MODES:
        yield unsupported_value(f"{field}.allocationMode", mode, _MODES)
    elif mode == "All" and count:
        yield invalid_value(f"{field}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid_value(f"{field}.count", count, NOT_POSITIVE)
    for index, toleration in enumerate(wanted.get("tolerations") or ()):
        yield from _toleration(f"{field}.tolerations[{index}]", toleration)


def _selectors(field: str, selectors: Sequence[Document]) -> Iterator[Cause]:
    return every(field, selectors, _MAX_SELECTORS, _selector)


def _selector(field: str, selector: Document) -> Iterator[Cause]:
    expression = selector.get("cel")
    if expression is None:
        yield required(f"{field}.cel")
    elif size(expression.get("expression", "")) > _MAX_EXPRESSION:
        yield too_long(f"{field}.cel.expression", _MAX_EXPRESSION)


def _toleration(field: str, toleration: Document) -> Iterator[Cause]:
    operator, value, effect = (toleration.get(name, "") for name in ("operator", "value", "effect"))
    if toleration.get("key"):
        yield from qualified_name(f"{field}.key", toleration["key"])
    if operator == "Exists":
        if value:
            yield invalid_value(f"{field}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from broken(f"{field}.value", value, label_value_problems(value))
    elif not operator:
        yield required(f"{field}.operator")
    else:
        yield unsupported_value(f"{field}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in EFFECTS:
        yield unsupported_value(f"{field}.effect", effect, EFFECTS)


def _request_names(requests: Sequence[Document]) -> set[str]:
    """All names under which configuration can speak of a request."""
    names = set()
    for request in requests:
        name = request.get("name", "")
        names.add(name)
        names.update(f"{name}/{found.get('name', '')}" for found in request.get("firstAvailable") or ())
    return names


def _references(field: str, found: Document, names: set[str]) -> Iterator[Cause]:
    def reference(place: str, name: str) -> Iterator[Cause]:
        segments = name.split("/")
        if len(segments) <= 2:
            for segment in segments:
                yield from dns_label(place, segment)
        if name not in names:
            yield invalid_value(place, name, _REQUEST_RULE)

    yield from every(
        f"{field}.requests", found.get("requests") or (), _MAX_REQUESTS, reference, lambda name: name
    )
