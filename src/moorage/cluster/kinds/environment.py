"""Where the environment variables of containers come from, and fields of the pod that can be had that way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from moorage.cluster.base.errors import invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import (
    Found,
    check_dns_label,
    check_dns_subdomain,
    check_form,
    check_no_backsteps,
    check_qualified_name,
)
from moorage.cluster.schema.forms import (
    config_key_problems,
    dns_subdomain_problems,
    environment_name_problems,
)

ENVIRONMENT_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FILE_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS = frozenset(
    (*ENVIRONMENT_FIELDS, *FILE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase")
)
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
_SUBSCRIPTED = re.compile(r"([^\[]*)\['(.*)'\]", re.DOTALL)
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_environment(variables: Sequence[Document], path: str, found: Found) -> None:
    for index, variable in enumerate(variables):
        place = f"{path}[{index}]"
        name = variable.get("name", "")
        if name:
            check_form(name, f"{place}.name", environment_name_problems, found)
        else:
            found.append(required(f"{place}.name"))
        if "valueFrom" in variable:
            _check_value_source(variable, f"{place}.valueFrom", found)


def _check_value_source(variable: Document, path: str, found: Found) -> None:
    source = variable["valueFrom"]
    given = [name for name in _SOURCES if name in source]
    for name in given:
        part, place = source[name], f"{path}.{name}"
        if name == "fieldRef":
            check_field_reference(part, place, ENVIRONMENT_FIELDS, found)
        elif name == "resourceFieldRef":
            check_resource_reference(part, place, found, in_volume=False)
        elif name == "fileKeyRef":
            _check_file_key(part, place, found)
        else:
            _check_key(part, place, found)
    if not given:
        detail = "must specify one of: " + ", ".join(f"`{name}`" for name in _SOURCES[:-1])
        found.append(invalid_value(path, "", f"{detail} or `{_SOURCES[-1]}`"))
    elif variable.get("value"):
        found.append(invalid_value(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        found.append(invalid_value(path, "", "may not have more than one field specified at a time"))


def check_field_reference(reference: Document, path: str, fields: Sequence[str], found: Found) -> None:
    """A field of the pod: one of `fields`, or a single label or annotation."""
    version, field = reference.get("apiVersion", ""), reference.get("fieldPath", "")
    if not version:
        found.append(required(f"{path}.apiVersion"))
        return
    if not field:
        found.append(required(f"{path}.fieldPath"))
        return
    subscripted = _SUBSCRIPTED.fullmatch(field)
    parent, key = subscripted.groups() if subscripted else ("", "")
    problem = ""
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif subscripted and parent not in ("metadata.annotations", "metadata.labels"):
        problem = f"field label does not support subscript: {field}"
    elif not subscripted and field != "spec.host" and field not in _KNOWN_FIELDS:
        problem = f"field label not supported: {field}"
    if problem:
        found.append(invalid_value(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}"))
    elif subscripted:
        check_qualified_name(key.lower() if parent == "metadata.annotations" else key, path, found)
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in fields:
            found.append(unsupported_value(f"{path}.fieldPath", field, fields))


def check_resource_reference(reference: Document, path: str, found: Found, *, in_volume: bool) -> None:
    """How much a container has of a resource; a volume must say which container."""
    resource = reference.get("resource", "")
    if in_volume and not reference.get("containerName"):
        found.append(required(f"{path}.containerName"))
    elif not resource:
        found.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        found.append(unsupported_value(f"{path}.resource", resource, _RESOURCES))
    divisor = reference.get("divisor", "0")
    if divisor == "0":
        return
    kind = resource.partition(".")[2]
    if kind == "cpu":
        if divisor not in ("1m", "1"):
            detail = "only divisor's values 1m and 1 are supported with the cpu resource"
            found.append(invalid_value(f"{path}.divisor", resource, detail))
        return
    called = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(kind)
    if resource.startswith(_HUGE_PAGES):
        called = "hugepages"
    if called and divisor not in _SIZES:
        listed = ", ".join(_SIZES)
        detail = f"only divisor's values {listed} are supported with the {called} resource"
        found.append(invalid_value(f"{path}.divisor", resource, detail))


def _check_key(selector: Document, path: str, found: Found) -> None:
    """A key of a ConfigMap or Secret."""
    check_dns_subdomain(selector.get("name", ""), f"{path}.name", found)
    key = selector.get("key", "")
    if key:
        check_form(key, f"{path}.key", config_key_problems, found)
    else:
        found.append(required(f"{path}.key"))


def _check_file_key(selector: Document, path: str, found: Found) -> None:
    key, volume, file = (selector.get(name, "") for name in ("key", "volumeName", "path"))
    if key:
        check_form(key, f"{path}.key", environment_name_problems, found)
    else:
        found.append(required(f"{path}.key"))
    if volume:
        check_dns_label(volume, f"{path}.volumeName", found)
    else:
        found.append(required(f"{path}.volumeName"))
    if file:
        check_no_backsteps(file, f"{path}.path", found)
    else:
        found.append(required(f"{path}.path"))


def check_environment_sources(sources: Sequence[Document], path: str, found: Found) -> None:
    """Whole ConfigMaps and Secrets as variables."""
    for index, source in enumerate(sources):
        place = f"{path}[{index}]"
        prefix = source.get("prefix", "")
        if prefix:
            check_form(prefix, f"{place}.prefix", environment_name_problems, found)
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in given:
            referred = source[name].get("name", "")
            if referred:
                # Names that end with a dash pass here, as prefixes of names do.
                tried = referred[:-2] + "a" if len(referred) > 1 and referred.endswith("-") else referred
                for problem in dns_subdomain_problems(tried):
                    found.append(invalid_value(f"{place}.{name}.name", referred, problem))
            else:
                found.append(required(f"{place}.{name}.name"))
        if not given:
            found.append(invalid_value(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            found.append(invalid_value(path, "", "may not have more than one field specified at a time"))
