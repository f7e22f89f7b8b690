"""Pods."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.cluster.base.errors import Cause, forbidden_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import keep_spec, own_part
from moorage.cluster.kinds.containers import check_image_padding
from moorage.cluster.kinds.pods_annotations import check_annotation_changes, check_pod_annotations
from moorage.cluster.kinds.pods_defaults import default_pod
from moorage.cluster.kinds.pods_placement import merge_label_keys
from moorage.cluster.kinds.pods_spec import check_pod_spec
from moorage.cluster.kinds.pods_status import check_status_changes, default_status, first_status, keep_known
from moorage.cluster.kinds.pods_updates import check_spec_changes
from moorage.cluster.kinds.pods_warnings import is_new, name_warnings, pod_warnings
from moorage.cluster.kinds.rules import Found
from moorage.cluster.schema.definitions import Strategy, keep_status


class PodStrategy(Strategy):
    counts_generations = True

    def default(self, document: Document) -> None:
        default_pod(own_part(document, "spec"))
        if document["spec"].get("terminationGracePeriodSeconds", 0) < 0:
            document["spec"]["terminationGracePeriodSeconds"] = 1
        status = document.get("status")
        if status:
            default_status(status)

    def prepare_create(self, document: Document) -> None:
        document["status"] = first_status(document)
        spec = document["spec"]
        drop_disabled(spec)
        if "affinity" in spec or "topologySpreadConstraints" in spec:
            merge_label_keys(spec, document["metadata"].get("labels") or {})

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
        keep_known(own_part(new, "status"), old.get("status", {}))

    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        metadata, spec = document["metadata"], document["spec"]
        annotations = metadata.get("annotations")
        if annotations:
            check_pod_annotations(annotations, spec, "metadata.annotations", found)
        check_pod_spec(spec, "spec", found, in_pod=True, pod_name=metadata.get("name", ""))
        if not spec.get("serviceAccountName") and "volumes" in spec:
            _check_tokens(spec["volumes"], found)
        for kind in ("containers", "initContainers"):
            for index, container in enumerate(spec.get(kind) or ()):
                check_image_padding(container, f"spec.{kind}[{index}]", found)
        if is_new(document):
            if spec.get("ephemeralContainers"):
                found.append(forbidden_value("spec.ephemeralContainers", "cannot be set on create"))
            if spec.get("nodeName") and spec.get("schedulingGates"):
                detail = "cannot be set until all schedulingGates have been cleared"
                found.append(forbidden_value("spec.nodeName", detail))
        return found

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        check_annotation_changes(new, old, found)
        check_spec_changes(new["spec"], old["spec"], found)
        return found

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        check_annotation_changes(new, old, found)
        check_status_changes(new, old, found)
        return found

    def selectable_fields(self, document: Document) -> dict[str, str]:
        spec, status = document.get("spec", {}), document.get("status", {})
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


def _check_tokens(volumes: Iterable[Document], found: Found) -> None:
    for index, volume in enumerate(volumes):
        for number, source in enumerate(volume.get("projected", {}).get("sources") or ()):
            if "serviceAccountToken" in source:
                path = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                detail = "must not be specified when serviceAccountName is not set"
                found.append(forbidden_value(path, detail))


def drop_disabled(spec: Document) -> None:
    """Takes out fields of features that are not on in this version of Kubernetes."""
    spec.pop("schedulingGroup", None)
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            if "lifecycle" in container:
                container["lifecycle"].pop("stopSignal", None)
    for volume in spec.get("volumes", ()):
        for source in volume.get("projected", {}).get("sources") or ():
            source.pop("clusterTrustBundle", None)
            source.pop("podCertificate", None)
