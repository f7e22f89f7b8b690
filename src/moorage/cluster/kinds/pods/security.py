"""What relates the fields of security contexts, what is only for one operating system, and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of, part, shown_inside
from moorage.cluster.kinds.pods.containers import KINDS, all_containers
from moorage.cluster.schema import forms
from moorage.cluster.schema.checking import Around, check_form, relates

_SHOWN = (
    *("Capabilities", "Privileged", "SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup"),
    *("RunAsNonRoot", "ReadOnlyRootFilesystem", "AllowPrivilegeEscalation", "ProcMount", "SeccompProfile"),
    "AppArmorProfile",
)
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_PROFILE_LIMIT = 4095

_HOST_PROCESS = (
    "If pod contains any hostProcess containers then all containers must be HostProcess containers"
)
_NOT_IN_WINDOWS = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_NOT_IN_WINDOWS_CONTEXTS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "runAsUser", "runAsGroup"),
    *("fsGroup", "fsGroupChangePolicy", "sysctls", "supplementalGroups", "supplementalGroupsPolicy"),
    *("capabilities", "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount"),
    "seLinuxChangePolicy",
)


@relates("core.v1.SecurityContext", where="procMount")
def _proc_mount(context: Document, path: str, around: Around) -> Iterator[Cause]:
    if context["procMount"] == "Unmasked" and around["core.v1.PodSpec"].get("hostUsers") is not False:
        text = "`hostUsers` must be false to use `Unmasked`"
        yield errors.invalid_value(f"{path}.procMount", context["procMount"], text)


@relates("core.v1.SecurityContext", where="allowPrivilegeEscalation")
def _privileges(context: Document, path: str, around: Around) -> Iterator[Cause]:
    if context["allowPrivilegeEscalation"] is False:
        shown = shown_inside(context, *_SHOWN)
        if context.get("privileged"):
            text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield errors.invalid_value(path, shown, text)
        if "CAP_SYS_ADMIN" in (part(context, "capabilities").get("add") or ()):
            text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield errors.invalid_value(path, shown, text)


@relates("core.v1.PodSecurityContext", where="sysctls")
def _sysctls(context: Document, path: str, around: Around) -> Iterator[Cause]:
    spec = around["core.v1.PodSpec"]
    names = {""}
    for sysctl, where in items_of(context, "sysctls", path):
        name, place = sysctl.get("name", ""), f"{where}.name"
        if name in names and not forms.sysctl_problems(name):
            yield errors.duplicate_value(place, name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield errors.invalid_value(place, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (dotted == "kernel.sem" or dotted.startswith(_IPC_SYSCTLS)):
            yield errors.invalid_value(place, name, "may not be specified when 'hostIPC' is true")
        names.add(name)


@relates("core.v1.SeccompProfile")
def _seccomp(profile: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, local, place = profile.get("type", ""), profile.get("localhostProfile"), f"{path}.localhostProfile"
    if kind != "Localhost":
        if local is not None:
            yield errors.invalid_value(place, profile, "can only be set when seccomp type is Localhost")
    elif local is None:
        yield errors.required(place, "must be set when seccomp type is Localhost")
    else:
        yield from check_form("relative-path", local, place)


@relates("core.v1.AppArmorProfile")
def _app_armor(profile: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, local, place = profile.get("type", ""), profile.get("localhostProfile"), f"{path}.localhostProfile"
    if kind in ("RuntimeDefault", "Unconfined"):
        if local is not None:
            yield errors.invalid_value(place, local, "can only be set when AppArmor type is Localhost")
    elif kind == "Localhost":
        if local and local != local.strip():
            yield errors.invalid_value(place, local, "must not be padded with whitespace")
        elif not local:
            yield errors.required(place, "must be set when AppArmor type is Localhost")
        if local and forms.size(local) > _PROFILE_LIMIT:
            yield errors.too_long(place, _PROFILE_LIMIT)


# Windows


@relates("core.v1.WindowsSecurityContextOptions", where="gmsaCredentialSpec")
def _credentials(options: Document, path: str, around: Around) -> Iterator[Cause]:
    if not options["gmsaCredentialSpec"]:
        text = "gmsaCredentialSpec cannot be an empty string"
        yield errors.invalid_value(f"{path}.gmsaCredentialSpec", "", text)


@relates("core.v1.PodSpec")
def _host_processes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    """Either all containers run as processes of the node or none."""
    if not _uses_windows(spec):
        return
    of_pod = _is_host_process(spec)
    chosen = []
    for container, place in all_containers(spec, path):
        own = _is_host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            shown = str(of_pod).lower()
            text = f"pod hostProcess value must be identical if both are specified, was {shown}"
            yield errors.invalid_value(f"{place}.securityContext.windowsOptions.hostProcess", own, text)
        chosen.append(bool(of_pod if own is None else own))
    if any(chosen) and not all(chosen):
        yield errors.invalid_value(path, "", _HOST_PROCESS)
    if any(chosen) and not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        yield errors.invalid_value(f"{path}.hostNetwork", False, text)


def _uses_windows(spec: Document) -> bool:
    owners: list[Document] = [spec]
    for kind in KINDS:
        owners += spec.get(kind) or ()
    return any("windowsOptions" in (owner.get("securityContext") or ()) for owner in owners)


def _is_host_process(owner: Document) -> bool | None:
    found: bool | None = part(part(owner, "securityContext"), "windowsOptions").get("hostProcess")
    return found


@relates("core.v1.PodSpec", where="os")
def _operating_system(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    """What is only for one operating system may not be set for the other."""
    name = spec["os"].get("name", "")
    owners = [(spec, path), *all_containers(spec, path)]
    contexts = [(part(owner, "securityContext"), f"{place}.securityContext") for owner, place in owners]
    if name == "linux":
        for context, place in contexts:
            if "windowsOptions" in context:
                text = "windows options cannot be set for a linux pod"
                yield errors.forbidden_value(f"{place}.windowsOptions", text)
    elif name == "windows":
        for field in _NOT_IN_WINDOWS:
            if field in spec:
                yield errors.forbidden_value(f"{path}.{field}", "cannot be set for a windows pod")
        for context, place in contexts:
            for field in _NOT_IN_WINDOWS_CONTEXTS:
                if field in context:
                    yield errors.forbidden_value(f"{place}.{field}", "cannot be set for a windows pod")
    elif name:
        yield errors.unsupported_value(f"{path}.os", name, ("linux", "windows"))


# Annotations of pods that mean something to the API server, most of them of the time before the fields

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"

_INTEGER = re.compile("0|[1-9][0-9]{0,9}|-[0-9]{1,10}")


def pod_annotations(annotations: Mapping[str, str], spec: Document, path: str) -> Iterator[Cause]:
    """The rules of the few annotations that have some."""
    for key, value in annotations.items():
        place = f"{path}[{key}]"
        if key == _MIRROR and not spec.get("nodeName"):
            yield errors.invalid_value(place, value, "must set spec.nodeName if mirror pod annotation is set")
        elif key == _DELETION_COST:
            if not _INTEGER.fullmatch(value) or not -(2**31) <= int(value) < 2**31:
                yield errors.invalid_value(place, value, "must be a 32bit integer")
        elif key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            yield from _seccomp_annotation(value, f"{path}.{key}")
        elif key.startswith(_APP_ARMOR):
            yield from _app_armor_annotation(key.removeprefix(_APP_ARMOR), value, spec, place)


def _seccomp_annotation(profile: str, path: str) -> Iterator[Cause]:
    if profile.startswith("localhost/"):
        yield from check_form("relative-path", profile.removeprefix("localhost/"), path)
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield errors.invalid_value(path, profile, "must be a valid seccomp profile")


def _app_armor_annotation(container: str, profile: str, spec: Document, path: str) -> Iterator[Cause]:
    if not any(each.get("name") == container for each, _ in all_containers(spec, "")):
        yield errors.invalid_value(path, container, "container not found")
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        yield errors.invalid_value(path, profile, f'invalid AppArmor profile name: "{profile}"')


def annotation_changes(new: Document, old: Document) -> Iterator[Cause]:
    """Some annotations are settled when a pod is created."""
    after, before = part(new["metadata"], "annotations"), part(old["metadata"], "annotations")
    if after == before:
        return
    for key in after.keys() | before.keys():
        if after.get(key) != before.get(key):
            yield from _settled(key, "remove or update" if key in before else "add")
    yield from pod_annotations(after, part(new, "spec"), "metadata.annotations")


def _settled(key: str, what: str) -> Iterator[Cause]:
    path = f"metadata.annotations[{key}]"
    if key.startswith(_APP_ARMOR):
        yield errors.forbidden_value(path, f"may not {what} AppArmor annotations")
    if key == _MIRROR:
        yield errors.forbidden_value(path, f"may not {what} mirror pod annotation")
