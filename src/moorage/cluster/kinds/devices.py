"""The kinds of resource.k8s.io: devices that nodes have and that pods claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from moorage.api.names import label_value_problems
from moorage.api.resources import is_extended
from moorage.cluster.base.errors import (
    Cause,
    forbidden_value,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.device_claims import (
    EFFECTS,
    claim_rules,
    class_rules,
    default_claim,
    device_qualified_name,
    every,
    shown_claim,
)
from moorage.cluster.kinds.fields import (
    broken,
    dns_label,
    dns_subdomain,
    driver_name,
    immutable,
    node_selector,
    qualified_name,
)
from moorage.cluster.schema.definitions import Strategy, keep_but, keep_status
from moorage.cluster.schema.forms import size

_MAX_RESERVED = 256
_MAX_DEVICES = 128
_MAX_ADVANCED_DEVICES = 64
_MAX_TAINTS = 16
_MAX_ATTRIBUTES = 32
_MAX_TEXT = 64
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_VALUES = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_NUMBER = r"(0|[1-9][0-9]*)"
_BEFORE = r"(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_BEFORE}(\.{_BEFORE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class ResourceClaimStrategy(Strategy):
    def default(self, document: Document) -> None:
        default_claim(part(document, "spec"))

    def prepare_create(self, document: Document) -> None:
        document["status"] = {}

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")
        status = part(new, "status")
        if "allocation" not in status:
            status.pop("devices", None)

    def validate(self, document: Document) -> Iterator[Cause]:
        return claim_rules("spec", part(document, "spec"))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return immutable("spec", shown_claim(part(new, "spec")), shown_claim(part(old, "spec")))

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "status"), part(old, "status")
        reserved = after.get("reservedFor") or []
        yield from every(
            "status.reservedFor", reserved, _MAX_RESERVED, _consumer, lambda found: found.get("uid", "")
        )
        if reserved and after.get("allocation") is None:
            text = "may not be specified when `allocated` is not set"
            yield forbidden_value("status.reservedFor", text)
        elif new["metadata"].get("deletionTimestamp"):
            known = before.get("reservedFor") or []
            if any(consumer not in known for consumer in reserved):
                text = (
                    "new entries may not be added while `deallocationRequested` or `deletionTimestamp` "
                    "are set"
                )
                yield forbidden_value("status.reservedFor", text)
        allocation = after.get("allocation")
        if allocation is not None and before.get("allocation") is not None:
            yield from immutable("status.allocation", allocation, before["allocation"])
        elif allocation is not None and allocation.get("nodeSelector") is not None:
            yield from node_selector("status.allocation.nodeSelector", allocation["nodeSelector"])


def _consumer(field: str, consumer: Document) -> Iterator[Cause]:
    for name in ("resource", "name", "uid"):
        if not consumer.get(name):
            yield required(f"{field}.{name}")


class ResourceClaimTemplateStrategy(Strategy):
    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        spec.setdefault("metadata", {})
        default_claim(part(spec, "spec"))

    def validate(self, document: Document) -> Iterator[Cause]:
        return claim_rules("spec.spec", part(part(document, "spec"), "spec"))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return immutable("spec", new.get("spec"), old.get("spec"))


class DeviceClassStrategy(Strategy):
    counts_generations = True

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = part(document, "spec")
        yield from class_rules(spec)
        name = spec.get("extendedResourceName")
        if name is not None and not is_extended(name):
            yield invalid_value("spec.extendedResourceName", name, "must be a valid extended resource name")


class ResourceSliceStrategy(Strategy):
    counts_generations = True

    def __init__(self, now: Callable[[], str] = _now) -> None:
        self._now = now

    def default(self, document: Document) -> None:
        for device in part(document, "spec").get("devices") or ():
            for taint in device.get("taints") or ():
                if taint.get("timeAdded") is None:
                    taint["timeAdded"] = self._now()

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = part(document, "spec")
        yield from driver_name("spec.driver", spec.get("driver", ""))
        yield from _pool(part(spec, "pool"))
        yield from _place(spec)
        if "sharedCounters" in spec and "devices" in spec:
            yield invalid_value("spec", "", "only one of `sharedCounters` or `devices` is allowed")
        devices = spec.get("devices") or ()
        advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
        limit = _MAX_ADVANCED_DEVICES if advanced else _MAX_DEVICES
        yield from every("spec.devices", devices, limit, _device, lambda found: found.get("name", ""))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "spec"), part(old, "spec")
        pools = part(after, "pool").get("name", ""), part(before, "pool").get("name", "")
        yield from immutable("spec.pool.name", *pools)
        yield from immutable("spec.driver", after.get("driver", ""), before.get("driver", ""))
        yield from immutable("spec.nodeName", after.get("nodeName"), before.get("nodeName"))

    def selectable_fields(self, document: Document) -> dict[str, str]:
        spec = part(document, "spec")
        return {"spec.nodeName": spec.get("nodeName", ""), "spec.driver": spec.get("driver", "")}


def _pool(pool: Document) -> Iterator[Cause]:
    name = pool.get("name", "")
    if not name:
        yield required("spec.pool.name")
    else:
        if size(name) > 253:
            yield too_long("spec.pool.name", 253)
        for segment in name.split("/"):
            yield from dns_subdomain("spec.pool.name", segment)
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        yield invalid_value("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        text = "must be greater than or equal to zero"
        yield invalid_value("spec.pool.generation", generation, text)


def _place(spec: Document) -> Iterator[Cause]:
    """Which nodes the devices are for is said in one way."""
    given = []
    for name in _PLACES:
        value = spec.get(name)
        if value is None:
            continue
        if name == "nodeSelector":
            terms = value.get("nodeSelectorTerms") or []
            yield from node_selector("spec.nodeSelector", value)
            if len(terms) != 1:
                text = "must have exactly one node selector term"
                yield invalid_value("spec.nodeSelector.nodeSelectorTerms", terms or None, text)
        elif name == "nodeName" and value:
            yield from dns_subdomain("spec.nodeName", value)
        elif not value:
            what = "a non-empty string" if name == "nodeName" else "true"
            yield invalid_value(f"spec.{name}", value, f"must be either unset or set to {what}")
            continue
        given.append(f"`{name}`")
    text = f"exactly one of {', '.join(f'`{name}`' for name in _PLACES)} is required"
    if not given:
        yield required("spec", text)
    elif len(given) > 1:
        listed = f"{{{', '.join(given)}}}"
        yield invalid_value("spec", listed, f"{text}, but multiple fields are set")


def _device(field: str, device: Document) -> Iterator[Cause]:
    yield from dns_label(f"{field}.name", device.get("name", ""))
    attributes, capacity = part(device, "attributes"), part(device, "capacity")
    total = len(attributes) + len(capacity)
    if total > _MAX_ATTRIBUTES:
        text = f"the total number of attributes and capacities must not exceed {_MAX_ATTRIBUTES}"
        yield invalid_value(field, total, text)
    for name, attribute in sorted(attributes.items()):
        yield from device_qualified_name(f"{field}.attributes", name)
        yield from _attribute(f"{field}.attributes[{name}]", attribute or {})
    for name in sorted(capacity):
        yield from device_qualified_name(f"{field}.capacity", name)
    yield from every(f"{field}.taints", device.get("taints") or (), _MAX_TAINTS, _taint)


def _attribute(field: str, attribute: Document) -> Iterator[Cause]:
    given = [name for name in _VALUES if attribute.get(name) is not None]
    texts: list[tuple[str, Any]] = [
        ("string", attribute.get("string")),
        ("version", attribute.get("version")),
    ]
    for name, value in texts:
        if value is not None and size(value) > _MAX_TEXT:
            yield too_long(f"{field}.{name}", _MAX_TEXT)
        if name == "version" and value is not None and not _VERSION.fullmatch(value):
            text = "must be a string compatible with semver.org spec 2.0.0"
            yield invalid_value(f"{field}.version", value, text)
    if not given:
        yield invalid_value(field, "", "exactly one value must be specified")
    elif len(given) > 1:
        whole = {_value_name(name): attribute.get(name) for name in _VALUES}
        yield invalid_value(field, whole, "exactly one value must be specified")


def _value_name(name: str) -> str:
    base = name.removesuffix("s").capitalize()
    return f"{base}Values" if name.endswith("s") else f"{base}Value"


def _taint(field: str, taint: Document) -> Iterator[Cause]:
    value, effect = taint.get("value", ""), taint.get("effect", "")
    yield from qualified_name(f"{field}.key", taint.get("key", ""))
    if value:
        yield from broken(f"{field}.value", value, label_value_problems(value))
    if not effect:
        yield required(f"{field}.effect")
    elif effect not in EFFECTS:
        yield unsupported_value(f"{field}.effect", effect, EFFECTS)
