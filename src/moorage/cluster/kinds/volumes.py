"""The rules of a pod's volumes and of the sources that are met most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moorage.api.quantities import parse
from moorage.cluster.base.errors import (
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    too_long,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.claims import claim_rules
from moorage.cluster.kinds.metadata import check_annotations
from moorage.cluster.kinds.rules import (
    Found,
    check_choice,
    check_dns_label,
    check_dns_subdomain,
    check_labels,
    check_no_backsteps,
)
from moorage.cluster.kinds.volumes_files import (
    check_field_file,
    check_key_to_path,
    check_mode,
    check_projected,
)
from moorage.cluster.kinds.volumes_remote import REMOTE_SOURCES
from moorage.cluster.schema.forms import dns_subdomain_problems, size

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)


def check_volumes(
    volumes: Sequence[Document], pod_name: str, path: str, found: Found, *, in_pod: bool
) -> Mapping[str, Document]:
    """Returns the volumes that keep the rules, by name; only those can be mounted."""
    created = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume}
    good: dict[str, Document] = {}
    for index, volume in enumerate(volumes):
        place = f"{path}[{index}]"
        before = len(found)
        name = volume.get("name", "")
        _check_source(volume, name, pod_name, place, found, in_pod=in_pod)
        if name:
            check_dns_label(name, f"{place}.name", found)
        else:
            found.append(required(f"{place}.name"))
        if name in good:
            found.append(duplicate_value(f"{place}.name", name))
        if len(found) == before:
            good[name] = volume
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if pod_name and claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid_value(f"{place}.persistentVolumeClaim.claimName", claim, detail))
    return good


def _check_source(
    volume: Document, name: str, pod_name: str, path: str, found: Found, *, in_pod: bool
) -> None:
    first = True
    for source, check in _SOURCES.items():
        if source not in volume:
            continue
        if first:
            check(volume[source], f"{path}.{_PLACES.get(source, source)}", found)
            if source == "ephemeral" and pod_name and name:
                claim = f"{pod_name}-{name}"
                for problem in dns_subdomain_problems(claim):
                    found.append(invalid_value(f"{path}.name", name, f'PVC name "{claim}": {problem}'))
            if source == "image" and in_pod and not volume[source].get("reference"):
                found.append(required(f"{path}.image.reference"))
        else:
            called = _CALLED.get(source, source)
            found.append(forbidden_value(f"{path}.{called}", "may not specify more than 1 volume type"))
        first = False
    if first:
        found.append(required(path, "must specify a volume type"))


def _check_empty_dir(source: Document, path: str, found: Found) -> None:
    if parse(source.get("sizeLimit", "0")) < 0:
        detail = "SizeLimit field must be a valid resource quantity"
        found.append(forbidden_value(f"{path}.sizeLimit", detail))


def _check_host_path(source: Document, path: str, found: Found) -> None:
    if not source.get("path"):
        found.append(required(f"{path}.path"))
        return
    check_no_backsteps(source["path"], f"{path}.path", found)
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        found.append(unsupported_value(f"{path}.type", kind, _HOST_PATH_TYPES))


def _check_secret(source: Document, path: str, found: Found) -> None:
    _check_keys(source, "secretName", path, found)


def _check_config_map(source: Document, path: str, found: Found) -> None:
    _check_keys(source, "name", path, found)


def _check_keys(source: Document, name: str, path: str, found: Found) -> None:
    if not source.get(name):
        found.append(required(f"{path}.{name}"))
    check_mode(source.get("defaultMode"), f"{path}.defaultMode", found)
    for index, item in enumerate(source.get("items", ())):
        check_key_to_path(item, f"{path}.items[{index}]", found)


def _check_claim(source: Document, path: str, found: Found) -> None:
    if not source.get("claimName"):
        found.append(required(f"{path}.claimName"))


def _check_nfs(source: Document, path: str, found: Found) -> None:
    for field in ("server", "path"):
        if not source.get(field):
            found.append(required(f"{path}.{field}"))
    if not source.get("path", "").startswith("/"):
        found.append(invalid_value(f"{path}.path", source.get("path", ""), "must be an absolute path"))


def _check_downward(source: Document, path: str, found: Found) -> None:
    check_mode(source.get("defaultMode"), f"{path}.defaultMode", found)
    for file in source.get("items", ()):
        check_field_file(file, path, found)


def _check_csi(source: Document, path: str, found: Found) -> None:
    driver = source.get("driver", "")
    if not driver:
        found.append(required(f"{path}.driver"))
    else:
        if size(driver) > 63:
            found.append(too_long(f"{path}.driver", 63))
        for problem in dns_subdomain_problems(driver.lower()):
            found.append(invalid_value(f"{path}.driver", driver, problem))
    if "nodePublishSecretRef" in source:
        secret = source["nodePublishSecretRef"].get("name", "")
        if secret:
            check_dns_subdomain(secret, f"{path}.name", found)
        else:
            found.append(required(f"{path}.nodePublishSecretRef.name"))


def _check_ephemeral(source: Document, path: str, found: Found) -> None:
    template = source.get("volumeClaimTemplate")
    place = f"{path}.volumeClaimTemplate"
    if template is None:
        found.append(required(place))
        return
    metadata: dict[str, Any] = template.get("metadata", {})
    check_annotations(metadata.get("annotations"), f"{place}.metadata.annotations", found)
    check_labels(metadata.get("labels"), f"{place}.metadata.labels", found)
    for field in metadata:
        if field not in ("annotations", "labels"):
            found.append(forbidden_value(f"{place}.metadata.{field}", "cannot be set"))
    found.extend(claim_rules(f"{place}.spec", template.get("spec", {})))


def _check_image(source: Document, path: str, found: Found) -> None:
    check_choice(source.get("pullPolicy", ""), f"{path}.pullPolicy", _PULL_POLICIES, found)


_Check = Callable[[Document, str, Found], None]

# In the order in which they count as the first.
_SOURCES: Mapping[str, _Check] = {
    "emptyDir": _check_empty_dir,
    "hostPath": _check_host_path,
    "gitRepo": REMOTE_SOURCES["gitRepo"],
    "gcePersistentDisk": REMOTE_SOURCES["gcePersistentDisk"],
    "awsElasticBlockStore": REMOTE_SOURCES["awsElasticBlockStore"],
    "secret": _check_secret,
    "nfs": _check_nfs,
    "iscsi": REMOTE_SOURCES["iscsi"],
    "glusterfs": REMOTE_SOURCES["glusterfs"],
    "flocker": REMOTE_SOURCES["flocker"],
    "persistentVolumeClaim": _check_claim,
    "rbd": REMOTE_SOURCES["rbd"],
    "cinder": REMOTE_SOURCES["cinder"],
    "cephfs": REMOTE_SOURCES["cephfs"],
    "quobyte": REMOTE_SOURCES["quobyte"],
    "downwardAPI": _check_downward,
    "fc": REMOTE_SOURCES["fc"],
    "flexVolume": REMOTE_SOURCES["flexVolume"],
    "configMap": _check_config_map,
    "azureFile": REMOTE_SOURCES["azureFile"],
    "vsphereVolume": REMOTE_SOURCES["vsphereVolume"],
    "photonPersistentDisk": REMOTE_SOURCES["photonPersistentDisk"],
    "portworxVolume": REMOTE_SOURCES["portworxVolume"],
    "azureDisk": REMOTE_SOURCES["azureDisk"],
    "storageos": REMOTE_SOURCES["storageos"],
    "projected": check_projected,
    "scaleIO": REMOTE_SOURCES["scaleIO"],
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
# Where messages call a source by another name than the API does.
_PLACES = {"gcePersistentDisk": "persistentDisk"}
_CALLED = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
