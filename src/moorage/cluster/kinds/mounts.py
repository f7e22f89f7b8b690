"""The rules of mounting volumes into containers, as files and as devices."""

from __future__ import annotations

from collections.abc import Mapping

from moorage.cluster.base.errors import (
    forbidden_value,
    invalid_value,
    required,
    unsupported_value,
    value_not_found,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import Found, check_descending_path

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def check_mounts(container: Document, volumes: Mapping[str, Document], path: str, found: Found) -> None:
    devices = {
        device.get("name", ""): device.get("devicePath") for device in container.get("volumeDevices", ())
    }
    mounted: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        place = f"{path}[{index}]"
        name, target = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            found.append(required(f"{place}.name"))
        if name not in volumes:
            found.append(value_not_found(f"{place}.name", name))
        if not target:
            found.append(required(f"{place}.mountPath"))
        if target in mounted:
            found.append(invalid_value(f"{place}.mountPath", target, "must be unique"))
        mounted.add(target)
        if name in devices:
            found.append(invalid_value(f"{place}.name", name, "must not already exist in volumeDevices"))
        if target in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            found.append(invalid_value(f"{place}.mountPath", target, detail))
        below, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
        check_descending_path(below, f"{path}.subPath", found)
        if expression and below:
            detail = "subPathExpr and subPath are mutually exclusive"
            found.append(invalid_value(f"{place}.subPathExpr", expression, detail))
        check_descending_path(expression, f"{path}.subPathExpr", found)
        if "mountPropagation" in mount:
            _check_propagation(mount["mountPropagation"], container, f"{path}.mountPropagation", found)
        if "recursiveReadOnly" in mount:
            _check_recursive(mount, f"{path}.recursiveReadOnly", found)


def _check_propagation(mode: str, container: Document, path: str, found: Found) -> None:
    if mode not in _PROPAGATIONS:
        found.append(unsupported_value(path, mode, _PROPAGATIONS))
    if mode == "Bidirectional" and not container.get("securityContext", {}).get("privileged"):
        detail = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden_value(path, detail))


def _check_recursive(mount: Document, path: str, found: Found) -> None:
    mode = mount["recursiveReadOnly"]
    if mode not in _RECURSIVE:
        found.append(unsupported_value(path, mode, _RECURSIVE))
    elif mode != "Disabled":
        if not mount.get("readOnly"):
            found.append(forbidden_value(path, "may only be specified when readOnly is true"))
        if mount.get("mountPropagation", "None") != "None":
            detail = "may only be specified when mountPropagation is None or not specified"
            found.append(forbidden_value(path, detail))


def check_devices(container: Document, volumes: Mapping[str, Document], path: str, found: Found) -> None:
    mounts = {mount.get("name", ""): mount.get("mountPath") for mount in container.get("volumeMounts", ())}
    names: set[str] = set()
    targets: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        place = f"{path}[{index}]"
        name, target = device.get("name", ""), device.get("devicePath", "")
        volume = volumes.get(name)
        if not name:
            found.append(required(f"{place}.name"))
        if name in names:
            found.append(invalid_value(f"{place}.name", name, "must be unique"))
        if volume is None:
            found.append(value_not_found(f"{place}.name", name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            found.append(invalid_value(f"{place}.name", name, detail))
        if not target:
            found.append(required(f"{place}.devicePath"))
        if target in targets:
            found.append(invalid_value(f"{place}.devicePath", target, "must be unique"))
        if ".." in target.split("/"):
            found.append(invalid_value(f"{place}.devicePath", target, "can not contain backsteps ('..')"))
        else:
            targets.add(target)
        if name in mounts:
            found.append(invalid_value(f"{place}.name", name, "must not already exist in volumeMounts"))
        if target in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            found.append(invalid_value(f"{place}.devicePath", target, detail))
        if name:
            names.add(name)
