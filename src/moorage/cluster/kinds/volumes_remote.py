"""The rules of volume sources that are someone else's storage, most of them of the past."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from moorage.cluster.base.errors import invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import Found, check_descending_path, check_dns_label
from moorage.cluster.schema.forms import range_problems, size

_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_MANAGED_URI = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_REGISTRY = "must be a host:port pair or multiple pairs separated by commas"

_Check = Callable[[Document, str, Found], None]


def _needs(*fields: str) -> _Check:
    """The rule that these fields are there."""

    def check(source: Document, path: str, found: Found) -> None:
        for field in fields:
            if not source.get(field):
                found.append(required(f"{path}.{field}"))

    return check


def _check_git_repo(source: Document, path: str, found: Found) -> None:
    if not source.get("repository"):
        found.append(required(f"{path}.repository"))
    check_descending_path(source.get("directory", ""), f"{path}.directory", found)


def _disk(name: str) -> _Check:
    def check(source: Document, path: str, found: Found) -> None:
        if not source.get(name):
            found.append(required(f"{path}.{name}"))
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            found.append(
                invalid_value(f"{path}.partition", partition, "must be between 1 and 255, inclusive")
            )

    return check


def _check_iscsi(source: Document, path: str, found: Found) -> None:
    if not source.get("targetPortal"):
        found.append(required(f"{path}.targetPortal"))
    name = source.get("iqn", "")
    if name:
        _check_initiator(name, f"{path}.iqn", found)
    else:
        found.append(required(f"{path}.iqn"))
    _check_lun(source.get("lun", 0), path, found)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        found.append(required(f"{path}.secretRef"))
    if "initiatorName" in source:
        _check_initiator(source["initiatorName"], f"{path}.initiatorname", found)


def _check_initiator(name: str, path: str, found: Found) -> None:
    form = _INITIATORS.get(name[:3])
    if form is None:
        found.append(invalid_value(path, name, "must be valid format starting with iqn, eui, or naa"))
    elif not form.search(name):
        found.append(invalid_value(path, name, "must be valid format"))


def _check_lun(lun: int, path: str, found: Found) -> None:
    for problem in range_problems(lun, 0, 255):
        found.append(invalid_value(f"{path}.lun", lun, problem))


def _check_flocker(source: Document, path: str, found: Found) -> None:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        found.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        found.append(invalid_value(path, "resource", detail))
    if "/" in name:
        found.append(invalid_value(f"{path}.datasetName", name, "must not contain '/'"))


def _check_secret_name(source: Document, path: str, found: Found) -> None:
    if "secretRef" in source and not source["secretRef"].get("name"):
        found.append(required(f"{path}.secretRef.name"))


def _check_cinder(source: Document, path: str, found: Found) -> None:
    if not source.get("volumeID"):
        found.append(required(f"{path}.volumeID"))
    _check_secret_name(source, path, found)


def _check_quobyte(source: Document, path: str, found: Found) -> None:
    registry = source.get("registry", "")
    if not registry:
        found.append(required(f"{path}.registry", _REGISTRY))
    elif size(source.get("tenant", "")) >= 65:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        found.append(required(f"{path}.tenant", detail))
    else:
        for pair in registry.split(","):
            if pair.count(":") != 1 and "]:" not in pair:
                found.append(invalid_value(f"{path}.registry", registry, _REGISTRY))
    if not source.get("volume"):
        found.append(required(f"{path}.volume"))


def _check_fibre_channel(source: Document, path: str, found: Found) -> None:
    targets, ids = source.get("targetWWNs"), source.get("wwids")
    if not targets and not ids:
        detail = "must specify either targetWWNs or wwids, but not both"
        found.append(required(f"{path}.targetWWNs", detail))
    if targets and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        found.append(invalid_value(f"{path}.targetWWNs", targets, detail))
    if targets:
        if "lun" in source:
            _check_lun(source["lun"], path, found)
        else:
            found.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))


def _check_flex(source: Document, path: str, found: Found) -> None:
    if not source.get("driver"):
        found.append(required(f"{path}.driver"))
    for key in source.get("options", {}):
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            found.append(invalid_value(f"{path}.options[{key}]", key, detail))


def _check_azure_disk(source: Document, path: str, found: Found) -> None:
    _needs("diskName", "diskURI")(source, path, found)
    mode, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if mode is not None and mode not in _CACHING_MODES:
        found.append(unsupported_value(f"{path}.cachingMode", mode, _CACHING_MODES))
    if kind is None:
        return
    if kind not in _DISK_KINDS:
        found.append(unsupported_value(f"{path}.kind", kind, _DISK_KINDS))
    if kind == "Managed":
        if not uri.startswith("/subscriptions/"):
            found.append(unsupported_value(f"{path}.diskURI", uri, (_MANAGED_URI,)))
    elif not uri.startswith("https://"):
        found.append(unsupported_value(f"{path}.diskURI", uri, (_BLOB_URI,)))


def _check_storage_os(source: Document, path: str, found: Found) -> None:
    name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
    if name:
        check_dns_label(name, f"{path}.volumeName", found)
    else:
        found.append(required(f"{path}.volumeName"))
    if namespace:
        check_dns_label(namespace, f"{path}.volumeNamespace", found)
    _check_secret_name(source, path, found)


REMOTE_SOURCES: Mapping[str, _Check] = {
    "gitRepo": _check_git_repo,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "iscsi": _check_iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _check_flocker,
    "rbd": _needs("monitors", "image"),
    "cinder": _check_cinder,
    "cephfs": _needs("monitors"),
    "quobyte": _check_quobyte,
    "fc": _check_fibre_channel,
    "flexVolume": _check_flex,
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _check_azure_disk,
    "storageos": _check_storage_os,
    "scaleIO": _needs("gateway", "system", "volumeName"),
}
