"""What of an object stands in a trace: what a scheduler reads."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.api.decoding import from_document
from moorage.api.devices import EXTENDED_RESOURCE_CLAIM
from moorage.api.kinds import WATCHED
from moorage.api.meta import Object
from moorage.api.pod_groups import PodGroup
from moorage.api.storage import OLD_CLASS_ANNOTATION, PersistentVolumeClaim
from moorage.contrib.coscheduling.pod_groups import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from moorage.contrib.objects import CUSTOM_KINDS
from moorage.contrib.preemption_toleration import MINIMUM_PRIORITY, SECONDS
from moorage.plugins.storage.claims import BIND_COMPLETED
from moorage.plugins.storage.judging import SELECTED_NODE
from moorage.plugins.storage.reserving import BOUND_BY_CONTROLLER
from moorage.plugins.storage.translation import MIGRATED_PLUGINS
from moorage.scheduler.legacy_annotation import ANNOTATION as NAMED_SCHEDULER

Document = dict[str, Any]

TRACED: tuple[type[Object], ...] = (*(row.type for row in WATCHED), PodGroup, *CUSTOM_KINDS)
"""The kinds that a trace can hold, nodes and pods among them."""

MIRROR = "kubernetes.io/config.mirror"
"""Pods that a node has of its own making."""

ANNOTATIONS = frozenset(
    {
        MIRROR,
        OLD_CLASS_ANNOTATION,
        SELECTED_NODE,
        BIND_COMPLETED,
        BOUND_BY_CONTROLLER,
        MIGRATED_PLUGINS,
        EXTENDED_RESOURCE_CLAIM,
        NAMED_SCHEDULER,
        REQUIRED_TOPOLOGY,
        PREFERRED_TOPOLOGY,
        MINIMUM_PRIORITY,
        SECONDS,
    }
)
"""Those that plugins, or a replay, read."""

_KIND_OF = {(kind.group, kind.kind): kind for kind in TRACED}
_POD_CONDITIONS = ("PodScheduled", "DisruptionTarget", "PodResizePending")


def traced_kind(document: Document) -> type[Object] | None:
    """The type of an object that a trace can hold; None for others."""
    group, slash, _ = str(document.get("apiVersion", "")).partition("/")
    return _KIND_OF.get((group if slash else "", str(document.get("kind"))))


def kept(document: Document) -> Document:
    """What of it stands in a trace. Raises ValueError for a kind that no scheduler reads, and DecodeError."""
    kind = traced_kind(document)
    if kind is None:
        raise ValueError(
            f"{document.get('apiVersion')} {document.get('kind')}: no kind that a trace can hold"
        )
    # What the types do not have, the scheduler does not read.
    fields = msgspec.msgpack.decode(msgspec.msgpack.encode(from_document(kind, document)))
    _trim_metadata(fields["metadata"])
    trim = _TRIMMED.get(kind.kind)
    if trim is not None:
        trim(fields)
    return {"apiVersion": kind.api_version(), "kind": kind.kind, **_without_empty(fields)}


def _trim_metadata(metadata: Document) -> None:
    for name in ("resourceVersion", "generation", "generateName"):
        metadata.pop(name, None)
    annotations = metadata.pop("annotations", {})
    read = {key: value for key, value in annotations.items() if key in ANNOTATIONS}
    if read:
        metadata["annotations"] = read


def _trim_pod(fields: Document) -> None:
    spec, status = fields.get("spec", {}), fields.get("status", {})
    containers = [*spec.get("containers", ()), *spec.get("initContainers", ())]
    for container in containers:
        ports = [port for port in container.pop("ports", ()) if port.get("hostPort")]
        if ports:
            container["ports"] = ports
    # A volume of a kind that the scheduler does not look into has nothing but its name here.
    spec["volumes"] = [_trimmed_volume(volume) for volume in spec.get("volumes", ()) if len(volume) > 1]
    asked = {each.get("name"): each.get("resources", {}).get("requests", {}) for each in containers}
    for name in ("containerStatuses", "initContainerStatuses"):
        told = [each for each in status.pop(name, ()) if _is_resized(each, asked.get(each.get("name"), {}))]
        if told:
            status[name] = told
    conditions = [each for each in status.pop("conditions", ()) if each.get("type") in _POD_CONDITIONS]
    status["conditions"] = [_without(each, "message", "observedGeneration") for each in conditions]


def _trimmed_volume(volume: Document) -> Document:
    made = dict(volume)
    if "csi" in volume:
        made["csi"] = {"driver": volume["csi"].get("driver", "")}
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template is not None:
        claim = from_document(PersistentVolumeClaim, {"spec": template.get("spec", {})})
        made["ephemeral"] = {"volumeClaimTemplate": msgspec.json.decode(msgspec.json.encode(claim))}
    return made


def _is_resized(status: Document, asked: Document) -> bool:
    """Whether a container has, or was granted, something else than it asks for."""
    if "resources" not in status:
        return False
    granted = status.get("allocatedResources", asked)
    return bool(status["resources"].get("requests", {}) != asked or granted != asked)


def _trim_node(fields: Document) -> None:
    status = fields.get("status", {})
    status.pop("capacity", None)
    told = status.pop("conditions", ())
    status["conditions"] = [{"type": each.get("type", ""), "status": each.get("status", "")} for each in told]


def _trim_volume(fields: Document) -> None:
    reference = fields.get("spec", {}).get("claimRef")
    if reference is not None:
        reference.pop("resourceVersion", None)


def _trim_group(fields: Document) -> None:
    told = fields.get("status", {}).pop("conditions", ())
    if told:
        fields["status"]["conditions"] = [_without(each, "message", "observedGeneration") for each in told]


def _trim_class(fields: Document) -> None:
    fields.get("spec", {}).pop("config", None)


def _trim_claim(fields: Document) -> None:
    fields.get("spec", {}).get("devices", {}).pop("config", None)
    fields.get("status", {}).get("allocation", {}).get("devices", {}).pop("config", None)


def _trim_quota(fields: Document) -> None:
    fields.pop("status", None)


_TRIMMED = {
    "Pod": _trim_pod,
    "Node": _trim_node,
    "PersistentVolume": _trim_volume,
    "PodGroup": _trim_group,
    "DeviceClass": _trim_class,
    "ResourceClaim": _trim_claim,
    "ElasticQuota": _trim_quota,
}


def _without(fields: Document, *names: str) -> Document:
    return {name: value for name, value in fields.items() if name not in names}


def _without_empty(fields: Document) -> Document:
    """Leaves out what trimming left nothing of."""
    made = dict(fields)
    for part in ("spec", "status"):
        if part in made:
            made[part] = {name: value for name, value in made[part].items() if value != []}
            if not made[part]:
                del made[part]
    return made
