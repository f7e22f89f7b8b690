"""Nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import KindStrategy, keep_spec, own_part, part, shown_inside
from moorage.cluster.kinds.pods.resources import resource_quantity
from moorage.cluster.schema.checking import Around, check, check_change, relates
from moorage.cluster.schema.definitions import keep_status
from moorage.cluster.schema.forms import label_value_problems, size

_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_FORM = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_OLD_FIELDS = {
    "configSource": "the feature is removed",
    "externalID": "this field is deprecated, and is unused by Kubernetes",
}
_ONCE_SET = 'node updates may not change {} except from "" to valid'


class NodeStrategy(KindStrategy):
    """A node may be created with its status: that is how kubelets register."""

    type_name = "core.v1.Node"

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
        yield from super().validate(document)
        yield from check("core.v1.NodeStatus", document.get("status"), "status")
        swap = part(part(part(document, "status"), "nodeInfo"), "swap").get("capacity")
        if swap is not None and swap <= 0:
            yield errors.invalid_value("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero")

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from _repeated_addresses(part(new, "status"))
        yield from check_change(self.type_name, new, old)
        before, after = part(old, "spec"), part(new, "spec")
        for name, called in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
            if before.get(name) and before[name] != after.get(name):
                yield errors.forbidden_value(f"spec.{name}", _ONCE_SET.format(called))

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        yield from check("core.v1.NodeStatus", new.get("status"), "status")
        yield from _repeated_addresses(part(new, "status"))

    def warnings(self, document: Document) -> list[str]:
        spec = part(document, "spec")
        return [f"spec.{name}: {text}" for name, text in _OLD_FIELDS.items() if name in spec]


@relates("core.v1.NodeSpec")
def _taints_and_ranges(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    seen = set()
    for index, taint in enumerate(spec.get("taints") or ()):
        place = f"metadata.taints[{index}]"  # as the original says
        yield from check("core.v1.Taint", taint, place)
        value = taint.get("value", "")
        if problems := label_value_problems(value):
            yield errors.invalid_value(f"{place}.value", value, ";".join(problems))
        pair = (taint.get("key", ""), taint.get("effect", ""))
        if pair in seen:
            shown = shown_inside({"value": "", **taint}, "Key", "Value", "Effect", "TimeAdded")
            cause = errors.duplicate_value(place, shown)
            yield cause._replace(message=f"{cause.message}: taints must be unique by key and effect pair")
        seen.add(pair)
    ranges: list[str] = spec.get("podCIDRs") or []
    for index, value in enumerate(ranges):
        yield from addresses.cidr(f"{path}.podCIDRs[{index}]", value)
    if len(ranges) > 2 or (len(ranges) == 2 and not addresses.is_dual_stack(ranges)):
        text = "may specify no more than one CIDR for each IP family"
        yield errors.invalid_value(f"{path}.podCIDRs", ranges, text)


@relates("core.v1.NodeStatus")
def _status(status: Document, path: str, around: Around) -> Iterator[Cause]:
    for name in ("capacity", "allocatable"):
        for resource, quantity in part(status, name).items():
            yield from resource_quantity(f"{path}.{name}.{resource}", resource, quantity)
    features = status.get("declaredFeatures") or ()
    for index, feature in enumerate(features):
        place = f"{path}.declaredFeatures[{index}]"
        if index and features[index - 1] == feature:
            yield errors.duplicate_value(place, feature)
        elif index and features[index - 1] > feature:
            yield errors.invalid_value(place, feature, "list must be sorted alphabetically")
        problem = "must be no more than 253 characters" if size(feature) > 253 else _FEATURE_FORM
        if size(feature) > 253 or not _FEATURE.fullmatch(feature):
            text = f"invalid feature name {errors.shown(feature)}: {problem}"
            yield errors.invalid_value(place, feature, text)


def _repeated_addresses(status: Document) -> Iterator[Cause]:
    found = status.get("addresses") or ()
    for index, address in enumerate(found):
        if address in found[:index]:
            yield errors.duplicate_value(f"status.addresses[{index}]", address)
