"""The rules of security contexts."""

from __future__ import annotations

import re

from moorage.cluster.base.errors import (
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.pods_shape import shown_part
from moorage.cluster.kinds.rules import Found, check_descending_path
from moorage.cluster.schema.forms import dns_subdomain_problems, range_problems, size

_ID_LIMIT = 2**31 - 1
_SYSCTL = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
_SYSCTL_FORM = re.compile(_SYSCTL[1:-1])
_SYSCTL_LIMIT = 253
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROFILE_LIMIT = 4095

_USER_LIMIT = 104
_DOMAIN_LIMIT = 256
_CREDENTIAL_LIMIT = 64  # KiB
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DOMAIN = re.compile(
    "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)


def check_pod_security(spec: Document, path: str, found: Found) -> None:
    """The rules of the context that all containers of a pod share."""
    context: Document = spec.get("securityContext", {})
    place = f"{path}.securityContext"
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid_value(f"{place}.shareProcessNamespace", True, detail))
    if not context:
        return
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        _check_id(context.get(field), f"{place}.{field}", found)
    for index, group in enumerate(context.get("supplementalGroups", ())):
        _check_id(group, f"{place}.supplementalGroups[{index}]", found)
    if "sysctls" in context:
        _check_sysctls(spec, f"{place}.sysctls", found)
    _check_optional_choice(context, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), place, found)
    _check_profiles(context, place, found)
    _check_optional_choice(context, "supplementalGroupsPolicy", ("Merge", "Strict"), place, found)
    _check_optional_choice(context, "seLinuxChangePolicy", ("Recursive",), place, found)


def check_container_security(context: Document, path: str, host_users: bool, found: Found) -> None:
    for field in ("runAsUser", "runAsGroup"):
        _check_id(context.get(field), f"{path}.{field}", found)
    mount = context.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            found.append(unsupported_value(f"{path}.procMount", mount, ("Default", "Unmasked")))
        if host_users and mount == "Unmasked":
            detail = "`hostUsers` must be false to use `Unmasked`"
            found.append(invalid_value(f"{path}.procMount", mount, detail))
    _check_seccomp(context, path, found)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            found.append(invalid_value(path, shown_part(context, "SecurityContext"), detail))
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            found.append(invalid_value(path, shown_part(context, "SecurityContext"), detail))
    _check_windows_options(context, path, found)
    _check_app_armor(context, path, found)


def _check_id(number: int | None, path: str, found: Found) -> None:
    if number is not None:
        for problem in range_problems(number, 0, _ID_LIMIT):
            found.append(invalid_value(path, number, problem))


def _check_optional_choice(
    context: Document, field: str, choices: tuple[str, ...], path: str, found: Found
) -> None:
    value = context.get(field)
    if value is not None and value not in choices:
        found.append(unsupported_value(f"{path}.{field}", value, choices))


def _check_sysctls(spec: Document, path: str, found: Found) -> None:
    names: set[str] = set()
    for index, sysctl in enumerate(spec["securityContext"]["sysctls"]):
        name = sysctl.get("name", "")
        place = f"{path}[{index}].name"
        if not name:
            found.append(required(place))
        elif size(name) > _SYSCTL_LIMIT or not _SYSCTL_FORM.fullmatch(name):
            detail = f"must have at most {_SYSCTL_LIMIT} characters and match regex {_SYSCTL}"
            found.append(invalid_value(place, name, detail))
        elif name in names:
            found.append(duplicate_value(place, name))
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            found.append(invalid_value(place, name, "may not be specified when 'hostNetwork' is true"))
        elif spec.get("hostIPC") and (dotted == "kernel.sem" or dotted.startswith(_IPC_SYSCTLS)):
            found.append(invalid_value(place, name, "may not be specified when 'hostIPC' is true"))
        names.add(name)


def _check_profiles(context: Document, path: str, found: Found) -> None:
    _check_seccomp(context, path, found)
    _check_windows_options(context, path, found)
    _check_app_armor(context, path, found)


def _check_seccomp(context: Document, path: str, found: Found) -> None:
    profile = context.get("seccompProfile")
    if profile is None:
        return
    place = f"{path}.seccompProfile"
    kind = profile.get("type", "")
    if not kind:
        found.append(required(f"{place}.type", "type is required when seccompProfile is set"))
    elif kind not in _PROFILE_TYPES:
        found.append(unsupported_value(f"{place}.type", kind, _PROFILE_TYPES))
    local = profile.get("localhostProfile")
    if kind == "Localhost":
        if local is None:
            detail = "must be set when seccomp type is Localhost"
            found.append(required(f"{place}.localhostProfile", detail))
        else:
            check_descending_path(local, f"{place}.localhostProfile", found)
    elif local is not None:
        detail = "can only be set when seccomp type is Localhost"
        found.append(
            invalid_value(f"{place}.localhostProfile", shown_part(profile, "SeccompProfile"), detail)
        )


def _check_app_armor(context: Document, path: str, found: Found) -> None:
    profile = context.get("appArmorProfile")
    if profile is None:
        return
    place = f"{path}.appArmorProfile"
    kind, local = profile.get("type", ""), profile.get("localhostProfile")
    if kind == "Localhost":
        if local is not None and local != local.strip():
            detail = "must not be padded with whitespace"
            found.append(invalid_value(f"{place}.localhostProfile", local, detail))
        elif not local:
            detail = "must be set when AppArmor type is Localhost"
            found.append(required(f"{place}.localhostProfile", detail))
        if local is not None and size(local) > _PROFILE_LIMIT:
            found.append(too_long(f"{place}.localhostProfile", _PROFILE_LIMIT))
    elif kind in _PROFILE_TYPES:
        if local is not None:
            detail = "can only be set when AppArmor type is Localhost"
            found.append(invalid_value(f"{place}.localhostProfile", local, detail))
    elif kind:
        found.append(unsupported_value(f"{place}.type", kind, _PROFILE_TYPES))
    else:
        found.append(required(f"{place}.type", "type is required when appArmorProfile is set"))


def _check_windows_options(context: Document, path: str, found: Found) -> None:
    options = context.get("windowsOptions")
    if not options:
        return
    place = f"{path}.windowsOptions"
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        for problem in dns_subdomain_problems(name):
            found.append(invalid_value(f"{place}.gmsaCredentialSpecName", name, problem))
    credentials = options.get("gmsaCredentialSpec")
    if credentials == "":
        detail = "gmsaCredentialSpec cannot be an empty string"
        found.append(invalid_value(f"{place}.gmsaCredentialSpec", credentials, detail))
    elif credentials is not None and size(credentials) > _CREDENTIAL_LIMIT * 1024:
        detail = f"gmsaCredentialSpec size must be under {_CREDENTIAL_LIMIT} KiB"
        found.append(invalid_value(f"{place}.gmsaCredentialSpec", credentials, detail))
    user = options.get("runAsUserName")
    if user is not None:
        for problem in _windows_user_problems(user):
            found.append(invalid_value(f"{place}.runAsUserName", user, f"runAsUserName{problem}"))


def _windows_user_problems(text: str) -> list[str]:
    if not text:
        return [" cannot be an empty string"]
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        return [" cannot contain control characters"]
    domain, backslash, user = text.rpartition("\\")
    if "\\" in domain:
        return [" cannot contain more than one backslash"]
    problems = []
    if size(domain) >= _DOMAIN_LIMIT:
        problems.append(f"'s Domain length must be under {_DOMAIN_LIMIT} characters")
    if backslash and not (_NETBIOS.fullmatch(domain) or _DOMAIN.fullmatch(domain)):
        problems.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("'s User cannot be empty")
    elif size(user) > _USER_LIMIT:
        problems.append(f"'s User length must not be longer than {_USER_LIMIT} characters")
    if user and not user.strip(". "):
        problems.append("'s User cannot contain only periods or spaces")
    if set(user) & set('"/\\:;|=,+*?<>@[]'):
        problems.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems


def check_windows_host_process(
    spec: Document, containers: list[tuple[Document, str]], path: str, found: Found
) -> None:
    """Either all containers run as processes of the node or none."""
    of_pod = spec.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
    count = 0
    for container, place in containers:
        own = container.get("securityContext", {}).get("windowsOptions", {}).get("hostProcess")
        if of_pod is not None and own is not None and of_pod != own:
            detail = (
                f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            )
            found.append(invalid_value(f"{place}.securityContext.windowsOptions.hostProcess", own, detail))
        count += bool(of_pod if own is None else own)
    if not count:
        return
    if count != len(containers):
        detail = (
            "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        )
        found.append(invalid_value(path, "", detail))
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        found.append(invalid_value(f"{path}.hostNetwork", False, detail))


_NOT_WINDOWS_POD = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_NOT_WINDOWS_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def check_operating_system(
    spec: Document, containers: list[tuple[Document, str]], path: str, found: Found
) -> None:
    """What is only for one operating system may not be set for the other."""
    name = spec["os"].get("name", "")
    if not name:
        found.append(required(f"{path}.os.name"))
        return
    contexts = [(container.get("securityContext", {}), place) for container, place in containers]
    if name == "linux":
        detail = "windows options cannot be set for a linux pod"
        for context, place in [(spec.get("securityContext", {}), path), *contexts]:
            if "windowsOptions" in context:
                found.append(forbidden_value(f"{place}.securityContext.windowsOptions", detail))
    elif name == "windows":
        detail = "cannot be set for a windows pod"
        for field in ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"):
            if field in spec:
                found.append(forbidden_value(f"{path}.{field}", detail))
        for field in _NOT_WINDOWS_POD:
            if field in spec.get("securityContext", {}):
                found.append(forbidden_value(f"{path}.securityContext.{field}", detail))
        for context, place in contexts:
            for field in _NOT_WINDOWS_CONTAINER:
                if field in context:
                    found.append(forbidden_value(f"{place}.securityContext.{field}", detail))
    else:
        found.append(unsupported_value(f"{path}.os", name, ("linux", "windows")))
