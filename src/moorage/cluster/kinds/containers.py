"""What relates the fields of containers, and containers to each other and to their pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of, part, repeated
from moorage.cluster.kinds.rules import Found
from moorage.cluster.kinds.volumes import check_volumes
from moorage.cluster.schema import forms
from moorage.cluster.schema.checking import Around, check, relates

KINDS = ("initContainers", "containers", "ephemeralContainers")
_OF_SIDECARS = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
_NO_BLOCK_SOURCE = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"


def all_containers(spec: Document, path: str) -> Iterator[tuple[Document, str]]:
    """All containers of a pod with where they are, init containers first."""
    for kind in KINDS:
        yield from items_of(spec, kind, path)


# Names and ports


@relates("core.v1.PodSpec")
def _names(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    names: set[str] = set()
    for kind in ("containers", "initContainers"):
        for container, place in items_of(spec, kind, path):
            name = container.get("name", "")
            if name in names:
                yield errors.duplicate_value(f"{place}.name", name)
            if name or kind == "containers":
                names.add(name)
    others = {each.get("name", "") for kind in KINDS[:2] for each in spec.get(kind) or ()}
    names |= others
    for container, place in items_of(spec, "ephemeralContainers", path):
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in names:
            yield errors.duplicate_value(f"{place}.name", name)
        names.add(name)
        if target and target not in others:
            yield errors.value_not_found(f"{place}.targetContainerName", target)


@relates("core.v1.Container", "core.v1.EphemeralContainer")
def _port_names(container: Document, path: str, around: Around) -> Iterator[Cause]:
    if "ports" in container:
        for index, name in repeated(port.get("name", "") for port in container["ports"]):
            if name and not forms.port_name_problems(name):
                yield errors.duplicate_value(f"{path}.ports[{index}].name", name)


@relates("core.v1.PodSpec")
def _host_ports(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from _clashing_ports(spec.get("containers") or (), f"{path}.containers")
    for container in (
        spec.get("initContainers") or ()
    ):  # each has the ports for itself, as if it were the first
        yield from _clashing_ports([container], f"{path}.initContainers")


def _clashing_ports(containers: list[Document] | tuple[()], path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for port, place in items_of(container, "ports", f"{path}[{index}]"):
            if port.get("hostPort"):
                address = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if address in taken:
                    yield errors.duplicate_value(f"{place}.hostPort", address)
                taken.add(address)


# Restarts


@relates("core.v1.Container")
def _restarts(container: Document, path: str, around: Around) -> Iterator[Cause]:
    if container.get("restartPolicyRules") and container.get("restartPolicy") is None:
        text = "must specify restartPolicy when restart rules are used"
        yield errors.required(f"{path}.restartPolicy", text)


@relates("core.v1.ContainerRestartRule")
def _restart_rule(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    if "exitCodes" not in rule:
        yield errors.required(f"{path}.exitCodes", "must be specified")


@relates("core.v1.Container", "core.v1.EphemeralContainer")
def _resize_policies(container: Document, path: str, around: Around) -> Iterator[Cause]:
    if "resizePolicy" not in container:
        return
    policies, place = container["resizePolicy"], f"{path}.resizePolicy"
    for index, resource in repeated(policy.get("resourceName", "") for policy in policies):
        yield errors.duplicate_value(f"{place}[{index}]", resource)
    never = around["core.v1.PodSpec"].get("restartPolicy") == "Never"
    for policy in policies:
        yield from _choice(policy.get("resourceName", ""), ("cpu", "memory"), place)
        yield from _choice(policy.get("restartPolicy", ""), ("NotRequired", "RestartContainer"), place)
        if never and policy.get("restartPolicy") != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            yield errors.invalid_value(place, policy.get("restartPolicy", ""), text)


def _choice(value: str, choices: tuple[str, ...], path: str) -> Iterator[Cause]:
    if value not in choices:
        yield errors.unsupported_value(path, value, choices) if value else errors.required(path)


# Probes and what is run when containers start and stop


@relates("core.v1.PodSpec")
def _running(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    for container, place in items_of(spec, "containers", path):
        yield from _while_running(container, place, around)
    for container, place in items_of(spec, "initContainers", path):
        if container.get("restartPolicy") == "Always":
            yield from _while_running(container, place, around)
        else:
            yield from _before_others(container, place)


def _while_running(container: Document, path: str, around: Around) -> Iterator[Cause]:
    for name in _OF_SIDECARS:
        value = container.get(name)
        if value is None:
            continue
        place = f"{path}.{name}"
        yield from check(
            "core.v1.Lifecycle" if name == "lifecycle" else "core.v1.Probe", value, place, around
        )
        if name in ("livenessProbe", "startupProbe") and value.get("successThreshold", 0) != 1:
            yield errors.invalid_value(
                f"{place}.successThreshold", value.get("successThreshold", 0), "must be 1"
            )
        if name == "readinessProbe" and "terminationGracePeriodSeconds" in value:
            seconds, text = value["terminationGracePeriodSeconds"], "must not be set for readinessProbes"
            yield errors.invalid_value(f"{place}.terminationGracePeriodSeconds", seconds, text)


def _before_others(container: Document, path: str) -> Iterator[Cause]:
    for name in _OF_SIDECARS:
        if name in container:
            text = "may not be set for init containers without restartPolicy=Always"
            yield errors.forbidden_value(f"{path}.{name}", text)
    for policy, place in items_of(container, "resizePolicy", path):
        if policy.get("restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield errors.invalid_value(f"{place}.restartPolicy", policy["restartPolicy"], text)


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


@relates("core.v1.HTTPGetAction")
def _headers(action: Document, path: str, around: Around) -> Iterator[Cause]:
    for header in action.get("httpHeaders") or ():
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


@relates("core.v1.PodSpec")
def _volumes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    volumes: Mapping[str, Document] = {}
    if "volumes" in spec:
        found: Found = []
        pod = around.get("core.v1.Pod")
        name = part(pod or {}, "metadata").get("name", "")
        volumes = check_volumes(spec["volumes"], name, f"{path}.volumes", found, in_pod=pod is not None)
        yield from found
    for container, place in all_containers(spec, path):
        if "volumeMounts" in container:
            yield from _mounts(container, volumes, f"{place}.volumeMounts")
        if "volumeDevices" in container:
            yield from _devices(container, volumes, f"{place}.volumeDevices")


def _mounts(container: Document, volumes: Mapping[str, Document], path: str) -> Iterator[Cause]:
    mounts, privileged = container["volumeMounts"], part(container, "securityContext").get("privileged")
    for index, target in repeated(mount.get("mountPath", "") for mount in mounts):
        yield errors.invalid_value(f"{path}[{index}].mountPath", target, "must be unique")
    for index, mount in enumerate(mounts):
        place, name = f"{path}[{index}]", mount.get("name", "")
        if name not in volumes:
            yield errors.value_not_found(f"{place}.name", name)
        yield from _used_twice(mount, "mountPath", container, "volumeDevices", "devicePath", place)
        if mount.get("subPath") and mount.get("subPathExpr"):
            text = "subPathExpr and subPath are mutually exclusive"
            yield errors.invalid_value(f"{place}.subPathExpr", mount["subPathExpr"], text)
        if mount.get("mountPropagation") == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            yield errors.forbidden_value(f"{path}.mountPropagation", text)
        if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible"):
            if not mount.get("readOnly"):
                text = "may only be specified when readOnly is true"
                yield errors.forbidden_value(f"{path}.recursiveReadOnly", text)
            if mount.get("mountPropagation", "None") != "None":
                text = "may only be specified when mountPropagation is None or not specified"
                yield errors.forbidden_value(f"{path}.recursiveReadOnly", text)


def _devices(container: Document, volumes: Mapping[str, Document], path: str) -> Iterator[Cause]:
    devices = container["volumeDevices"]
    for index, name in repeated(device.get("name", "") for device in devices):
        if name:
            yield errors.invalid_value(f"{path}[{index}].name", name, "must be unique")
    for index, target in repeated(device.get("devicePath", "") for device in devices):
        if not forms.no_backsteps_problems(target):
            yield errors.invalid_value(f"{path}[{index}].devicePath", target, "must be unique")
    for index, device in enumerate(devices):
        place, name, target = f"{path}[{index}]", device.get("name", ""), device.get("devicePath", "")
        volume = volumes.get(name)
        if volume is None:
            yield errors.value_not_found(f"{place}.name", name)
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            yield errors.invalid_value(f"{place}.name", name, _NO_BLOCK_SOURCE)
        if forms.no_backsteps_problems(target):
            yield errors.invalid_value(f"{place}.devicePath", target, "can not contain backsteps ('..')")
        yield from _used_twice(device, "devicePath", container, "volumeMounts", "mountPath", place)


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
