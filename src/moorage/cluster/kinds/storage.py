"""The kinds of storage.k8s.io: what relates the fields of classes, CSI drivers and attachments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, duplicate_value, invalid_value, required, too_long
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, part
from moorage.cluster.schema.checking import IMMUTABLE, Around, check, check_change, check_form, relates
from moorage.cluster.schema.definitions import keep_but, keep_status
from moorage.cluster.schema.forms import size

_MAX_PARAMETERS = 512
_MAX_PARAMETER_BYTES = 256 * 1024
_MAX_ERROR_BYTES = 1024


@relates("storage.v1.StorageClass", "storage.v1.VolumeAttributesClass")
def _parameters(document: Document, path: str, around: Around) -> Iterator[Cause]:
    parameters = part(document, "parameters")
    if len(parameters) > _MAX_PARAMETERS:
        yield too_long("parameters", _MAX_PARAMETERS)
        return
    if "" in parameters:
        yield invalid_value("parameters", "", "field can not be empty.")
    if _bytes_of(parameters) > _MAX_PARAMETER_BYTES:
        yield too_long("parameters", _MAX_PARAMETER_BYTES)


def _bytes_of(texts: Document) -> int:
    return sum(size(key) + size(value) for key, value in texts.items())


@relates("storage.v1.StorageClass")
def _topologies(document: Document, path: str, around: Around) -> Iterator[Cause]:
    earlier: list[dict[str, set[str]]] = []
    for index, term in enumerate(document.get("allowedTopologies") or ()):
        field = f"allowedTopologies[{index}].matchLabelExpressions"
        chosen: dict[str, set[str]] = {}
        for number, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            key = requirement.get("key", "")
            if key in chosen:
                yield duplicate_value(f"{field}[{number}].key", key)
            chosen[key] = set(requirement.get("values") or ())
        if chosen in earlier:
            yield duplicate_value(field, "")
        earlier.append(chosen)


class CSIDriverStrategy(KindStrategy):
    type_name = "storage.v1.CSIDriver"

    def prepare_update(self, new: Document, old: Document) -> None:
        """Generations are counted from the first change on."""
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from check_change(self.type_name, new, old)
        attached = part(new, "spec").get("attachRequired")
        if attached != part(old, "spec").get("attachRequired"):
            yield invalid_value("spec.attachedRequired", attached, IMMUTABLE)


@relates("storage.v1.CSIDriverSpec")
def _token_requests(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    requests = spec.get("tokenRequests") or ()
    audiences = [request.get("audience", "") for request in requests]
    for index, audience in enumerate(audiences):
        if audience in audiences[:index]:
            yield duplicate_value(f"{path}.tokenRequests[{index}].audience", audience)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not requests:
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid_value(f"{path}.serviceAccountTokenInSecrets", in_secrets, text)


class CSINodeStrategy(KindStrategy):
    type_name = "storage.v1.CSINode"

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        before = {driver.get("name"): driver for driver in part(old, "spec").get("drivers") or ()}
        for driver in part(new, "spec").get("drivers") or ():
            earlier = before.get(driver.get("name"))
            fixed = _fixed_part(driver)
            if earlier is not None and fixed != _fixed_part(earlier):
                yield invalid_value("spec.drivers", fixed, IMMUTABLE)


def _fixed_part(driver: Document) -> dict[str, Any]:
    return {name: value for name, value in driver.items() if name != "allocatable"}


@relates("storage.v1.CSINodeDriver")
def _topology_keys(driver: Document, path: str, around: Around) -> Iterator[Cause]:
    keys = driver.get("topologyKeys") or ()
    for index, key in enumerate(keys):
        if not key:
            yield required(path)
        if key in keys[:index]:
            yield duplicate_value(path, key)
        yield from check_form("qualified-name", key, path)


class VolumeAttachmentStrategy(KindStrategy):
    type_name = "storage.v1.VolumeAttachment"

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"attached": False}

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check("storage.v1.VolumeAttachmentStatus", new.get("status"), "status")


@relates("storage.v1.VolumeAttachmentSpec")
def _attached_volume(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    source = part(spec, "source")
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if name is None and inline is None:
        yield required("spec.source", text)
    elif name is not None and inline is not None:
        yield errors.forbidden_value("spec.source", text)
    elif name == "":
        text = "must specify non empty persistentVolumeName"
        yield required("spec.source.persistentVolumeName", text)


@relates("storage.v1.VolumeAttachmentStatus")
def _attachment_status(status: Document, path: str, around: Around) -> Iterator[Cause]:
    if _bytes_of(part(status, "attachmentMetadata")) > _MAX_PARAMETER_BYTES:
        yield too_long(f"{path}.attachmentMetadata", _MAX_PARAMETER_BYTES)
    for name in ("attachError", "detachError"):
        if size(part(status, name).get("message", "")) > _MAX_ERROR_BYTES:
            yield too_long(f"{path}.{name}.message", _MAX_PARAMETER_BYTES)
