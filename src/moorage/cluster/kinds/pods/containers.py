"""What relates the fields of containers, and containers to each other and to their pod."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import earlier, items_of, part, repeated
from moorage.cluster.schema import forms
from moorage.cluster.schema.checking import Around, Relation, check, check_form, relates

GOOD_VOLUMES = "volumes"
"""Where relations find the volumes of a pod that keep the rules, by name."""
KINDS = ("initContainers", "containers", "ephemeralContainers")
_NO_BLOCK_SOURCE = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"


def all_containers(spec: Document, path: str) -> Iterator[tuple[Document, str]]:
    """All containers of a pod with where they are, init containers first."""
    for kind in KINDS:
        yield from items_of(spec, kind, path)


# Names and ports


@relates("core.v1.Container", "core.v1.EphemeralContainer")
def _own_name(container: Document, path: str, around: Around) -> Iterator[Cause]:
    spec, name = around["core.v1.PodSpec"], container.get("name", "")
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for each in spec.get(kind) or ():
            if each is container:
                return
            if each.get("name", "") == name and (name or kind != "initContainers"):
                yield errors.duplicate_value(f"{path}.name", name)
                return


@relates("core.v1.EphemeralContainer", where="targetContainerName")
def _target(container: Document, path: str, around: Around) -> Iterator[Cause]:
    spec, target = around["core.v1.PodSpec"], container["targetContainerName"]
    others = [each.get("name", "") for kind in KINDS[:2] for each in spec.get(kind) or ()]
    if target and target not in others:
        yield errors.value_not_found(f"{path}.targetContainerName", target)


@relates("core.v1.Container", "core.v1.EphemeralContainer", where="ports")
def _port_names(container: Document, path: str, around: Around) -> Iterator[Cause]:
    for index, name in repeated(port.get("name", "") for port in container["ports"]):
        if name and not forms.port_name_problems(name):
            yield errors.duplicate_value(f"{path}.ports[{index}].name", name)


@relates("core.v1.Container", where="ports")
def _host_ports(container: Document, path: str, around: Around) -> Iterator[Cause]:
    taken: set[str] = set()
    for each in around["core.v1.PodSpec"].get("containers") or ():
        if each is container:
            break
        taken.update(address for port in each.get("ports") or () if (address := _on_host(port)))
    else:  # init containers have the ports for themselves, and count as the first
        taken, path = set(), f"{path.rpartition('[')[0]}[0]"
    for index, port in enumerate(container["ports"]):
        address = _on_host(port)
        if address in taken:
            yield errors.duplicate_value(f"{path}.ports[{index}].hostPort", address)
        if address:
            taken.add(address)


def _on_host(port: Document) -> str:
    number = port.get("hostPort")
    return f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{number}" if number else ""


# Restarts


@relates("core.v1.Container", where="restartPolicyRules")
def _restarts(container: Document, path: str, around: Around) -> Iterator[Cause]:
    if container["restartPolicyRules"] and container.get("restartPolicy") is None:
        text = "must specify restartPolicy when restart rules are used"
        yield errors.required(f"{path}.restartPolicy", text)


@relates("core.v1.ContainerRestartRule")
def _restart_rule(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    if "exitCodes" not in rule:
        yield errors.required(f"{path}.exitCodes", "must be specified")


@relates("core.v1.Container", "core.v1.EphemeralContainer", where="resizePolicy")
def _resize_policies(container: Document, path: str, around: Around) -> Iterator[Cause]:
    place = f"{path}.resizePolicy"
    never = around["core.v1.PodSpec"].get("restartPolicy") == "Never"
    only_before = _runs_before(container, around)
    for index, resource in repeated(each.get("resourceName", "") for each in container["resizePolicy"]):
        yield errors.duplicate_value(f"{place}[{index}]", resource)
    for policy, where in items_of(container, "resizePolicy", path):
        restart = policy.get("restartPolicy", "")
        yield from _choice(policy.get("resourceName", ""), ("cpu", "memory"), place)
        yield from _choice(restart, ("NotRequired", "RestartContainer"), place)
        if never and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield errors.invalid_value(place, restart, text)
        if only_before and restart == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield errors.invalid_value(f"{where}.restartPolicy", restart, text)


def _choice(value: str, choices: tuple[str, ...], path: str) -> Iterator[Cause]:
    if value not in choices:
        yield errors.unsupported_value(path, value, choices) if value else errors.required(path)


def _runs_before(container: Document, around: Around) -> bool:
    """Whether it is an init container that ends before others start."""
    first = around["core.v1.PodSpec"].get("initContainers") or ()
    return container.get("restartPolicy") != "Always" and any(each is container for each in first)


# Probes and what is run when containers start and stop


def _running(name: str) -> Relation:
    """What containers have while they run, which those that end before others start have not."""

    def running(container: Document, path: str, around: Around) -> Iterator[Cause]:
        value, place = container[name], f"{path}.{name}"
        if _runs_before(container, around):
            text = "may not be set for init containers without restartPolicy=Always"
            yield errors.forbidden_value(place, text)
        elif name == "lifecycle":
            yield from check("core.v1.Lifecycle", value, place, around)
        else:
            yield from check("core.v1.Probe", value, place, around)
            yield from _probe(name, value, place)

    return running


for _name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
    relates("core.v1.Container", where=_name)(_running(_name))


def _probe(name: str, probe: Document, path: str) -> Iterator[Cause]:
    successes, seconds = probe.get("successThreshold", 0), probe.get("terminationGracePeriodSeconds")
    if name == "readinessProbe":
        if seconds is not None:
            text = "must not be set for readinessProbes"
            yield errors.invalid_value(f"{path}.terminationGracePeriodSeconds", seconds, text)
    elif successes != 1:
        yield errors.invalid_value(f"{path}.successThreshold", successes, "must be 1")


_HANDLERS = {
    "exec": "core.v1.ExecAction",
    "httpGet": "core.v1.HTTPGetAction",
    "tcpSocket": "core.v1.TCPSocketAction",
    "grpc": "core.v1.GRPCAction",
    "sleep": "core.v1.SleepAction",
}


@relates("core.v1.Probe", "core.v1.LifecycleHandler")
def _handler(handler: Document, path: str, around: Around) -> Iterator[Cause]:
    given = [name for name in _HANDLERS if name in handler]
    if not given:
        yield errors.required(path, "must specify a handler type")
    for name in given[:1]:
        yield from check(_HANDLERS[name], handler[name], f"{path}.{name}", around)
    for name in given[1:]:
        yield errors.forbidden_value(f"{path}.{name}", "may not specify more than 1 handler type")


@relates("core.v1.HTTPGetAction", where="httpHeaders")
def _headers(action: Document, path: str, around: Around) -> Iterator[Cause]:
    for header in action["httpHeaders"]:
        name = header.get("name", "")
        for problem in forms.header_name_problems(name):
            yield errors.invalid_value(f"{path}.httpHeaders", name, problem)


@relates("core.v1.SleepAction")
def _sleep(action: Document, path: str, around: Around) -> Iterator[Cause]:
    seconds, grace = action.get("seconds", 0), around["core.v1.PodSpec"].get("terminationGracePeriodSeconds")
    if grace is not None and not 0 <= seconds <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield errors.invalid_value(path, seconds, text)


# Volumes in containers, as files and as devices


@relates("core.v1.VolumeMount")
def _mounted_volume(mount: Document, path: str, around: Around) -> Iterator[Cause]:
    name = mount.get("name", "")
    if name not in around[GOOD_VOLUMES]:
        yield errors.value_not_found(f"{path}.name", name)


@relates("core.v1.VolumeMount")
def _mount(mount: Document, path: str, around: Around) -> Iterator[Cause]:
    container, whole = _container(around), path.rpartition("[")[0]
    if _is_again(mount, "mountPath", container["volumeMounts"]):
        yield errors.invalid_value(f"{path}.mountPath", mount.get("mountPath", ""), "must be unique")
    yield from _used_twice(mount, "mountPath", container, "volumeDevices", "devicePath", path)
    if mount.get("subPath") and mount.get("subPathExpr"):
        text = "subPathExpr and subPath are mutually exclusive"
        yield errors.invalid_value(f"{path}.subPathExpr", mount["subPathExpr"], text)
    privileged = part(container, "securityContext").get("privileged")
    if mount.get("mountPropagation") == "Bidirectional" and not privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        yield errors.forbidden_value(f"{whole}.mountPropagation", text)
    if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            text = "may only be specified when readOnly is true"
            yield errors.forbidden_value(f"{whole}.recursiveReadOnly", text)
        if mount.get("mountPropagation", "None") != "None":
            text = "may only be specified when mountPropagation is None or not specified"
            yield errors.forbidden_value(f"{whole}.recursiveReadOnly", text)


@relates("core.v1.VolumeDevice")
def _device_volume(device: Document, path: str, around: Around) -> Iterator[Cause]:
    name, volumes = device.get("name", ""), around[GOOD_VOLUMES]
    if name and _is_again(device, "name", _container(around)["volumeDevices"]):
        yield errors.invalid_value(f"{path}.name", name, "must be unique")
    if name not in volumes:
        yield errors.value_not_found(f"{path}.name", name)
    elif "persistentVolumeClaim" not in volumes[name] and "ephemeral" not in volumes[name]:
        yield errors.invalid_value(f"{path}.name", name, _NO_BLOCK_SOURCE)


@relates("core.v1.VolumeDevice")
def _device(device: Document, path: str, around: Around) -> Iterator[Cause]:
    container, target = _container(around), device.get("devicePath", "")
    if forms.no_backsteps_problems(target):
        yield errors.invalid_value(f"{path}.devicePath", target, "can not contain backsteps ('..')")
    elif _is_again(device, "devicePath", container["volumeDevices"]):
        yield errors.invalid_value(f"{path}.devicePath", target, "must be unique")
    yield from _used_twice(device, "devicePath", container, "volumeMounts", "mountPath", path)


def _container(around: Around) -> Document:
    return around.get("core.v1.Container") or around["core.v1.EphemeralContainer"]


def _is_again(item: Document, field: str, items: list[Document]) -> bool:
    """Whether an earlier item has the same text in a field."""
    text = item.get(field, "")
    return any(each.get(field, "") == text for each in earlier(items, item))


def _used_twice(
    use: Document, field: str, container: Document, other: str, other_field: str, path: str
) -> Iterator[Cause]:
    """A volume is there as files or as a device, and a path in the container is only one of them."""
    others = {each.get("name", ""): each.get(other_field) for each in container.get(other) or ()}
    name, target = use.get("name", ""), use.get(field, "")
    if name in others:
        yield errors.invalid_value(f"{path}.name", name, f"must not already exist in {other}")
    if target in others.values():
        yield errors.invalid_value(f"{path}.{field}", target, f"must not already exist as a path in {other}")


# Where environment variables come from, and fields of the pod that can be had that way

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
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
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
        yield errors.invalid_value(f"{path}.volumeName", name, "referenced volume must be of type emptyDir")


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
