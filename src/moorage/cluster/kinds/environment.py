"""Where the environment variables of containers come from, and fields of the pod that can be had that way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.schema.checking import Around, check_form, relates

FILE_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_ENVIRONMENT_FIELDS = (
    *FILE_FIELDS[2:],
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_OTHER_FIELDS = ("spec.host", "spec.restartPolicy", "spec.schedulerName", "status.phase")
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_CALLED = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
_SUBSCRIPTED = re.compile(r"([^\[]*)\['(.*)'\]", re.DOTALL)
_SEVERAL = "may not have more than one field specified at a time"


@relates("core.v1.EnvVar", where="valueFrom")
def _value_source(variable: Document, path: str, around: Around) -> Iterator[Cause]:
    source, place = variable["valueFrom"], f"{path}.valueFrom"
    if not source:
        text = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` "
            "or `fileKeyRef`"
        )
        yield errors.invalid_value(place, "", text)
    elif variable.get("value"):
        yield errors.invalid_value(place, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield errors.invalid_value(place, "", _SEVERAL)
    if "fieldRef" in source:
        yield from field_reference(source["fieldRef"], f"{place}.fieldRef", _ENVIRONMENT_FIELDS)
    if "resourceFieldRef" in source:
        yield from resource_reference(source["resourceFieldRef"], f"{place}.resourceFieldRef")


@relates("core.v1.FileKeySelector")
def _file_volume(selector: Document, path: str, around: Around) -> Iterator[Cause]:
    """Variables from files need a volume that the pod's own containers fill."""
    name = selector.get("volumeName", "")
    pod = around["core.v1.PodSpec"]
    volumes = [volume for volume in pod.get("volumes") or () if volume.get("name", "") == name]
    if not volumes:
        yield errors.value_not_found(f"{path}.volumeName", name)
    elif "emptyDir" not in volumes[-1]:
        text = "referenced volume must be of type emptyDir"
        yield errors.invalid_value(f"{path}.volumeName", name, text)


@relates("core.v1.EnvFromSource")
def _variables_source(source: Document, path: str, around: Around) -> Iterator[Cause]:
    whole = path.rpartition("[")[0]
    if "configMapRef" in source and "secretRef" in source:
        yield errors.invalid_value(whole, "", _SEVERAL)
    elif "configMapRef" not in source and "secretRef" not in source:
        yield errors.invalid_value(whole, "", "must specify one of: `configMapRef` or `secretRef`")


def field_reference(reference: Document, path: str, fields: Sequence[str]) -> Iterator[Cause]:
    """A field of the pod: one of `fields`, or a single label or annotation."""
    version, field = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version or not field:
        yield errors.required(f"{path}.fieldPath" if version else f"{path}.apiVersion")
        return
    subscripted = _SUBSCRIPTED.fullmatch(field)
    parent, key = subscripted.groups() if subscripted else ("", "")
    problem = ""
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif subscripted and parent not in FILE_FIELDS[:2]:
        problem = f"field label does not support subscript: {field}"
    elif not subscripted and field not in (*_ENVIRONMENT_FIELDS, *FILE_FIELDS, *_OTHER_FIELDS):
        problem = f"field label not supported: {field}"
    if problem:
        yield errors.invalid_value(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}")
    elif subscripted:
        yield from check_form(
            "qualified-name", key.lower() if parent == "metadata.annotations" else key, path
        )
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in fields:
            yield errors.unsupported_value(f"{path}.fieldPath", field, fields)


def resource_reference(reference: Document, path: str, *, in_volume: bool = False) -> Iterator[Cause]:
    """How much a container has of a resource; a volume must say which container."""
    resource, divisor = reference.get("resource", ""), reference.get("divisor", "0")
    if in_volume and not reference.get("containerName"):
        yield errors.required(f"{path}.containerName")
    elif not resource:
        yield errors.required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield errors.unsupported_value(f"{path}.resource", resource, _RESOURCES)
    kind = resource.partition(".")[2]
    called = "hugepages" if resource.startswith(_HUGE_PAGES) else _CALLED.get(kind)
    if kind == "cpu" and divisor not in ("0", "1m", "1"):
        text = "only divisor's values 1m and 1 are supported with the cpu resource"
        yield errors.invalid_value(f"{path}.divisor", resource, text)
    elif called and divisor not in ("0", *_SIZES):
        text = f"only divisor's values {', '.join(_SIZES)} are supported with the {called} resource"
        yield errors.invalid_value(f"{path}.divisor", resource, text)
