"""Pods."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import (
    environment as environment,
)  # its relations are of pods, and those of the next
from moorage.cluster.kinds import pods_security as pods_security
from moorage.cluster.kinds.common import KindStrategy, items_of, keep_spec, own_part, part
from moorage.cluster.kinds.containers import KINDS
from moorage.cluster.kinds.pods_annotations import annotation_changes, pod_annotations
from moorage.cluster.kinds.pods_defaults import default_pod
from moorage.cluster.kinds.pods_spec import merge_label_keys
from moorage.cluster.kinds.pods_status import default_status, first_status, keep_known, status_changes
from moorage.cluster.kinds.pods_updates import spec_changes
from moorage.cluster.kinds.pods_warnings import is_new, name_warnings, pod_warnings
from moorage.cluster.schema.checking import Around, check_form, relates
from moorage.cluster.schema.definitions import keep_status


class PodStrategy(KindStrategy):
    type_name = "core.v1.Pod"

    def default(self, document: Document) -> None:
        default_pod(document)
        default_status(part(document, "status"))

    def prepare_create(self, document: Document) -> None:
        document["status"] = first_status(document)
        spec = document["spec"]
        drop_disabled(spec)
        if "affinity" in spec or "topologySpreadConstraints" in spec:
            merge_label_keys(spec, part(document["metadata"], "labels"))

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        drop_disabled(new["spec"])

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_spec(new, old)
        owners = old["metadata"].get("ownerReferences")
        if owners is not None:
            new["metadata"]["ownerReferences"] = owners
        else:
            new["metadata"].pop("ownerReferences", None)
        keep_known(own_part(new, "status"), part(old, "status"))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from annotation_changes(new, old)
        yield from spec_changes(new["spec"], old["spec"])

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from annotation_changes(new, old)
        yield from status_changes(new, old)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        spec, status = part(document, "spec"), part(document, "status")
        return {
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": status.get("podIP", ""),
            "status.podIPs": "",  # it can be asked for, and is never known
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }

    def warnings(self, document: Document) -> list[str]:
        if not is_new(document):
            return []
        what = "this is used in the Pod's hostname, which can result in surprising behavior"
        return name_warnings(document, what) + pod_warnings(document)


@relates("core.v1.Pod")
def _own_annotations(pod: Document, path: str, around: Around) -> Iterator[Cause]:
    annotations = part(pod, "metadata").get("annotations")
    if annotations:
        yield from pod_annotations(annotations, part(pod, "spec"), "metadata.annotations")


@relates("core.v1.Pod")
def _only_in_pods(pod: Document, path: str, around: Around) -> Iterator[Cause]:
    """What is not asked of templates, which may have placeholders."""
    spec = part(pod, "spec")
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            image = container.get("image", "")
            if image != image.strip():
                yield from check_form("unpadded", image, f"spec.{kind}[{index}].image")
    if not spec.get("serviceAccountName"):
        yield from _tokens(spec)
    if is_new(pod):
        yield from _beginning(spec)


def _tokens(spec: Document) -> Iterator[Cause]:
    for volume, place in items_of(spec, "volumes", "spec"):
        for source, where in items_of(part(volume, "projected"), "sources", f"{place}.projected"):
            if "serviceAccountToken" in source:
                text = "must not be specified when serviceAccountName is not set"
                yield errors.forbidden_value(f"{where}.serviceAccountToken", text)


def _beginning(spec: Document) -> Iterator[Cause]:
    if spec.get("ephemeralContainers"):
        yield errors.forbidden_value("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        text = "cannot be set until all schedulingGates have been cleared"
        yield errors.forbidden_value("spec.nodeName", text)


def drop_disabled(spec: Document) -> None:
    """Takes out fields of features that are not on in this version of Kubernetes."""
    spec.pop("schedulingGroup", None)
    for kind in KINDS:
        for container in spec.get(kind) or ():
            if "lifecycle" in container:
                container["lifecycle"].pop("stopSignal", None)
    for volume in spec.get("volumes") or ():
        for source in part(volume, "projected").get("sources") or ():
            source.pop("clusterTrustBundle", None)
            source.pop("podCertificate", None)
