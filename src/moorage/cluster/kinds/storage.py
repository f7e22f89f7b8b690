"""The kinds of storage.k8s.io: classes, CSI drivers and what they have attached where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.fields import (
    dns_subdomain,
    immutable,
    label_selector,
    not_negative,
    not_negative_quantity,
    qualified_name,
)
from moorage.cluster.kinds.name_forms import size
from moorage.cluster.kinds.persistent_volumes import driver_name
from moorage.cluster.schema.definitions import Strategy, keep_but, keep_status

BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
RECLAIM_POLICIES = ("Delete", "Retain")
GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")

_MAX_PARAMETERS = 512
_MAX_PARAMETER_BYTES = 256 * 1024
_MAX_ERROR_BYTES = 1024
_MAX_NODE_ID = 256


class StorageClassStrategy(Strategy):
    def default(self, document: Document) -> None:
        document.setdefault("reclaimPolicy", "Delete")
        document.setdefault("volumeBindingMode", "Immediate")

    def validate(self, document: Document) -> Iterator[Cause]:
        provisioner = document.get("provisioner", "")
        if provisioner:
            yield from qualified_name("provisioner", provisioner.lower())
        else:
            yield required("provisioner")
        yield from _parameters(part(document, "parameters"))
        policy, mode = document.get("reclaimPolicy"), document.get("volumeBindingMode")
        if policy and policy not in RECLAIM_POLICIES:
            yield unsupported_value("reclaimPolicy", policy, RECLAIM_POLICIES)
        if mode not in BINDING_MODES:
            yield unsupported_value("volumeBindingMode", mode, BINDING_MODES)
        yield from _topologies(document.get("allowedTopologies") or ())

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from immutable("parameters", new.get("parameters"), old.get("parameters"))
        for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
            yield from immutable(name, new.get(name, ""), old.get(name, ""))


def _parameters(parameters: Mapping[str, str]) -> Iterator[Cause]:
    if len(parameters) > _MAX_PARAMETERS:
        yield too_long("parameters", _MAX_PARAMETERS)
        return
    if "" in parameters:
        yield invalid_value("parameters", "", "field can not be empty.")
    if sum(size(key) + size(value) for key, value in parameters.items()) > _MAX_PARAMETER_BYTES:
        yield too_long("parameters", _MAX_PARAMETER_BYTES)


def _topologies(terms: Any) -> Iterator[Cause]:
    earlier: list[dict[str, set[str]]] = []
    for index, term in enumerate(terms):
        field = f"allowedTopologies[{index}].matchLabelExpressions"
        chosen: dict[str, set[str]] = {}
        for number, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            place = f"{field}[{number}]"
            key, values = requirement.get("key", ""), requirement.get("values") or ()
            if not values:
                yield required(f"{place}.values")
            for position, value in enumerate(values):
                if value in values[:position]:
                    yield duplicate_value(f"{place}.values[{position}]", value)
            yield from qualified_name(f"{place}.key", key)
            if key in chosen:
                yield duplicate_value(f"{place}.key", key)
            chosen[key] = set(values)
        if chosen in earlier:
            yield duplicate_value(field, "")
        earlier.append(chosen)


class VolumeAttributesClassStrategy(Strategy):
    def validate(self, document: Document) -> Iterator[Cause]:
        driver = document.get("driverName", "")
        if driver:
            yield from qualified_name("driverName", driver.lower())
        else:
            yield required("driverName")
        parameters = part(document, "parameters")
        yield from _parameters(parameters)
        if not parameters:
            yield required("parameters", "must contain at least one key/value pair")

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        for name in ("driverName", "parameters"):
            if new.get(name) != old.get(name):
                yield forbidden_value(name, f"updates to {name} are forbidden.")


class CSIDriverStrategy(Strategy):
    updates_name_version = True

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        spec.setdefault("attachRequired", True)
        for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
            spec.setdefault(name, False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]

    def prepare_update(self, new: Document, old: Document) -> None:
        """Generations are counted from the first change on."""
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = part(document, "spec")
        if spec.get("fsGroupPolicy") not in GROUP_POLICIES:
            yield unsupported_value("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), GROUP_POLICIES)
        yield from _token_requests(spec.get("tokenRequests") or ())
        for mode in spec.get("volumeLifecycleModes") or ():
            if mode not in LIFECYCLE_MODES:
                yield unsupported_value("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES)
        period = spec.get("nodeAllocatableUpdatePeriodSeconds")
        if period is not None and period < 10:
            text = "must be greater than or equal to 10 seconds"
            yield invalid_value("spec.nodeAllocatableUpdatePeriodSeconds", period, text)
        in_secrets = spec.get("serviceAccountTokenInSecrets")
        if in_secrets is not None and not spec.get("tokenRequests"):
            text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            yield invalid_value("spec.serviceAccountTokenInSecrets", in_secrets, text)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = part(new, "spec"), part(old, "spec")
        attached = after.get("attachRequired"), before.get("attachRequired")
        yield from immutable("spec.attachedRequired", *attached)
        modes = after.get("volumeLifecycleModes"), before.get("volumeLifecycleModes")
        yield from immutable("spec.volumeLifecycleModes", *modes)


def _token_requests(requests: Any) -> Iterator[Cause]:
    audiences = set()
    for index, request in enumerate(requests):
        field = f"spec.tokenRequests[{index}]"
        audience, seconds = request.get("audience", ""), request.get("expirationSeconds")
        if audience in audiences:
            yield duplicate_value(f"{field}.audience", audience)
            continue
        audiences.add(audience)
        if seconds is None:
            continue
        if seconds < 600:
            text = "may not specify a duration less than 10 minutes"
            yield invalid_value(f"{field}.expirationSeconds", seconds, text)
        if seconds > 1 << 32:
            text = "may not specify a duration larger than 2^32 seconds"
            yield invalid_value(f"{field}.expirationSeconds", seconds, text)


class CSINodeStrategy(Strategy):
    updates_name_version = True

    def validate(self, document: Document) -> Iterator[Cause]:
        names = set()
        for index, driver in enumerate(part(document, "spec").get("drivers") or ()):
            field = f"spec.drivers[{index}]"
            name, node_id = driver.get("name", ""), driver.get("nodeID", "")
            yield from driver_name(f"{field}.name", name)
            if not node_id:
                yield required(f"{field}.nodeID")
            elif size(node_id) > _MAX_NODE_ID:
                text = f"must be {_MAX_NODE_ID} characters or less"
                yield invalid_value(f"{field}.nodeID", node_id, text)
            count = part(driver, "allocatable").get("count")
            if count is not None:
                yield from not_negative(f"{field}.allocatable.count", count)
            if name in names:
                yield duplicate_value(f"{field}.name", name)
            names.add(name)
            yield from _topology_keys(field, driver.get("topologyKeys") or ())

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        before = {driver.get("name"): driver for driver in part(old, "spec").get("drivers") or ()}
        for driver in part(new, "spec").get("drivers") or ():
            earlier = before.get(driver.get("name"))
            if earlier is not None:
                yield from immutable("spec.drivers", _fixed_part(driver), _fixed_part(earlier))


def _topology_keys(field: str, keys: Any) -> Iterator[Cause]:
    seen = set()
    for key in keys:
        if not key:
            yield required(field)
        if key in seen:
            yield duplicate_value(field, key)
        seen.add(key)
        yield from qualified_name(field, key)


def _fixed_part(driver: Document) -> dict[str, Any]:
    return {
        "Name": driver.get("name", ""),
        "NodeID": driver.get("nodeID", ""),
        "TopologyKeys": driver.get("topologyKeys"),
        "Allocatable": None,
    }


class CSIStorageCapacityStrategy(Strategy):
    updates_name_version = True

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from label_selector("nodeTopology", document.get("nodeTopology"))
        yield from dns_subdomain("storageClassName", document.get("storageClassName", ""))
        if document.get("capacity") is not None:
            yield from not_negative_quantity("capacity", document["capacity"])

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from immutable("nodeTopology", new.get("nodeTopology"), old.get("nodeTopology"))
        yield from immutable("storageClassName", new.get("storageClassName"), old.get("storageClassName"))


class VolumeAttachmentStrategy(Strategy):
    updates_name_version = True

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"attached": False}

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = part(document, "spec")
        yield from driver_name("spec.attacher", spec.get("attacher", ""))
        source = part(spec, "source")
        name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
        text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        if name is None and inline is None:
            yield required("spec.source", text)
        elif name is not None and inline is not None:
            yield forbidden_value("spec.source", text)
        elif name == "":
            text = "must specify non empty persistentVolumeName"
            yield required("spec.source.persistentVolumeName", text)
        yield from dns_subdomain("spec.nodeName", spec.get("nodeName", ""))
        yield from _attachment_status(part(document, "status"))
        if name is not None:
            yield from dns_subdomain("spec.source.persistentVolumeName", name)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return immutable("spec", _shown_attachment(new), _shown_attachment(old))

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return _attachment_status(part(new, "status"))


def _shown_attachment(document: Document) -> dict[str, Any]:
    spec = part(document, "spec")
    source = part(spec, "source")
    return {
        "Attacher": spec.get("attacher", ""),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": source.get("inlineVolumeSpec"),
        },
        "NodeName": spec.get("nodeName", ""),
    }


def _attachment_status(status: Document) -> Iterator[Cause]:
    metadata = part(status, "attachmentMetadata")
    if sum(size(key) + size(value) for key, value in metadata.items()) > _MAX_PARAMETER_BYTES:
        yield too_long("status.attachmentMetadata", _MAX_PARAMETER_BYTES)
    for name in ("attachError", "detachError"):
        error = part(status, name)
        if size(error.get("message", "")) > _MAX_ERROR_BYTES:
            yield too_long(f"status.{name}.message", _MAX_PARAMETER_BYTES)
        code = error.get("errorCode")
        if code is not None and code < 0:
            text = "must be between 0 and 2147483647, inclusive"
            yield invalid_value(f"status.{name}.errorCode", code, text)
