"""The volumes of pods: what relates their fields and those of the sources they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.metadata import annotation_rules
from moorage.cluster.kinds.pods.containers import (
    FILE_FIELDS,
    GOOD_VOLUMES,
    field_reference,
    resource_reference,
)
from moorage.cluster.schema import forms
from moorage.cluster.schema.checking import Around, Found, check, check_form, check_labels, relates
from moorage.cluster.schema.rules import rules_of

# Where messages call a source that is too much by another name than the API does.
_CALLED = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}

_SOURCES = rules_of("core.v1.Volume").alternatives


@relates("core.v1.PodSpec")
def _volumes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    """Only volumes that keep the rules can be mounted."""
    pod_name = part(around.get("core.v1.Pod", {}), "metadata").get("name", "")
    volumes = spec.get("volumes") or ()
    created = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume}
    good: dict[str, Document] = {}
    for index, volume in enumerate(volumes):
        place, name = f"{path}.volumes[{index}]", volume.get("name", "")
        causes = check("core.v1.Volume", volume, place, around)
        if name in good:
            causes.append(errors.duplicate_value(f"{place}.name", name))
        if not causes:
            good[name] = volume
        yield from causes
        claim = part(volume, "persistentVolumeClaim").get("claimName", "")
        if pod_name and claim in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            yield errors.invalid_value(f"{place}.persistentVolumeClaim.claimName", claim, text)
    around[GOOD_VOLUMES] = good


@relates("core.v1.Volume")
def _source(volume: Document, path: str, around: Around) -> Found:
    return check_source(volume, _SOURCES, path)


def check_source(holder: Document, sources: Mapping[str, int], path: str) -> Found:
    """A volume has one source."""
    given = [name for name in holder if name in sources]
    if len(given) == 1:
        return []
    if not given:
        return [errors.required(path, "must specify a volume type")]
    _, *others = sorted(given, key=sources.__getitem__)
    text = "may not specify more than 1 volume type"
    return [errors.forbidden_value(f"{path}.{_CALLED.get(name, name)}", text) for name in others]


# Sources that are of the pod


@relates("core.v1.EmptyDirVolumeSource")
def _size_limit(source: Document, path: str, around: Around) -> Iterator[Cause]:
    if "sizeLimit" in source and forms.nanos(source["sizeLimit"]) < 0:
        yield errors.forbidden_value(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


@relates("core.v1.ImageVolumeSource")
def _image_reference(source: Document, path: str, around: Around) -> Iterator[Cause]:
    """A template may still get it."""
    if "core.v1.Pod" in around and not source.get("reference"):
        yield errors.required(f"{path}.reference")


@relates("core.v1.EphemeralVolumeSource")
def _claim_name(source: Document, path: str, around: Around) -> Iterator[Cause]:
    name = around["core.v1.Volume"].get("name", "")
    pod_name = part(around.get("core.v1.Pod", {}), "metadata").get("name", "")
    if not name or not pod_name:
        return
    claim = f"{pod_name}-{name}"
    for problem in forms.dns_subdomain_problems(claim):
        place = path.removesuffix(".ephemeral") + ".name"
        yield errors.invalid_value(place, name, f'PVC name "{claim}": {problem}')


@relates("core.v1.PersistentVolumeClaimTemplate")
def _claim_metadata(template: Document, path: str, around: Around) -> Iterator[Cause]:
    metadata = part(template, "metadata")
    yield from annotation_rules(metadata.get("annotations"), f"{path}.metadata.annotations")
    yield from check_labels(part(metadata, "labels"), f"{path}.metadata.labels")
    for field in metadata:
        if field not in ("annotations", "labels"):
            yield errors.forbidden_value(f"{path}.metadata.{field}", "cannot be set")


# Sources whose files the API server's objects are


@relates("core.v1.DownwardAPIProjection", "core.v1.DownwardAPIVolumeSource")
def _files(source: Document, path: str, around: Around) -> Iterator[Cause]:
    """Messages do not say which file it is."""
    for file in source.get("items") or ():
        yield from check("core.v1.DownwardAPIVolumeFile", file, path, around)


@relates("core.v1.DownwardAPIVolumeFile")
def _file_content(file: Document, path: str, around: Around) -> Iterator[Cause]:
    if "fieldRef" in file:
        yield from field_reference(file["fieldRef"], f"{path}.fieldRef", FILE_FIELDS)
    elif "resourceFieldRef" in file:
        reference, place = file["resourceFieldRef"], f"{path}.resourceFieldRef"
        yield from resource_reference(reference, place, in_volume=True)
    yield from _check_one_of(file, ("fieldRef", "resourceFieldRef"), path)


def _check_one_of(source: Document, fields: tuple[str, str], path: str) -> Iterator[Cause]:
    given = [source.get(name) not in (None, "") for name in fields]
    both = " and ".join(fields)
    if not any(given):
        yield errors.required(path, f"one of {both} is required")
    elif all(given):
        yield errors.invalid_value(path, "resource", f"{both} can not be specified simultaneously")


@relates("core.v1.ProjectedVolumeSource")
def _projected(source: Document, path: str, around: Around) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        if len(projection) > 1:
            text = "may not specify more than 1 volume type per source"
            yield errors.forbidden_value(f"{path}.sources[{index}]", text)
        for kind, content in projection.items():
            if kind == "serviceAccountToken" and not content.get("path"):
                yield errors.required(f"{path}.path")
            elif kind == "serviceAccountToken":
                yield from check_form("local-path", content["path"], f"{path}.path")
            for item in content.get("items") or ():
                target = item.get("path", "")
                if target and target in taken:
                    shown = target if kind == "downwardAPI" else content.get("name", "")
                    yield errors.invalid_value(path, shown, "conflicting duplicate paths")
                taken.add(target)


# Sources that are someone else's storage, most of them of the past: only the rules that are no fine points

_MANAGED_URI = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
)
_BLOB_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


@relates("core.v1.CSIVolumeSource")
def _publish_secret(source: Document, path: str, around: Around) -> Iterator[Cause]:
    secret = part(source, "nodePublishSecretRef").get("name")
    if secret:
        yield from check_form("dns-subdomain", secret, f"{path}.name")


@relates("core.v1.ISCSIVolumeSource")
def _initiators(source: Document, path: str, around: Around) -> Iterator[Cause]:
    for field, called in (("iqn", "iqn"), ("initiatorName", "initiatorname")):
        if source.get(field) and not source[field].startswith(("iqn", "eui", "naa")):
            text = "must be valid format starting with iqn, eui, or naa"
            yield errors.invalid_value(f"{path}.{called}", source[field], text)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        yield errors.required(f"{path}.secretRef")


@relates("core.v1.FlockerVolumeSource")
def _dataset(source: Document, path: str, around: Around) -> Iterator[Cause]:
    return _check_one_of(source, ("datasetName", "datasetUUID"), path)


@relates("core.v1.QuobyteVolumeSource")
def _tenant(source: Document, path: str, around: Around) -> Iterator[Cause]:
    if source.get("registry") and forms.size(source.get("tenant", "")) > 64:
        text = "must be a UUID and may not exceed a length of 64 characters"
        yield errors.required(f"{path}.tenant", text)


@relates("core.v1.ISCSIVolumeSource")
def _initiator(source: Document, path: str, around: Around) -> Iterator[Cause]:
    if "initiatorName" in source:
        yield from check_form("iscsi-name", source["initiatorName"], f"{path}.initiatorname")
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        yield errors.required(f"{path}.secretRef")


@relates("core.v1.FCVolumeSource")
def _fibre_channel(source: Document, path: str, around: Around) -> Iterator[Cause]:
    targets, ids = source.get("targetWWNs"), source.get("wwids")
    if not targets and not ids:
        yield errors.required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if targets and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        yield errors.invalid_value(f"{path}.targetWWNs", targets, text)
    if targets and "lun" not in source:
        yield errors.required(f"{path}.lun", "lun is required if targetWWNs is specified")


@relates("core.v1.FlexVolumeSource")
def _flex_options(source: Document, path: str, around: Around) -> Iterator[Cause]:
    for key in part(source, "options"):
        domain = "." + key.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            yield errors.invalid_value(f"{path}.options[{key}]", key, text)


@relates("core.v1.AzureDiskVolumeSource")
def _disk_uri(source: Document, path: str, around: Around) -> Iterator[Cause]:
    known = _MANAGED_URI if source["kind"] == "Managed" else _BLOB_URI
    uri = source.get("diskURI", "")
    if not uri.startswith(known.partition("{")[0]):
        yield errors.unsupported_value(f"{path}.diskURI", uri, (known,))
