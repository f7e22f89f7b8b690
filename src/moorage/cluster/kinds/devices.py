"""The kinds of resource.k8s.io: devices that nodes have and that pods claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from moorage.api.resources import is_extended
from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, earlier, items_of, part
from moorage.cluster.schema.checking import IMMUTABLE, Around, check, check_form, relates
from moorage.cluster.schema.definitions import keep_but, keep_status
from moorage.cluster.schema.forms import size

_MAX_DEVICES = 128
_MAX_ADVANCED_DEVICES = 64
_MAX_ATTRIBUTES = 32
_MAX_ALTERNATIVES = 8
_MAX_PARAMETERS = 10 * 1024
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_VALUES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_NUMBER = r"(0|[1-9][0-9]*)"
_BEFORE = r"(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_BEFORE}(\.{_BEFORE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)
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


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _WithFixedSpec(KindStrategy):
    """Of a spec that cannot change only that is told when it does, and nothing else that is wrong with it."""

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        if subresource:
            return super().validate_change(new, old, subresource, warnings)
        return self.validate_update(new, old)


class ResourceClaimStrategy(_WithFixedSpec):
    type_name = "resource.v1.ResourceClaim"

    def default(self, document: Document) -> None:
        super().default(document)
        _default_counts(part(document, "spec"))

    def prepare_create(self, document: Document) -> None:
        document["status"] = {}

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")
        status = part(new, "status")
        if "allocation" not in status:
            status.pop("devices", None)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "status"), part(old, "status")
        yield from check("resource.v1.ResourceClaimStatus", after, "status")
        yield from _strange_devices(after)
        reserved = after.get("reservedFor") or []
        allocation, allocated_before = after.get("allocation"), before.get("allocation")
        if reserved and allocation is None:
            text = "may not be specified when `allocated` is not set"
            yield errors.forbidden_value("status.reservedFor", text)
        elif new["metadata"].get("deletionTimestamp"):
            known = before.get("reservedFor") or []
            if any(consumer not in known for consumer in reserved):
                ending = "`deallocationRequested` or `deletionTimestamp` are set"
                yield errors.forbidden_value(
                    "status.reservedFor", f"new entries may not be added while {ending}"
                )
        if allocation is not None and allocated_before is not None:
            if allocation != allocated_before:
                yield invalid_value("status.allocation", allocation, IMMUTABLE)
        elif allocation is not None:
            asked = {"resource.v1.DeviceClaim": part(part(new, "spec"), "devices")}
            yield from check("resource.v1.AllocationResult", allocation, "status.allocation", asked)


def _strange_devices(status: Document) -> Iterator[Cause]:
    """Drivers tell of devices that a claim has, and of no others."""
    results = part(part(status, "allocation"), "devices").get("results") or ()
    given = [_device_key(result) for result in results]
    for told, place in items_of(status, "devices", "status"):
        if _device_key(told) not in given:
            yield invalid_value(place, _device_key(told), "must be an allocated device in the claim")


def _device_key(device: Document) -> Document:
    """As messages show it."""
    names = {"Driver": "driver", "Pool": "pool", "Device": "device", "ShareID": "shareID"}
    return {shown: device.get(name) or "" for shown, name in names.items()}


class ResourceClaimTemplateStrategy(_WithFixedSpec):
    type_name = "resource.v1.ResourceClaimTemplate"

    def default(self, document: Document) -> None:
        super().default(document)
        _default_counts(part(part(document, "spec"), "spec"))


def _default_counts(spec: Document) -> None:
    for request in part(spec, "devices").get("requests") or ():
        for wanted in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if wanted and wanted["allocationMode"] == "ExactCount" and not wanted.get("count"):
                wanted["count"] = 1


class ResourceSliceStrategy(KindStrategy):
    type_name = "resource.v1.ResourceSlice"

    def __init__(self, now: Callable[[], str] = _now) -> None:
        super().__init__()
        self._now = now

    def default(self, document: Document) -> None:
        for device in part(document, "spec").get("devices") or ():
            for taint in device.get("taints") or ():
                if taint.get("timeAdded") is None:
                    taint["timeAdded"] = self._now()


# Claims


@relates("resource.v1.DeviceRequest")
def _wanted_devices(request: Document, path: str, around: Around) -> Iterator[Cause]:
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    text = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        yield required(path, text)
    elif exactly is not None and alternatives:
        yield invalid_value(path, None, f"{text}, but multiple fields are set")
    elif exactly is not None:
        yield from check("resource.v1.ExactDeviceRequest", exactly, f"{path}.exactly")
    elif len(alternatives) > _MAX_ALTERNATIVES:
        yield errors.too_many(f"{path}.firstAvailable", len(alternatives), _MAX_ALTERNATIVES)
    else:
        for wanted, place in items_of(request, "firstAvailable", path):
            yield from check("resource.v1.DeviceSubRequest", wanted, place)
            name, before = wanted.get("name", ""), earlier(alternatives, wanted)
            if any(each.get("name", "") == name for each in before):
                yield errors.duplicate_value(place, name)


@relates("resource.v1.ExactDeviceRequest", "resource.v1.DeviceSubRequest")
def _count(wanted: Document, path: str, around: Around) -> Iterator[Cause]:
    mode, count = wanted.get("allocationMode", ""), wanted.get("count", 0)
    if mode == "All" and count:
        yield invalid_value(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid_value(f"{path}.count", count, "must be greater than zero")


@relates("resource.v1.CELDeviceSelector")
def _expression(selector: Document, path: str, around: Around) -> Iterator[Cause]:
    from moorage.cel import devices as selecting  # only those who select devices need to wait for this
    from moorage.cel.syntax.source import CompileError

    expression, place = selector.get("expression", ""), f"{path}.expression"
    if size(expression) > selecting.MAX_LENGTH:
        return  # the rule about that says so
    try:
        compiled = selecting.compile_selector(expression)
    except CompileError as error:
        yield invalid_value(place, expression, str(error))
    else:
        if compiled.max_cost > selecting.MAX_COST:
            yield errors.forbidden_value(place, "too complex, exceeds cost limit")


@relates("resource.v1.DeviceToleration")
def _tolerated_value(toleration: Document, path: str, around: Around) -> Iterator[Cause]:
    operator, value = toleration.get("operator"), toleration.get("value", "")
    if operator == "Exists" and value:
        yield invalid_value(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from check_form("label-value", value, f"{path}.value")


@relates("resource.v1.DeviceConstraint")
def _constraint(constraint: Document, path: str, around: Around) -> Iterator[Cause]:
    for name in ("matchAttribute", "distinctAttribute"):
        if constraint.get(name) is not None:
            yield from _device_name(f"{path}.{name}", constraint[name])
            if "/" not in constraint[name]:
                text = "a fully qualified name must be a domain and a name separated by a slash"
                yield invalid_value(f"{path}.{name}", constraint[name], text)
            return
    text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    yield required(path, text)


@relates(
    "resource.v1.DeviceConstraint",
    "resource.v1.DeviceClaimConfiguration",
    "resource.v1.DeviceAllocationConfiguration",
)
def _known_requests(found: Document, path: str, around: Around) -> Iterator[Cause]:
    for index, name in enumerate(found.get("requests") or ()):
        yield from _request_problems(name, f"{path}.requests[{index}]", around)


@relates("resource.v1.DeviceRequestAllocationResult")
def _answered_request(result: Document, path: str, around: Around) -> Iterator[Cause]:
    return _request_problems(result.get("request", ""), f"{path}.request", around)


def _request_problems(name: str, place: str, around: Around) -> Iterator[Cause]:
    """What is wrong with a reference to a request of the claim."""
    segments = name.split("/")
    for segment in segments if len(segments) <= 2 else ():
        yield from check_form("dns-label", segment, place)
    if name not in _request_names(around["resource.v1.DeviceClaim"]):
        yield invalid_value(place, name, _REQUEST_RULE)


def _request_names(claim: Document) -> Iterator[str]:
    """All names under which configuration can speak of a request."""
    for request in claim.get("requests") or ():
        name = request.get("name", "")
        yield name
        yield from (f"{name}/{found.get('name', '')}" for found in request.get("firstAvailable") or ())


@relates("resource.v1.OpaqueDeviceConfiguration")
def _parameters(opaque: Document, path: str, around: Around) -> Iterator[Cause]:
    parameters, place = opaque.get("parameters"), f"{path}.parameters"
    if parameters is None:
        yield required(place)
    elif not isinstance(parameters, dict):
        yield invalid_value(place, "<value omitted>", "must be a valid JSON object")
    elif size(errors.shown(parameters)) > _MAX_PARAMETERS:
        yield errors.too_long(place, _MAX_PARAMETERS)


@relates("resource.v1.DeviceClassSpec")
def _extended_name(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        yield invalid_value(f"{path}.extendedResourceName", name, "must be a valid extended resource name")


# Slices


@relates("resource.v1.ResourcePool")
def _pool(pool: Document, path: str, around: Around) -> Iterator[Cause]:
    for segment in pool.get("name", "").split("/") if pool.get("name") else ():
        yield from check_form("dns-subdomain", segment, f"{path}.name")


@relates("resource.v1.ResourceSliceSpec")
def _slice(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if "sharedCounters" in spec and "devices" in spec:
        yield invalid_value(path, "", "only one of `sharedCounters` or `devices` is allowed")
    devices = spec.get("devices") or ()
    advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    limit = _MAX_ADVANCED_DEVICES if advanced else _MAX_DEVICES
    if len(devices) > limit:
        yield errors.too_many(f"{path}.devices", len(devices), limit)


@relates("resource.v1.ResourceSliceSpec")
def _place(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    """Which nodes the devices are for is said in one way."""
    given = []
    for name in _PLACES:
        value = spec.get(name)
        if value is None:
            continue
        if name == "nodeSelector":
            terms = value.get("nodeSelectorTerms") or []
            if len(terms) != 1:
                text = "must have exactly one node selector term"
                yield invalid_value(f"{path}.nodeSelector.nodeSelectorTerms", terms or None, text)
        elif not value:
            what = "a non-empty string" if name == "nodeName" else "true"
            yield invalid_value(f"{path}.{name}", value, f"must be either unset or set to {what}")
            continue
        given.append(f"`{name}`")
    text = f"exactly one of {', '.join(f'`{name}`' for name in _PLACES)} is required"
    if not given:
        yield required(path, text)
    elif len(given) > 1:
        listed = f"{{{', '.join(given)}}}"
        yield invalid_value(path, listed, f"{text}, but multiple fields are set")


@relates("resource.v1.Device")
def _device(device: Document, path: str, around: Around) -> Iterator[Cause]:
    attributes, capacity = part(device, "attributes"), part(device, "capacity")
    total = len(attributes) + len(capacity)
    if total > _MAX_ATTRIBUTES:
        text = f"the total number of attributes and capacities must not exceed {_MAX_ATTRIBUTES}"
        yield invalid_value(path, total, text)
    for field, names in (("attributes", attributes), ("capacity", capacity)):
        for name in sorted(names):
            yield from _device_name(f"{path}.{field}", name)


@relates("resource.v1.DeviceAttribute")
def _attribute(attribute: Document, path: str, around: Around) -> Iterator[Cause]:
    given = [name for name in _VALUES if attribute.get(name) is not None]
    version = attribute.get("version")
    if version is not None and not _VERSION.fullmatch(version):
        text = "must be a string compatible with semver.org spec 2.0.0"
        yield invalid_value(f"{path}.version", version, text)
    if len(given) != 1:
        whole: Any = attribute if given else ""
        yield invalid_value(path, whole, "exactly one value must be specified")


def _device_name(field: str, name: str) -> Iterator[Cause]:
    """The name of an attribute or capacity: an identifier, with or without a domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        domain, identifier = "", name
    elif "/" in identifier:
        return
    if slash and not domain:
        yield invalid_value(field, "", "the domain must not be empty")
    elif domain:
        if size(domain) > 63:
            yield errors.too_long(field, 63)
        yield from check_form("dns-subdomain-lower", domain, field)
    if slash and not identifier:
        yield invalid_value(field, "", "the name must not be empty")
        return
    if size(identifier) > 32:
        yield errors.too_long(field, 32)
    if not _IDENTIFIER_FORM.fullmatch(identifier):
        yield invalid_value(field, identifier, _IDENTIFIER_RULE)
