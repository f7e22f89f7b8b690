"""Nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from moorage.api.names import label_value_problems
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
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import keep_spec, own_part, part
from moorage.cluster.kinds.fields import qualified_name, resource_quantity
from moorage.cluster.kinds.rules import NOT_POSITIVE
from moorage.cluster.schema.definitions import Strategy, keep_status
from moorage.cluster.schema.forms import size

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")


class NodeStrategy(Strategy):
    """A node may be created with its status: that is how kubelets register."""

    def default(self, document: Document) -> None:
        spec = part(document, "spec")
        first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
        if first and (not ranges or ranges[0] != first):
            spec["podCIDRs"] = [first]
        elif ranges:
            spec["podCIDR"] = ranges[0]
        status = part(document, "status")
        if "capacity" in status and "allocatable" not in status:
            status["allocatable"] = dict(status["capacity"])

    def prepare_create(self, document: Document) -> None:
        part(document, "spec").pop("configSource", None)
        part(document, "status").pop("config", None)
        own_part(document, "spec")

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        if "configSource" not in part(old, "spec"):
            part(new, "spec").pop("configSource", None)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_spec(new, old)

    def validate(self, document: Document) -> Iterator[Cause]:
        spec, status = part(document, "spec"), part(document, "status")
        yield from taints("metadata.taints", spec.get("taints") or ())
        yield from _resources(status)
        swap = part(part(status, "nodeInfo"), "swap").get("capacity")
        if swap is not None and swap <= 0:
            yield invalid_value("metadata.nodeSwapStatus.capacity", swap, NOT_POSITIVE)
        yield from _declared_features(status.get("declaredFeatures") or ())
        ranges: list[str] = spec.get("podCIDRs") or []
        for index, value in enumerate(ranges):
            yield from addresses.cidr(f"spec.podCIDRs[{index}]", value)
        if len(ranges) > 2 or (len(ranges) == 2 and not addresses.is_dual_stack(ranges)):
            yield invalid_value(
                "spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family"
            )

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from _addresses(part(new, "status"))
        before, after = part(old, "spec"), part(new, "spec")
        if before.get("podCIDRs") and before["podCIDRs"] != after.get("podCIDRs"):
            yield forbidden_value(
                "spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'
            )
        if before.get("providerID") and before["providerID"] != after.get("providerID"):
            yield forbidden_value(
                "spec.providerID", 'node updates may not change providerID except from "" to valid'
            )
        if before.get("externalID") != after.get("externalID"):
            yield forbidden_value("spec.externalID", "may not be updated")

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        status = part(new, "status")
        yield from _resources(status)
        yield from _declared_features(status.get("declaredFeatures") or ())
        yield from _addresses(status)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        unschedulable = part(document, "spec").get("unschedulable")
        return {"spec.unschedulable": "true" if unschedulable else "false"}

    def warnings(self, document: Document) -> list[str]:
        spec = part(document, "spec")
        found = []
        if "configSource" in spec:
            found.append("spec.configSource: the feature is removed")
        if spec.get("externalID"):
            found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        return found


def taints(field: str, found: Sequence[Document]) -> Iterator[Cause]:
    seen = set()
    for index, taint in enumerate(found):
        place = f"{field}[{index}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        yield from qualified_name(f"{place}.key", key)
        if problems := label_value_problems(value):
            yield invalid_value(f"{place}.value", value, ";".join(problems))
        if not effect:
            yield required(f"{place}.effect")
        elif effect not in EFFECTS:
            yield unsupported_value(f"{place}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            whole = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            yield Cause(
                "FieldValueDuplicate",
                place,
                f"Duplicate value: {shown(whole)}: taints must be unique by key and effect pair",
            )
        seen.add((key, effect))


def _resources(status: Document) -> Iterator[Cause]:
    for name in ("capacity", "allocatable"):
        for resource, quantity in part(status, name).items():
            yield from resource_quantity(f"status.{name}.{resource}", resource, quantity)


def _declared_features(features: Sequence[str]) -> Iterator[Cause]:
    for index, feature in enumerate(features):
        field = f"status.declaredFeatures[{index}]"
        if index and features[index - 1] == feature:
            yield duplicate_value(field, feature)
        elif index and features[index - 1] > feature:
            yield invalid_value(field, feature, "list must be sorted alphabetically")
        if size(feature) > 253:
            yield invalid_value(
                field, feature, f"invalid feature name {shown(feature)}: must be no more than 253 characters"
            )
        elif not _FEATURE.fullmatch(feature):
            yield invalid_value(
                field,
                feature,
                f"invalid feature name {shown(feature)}: must start with an UpperCamelCase segment, with "
                "subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and "
                "contain only alphanumeric characters and slashes",
            )


def _addresses(status: Document) -> Iterator[Cause]:
    seen = set()
    for index, address in enumerate(status.get("addresses") or ()):
        pair = (address.get("type", ""), address.get("address", ""))
        if pair in seen:
            yield duplicate_value(f"status.addresses[{index}]", {"Type": pair[0], "Address": pair[1]})
        seen.add(pair)
