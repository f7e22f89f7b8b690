"""Templates of pods, as workloads have them."""

from __future__ import annotations

from moorage.cluster.base.errors import (
    Cause,
    forbidden_value,
    invalid_value,
    required,
    shown,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.metadata import check_annotations
from moorage.cluster.kinds.pods import drop_disabled
from moorage.cluster.kinds.pods_annotations import pod_annotations
from moorage.cluster.kinds.pods_defaults import default_pod_spec
from moorage.cluster.kinds.pods_spec import check_pod_spec
from moorage.cluster.kinds.rules import (
    Found,
    check_label_selector,
    check_labels,
    is_empty_selector,
    selects,
    shown_map,
    shown_selector,
)

MISMATCH = "`selector` does not match template `labels`"


def default_template(template: Document) -> None:
    default_pod_spec(own_part(template, "spec"))


def prepare_template(template: Document) -> None:
    drop_disabled(own_part(template, "spec"))


def check_template(template: Document, path: str, found: Found) -> None:
    metadata, spec = part(template, "metadata"), part(template, "spec")
    annotations = metadata.get("annotations")
    check_labels(metadata.get("labels"), f"{path}.labels", found)
    if annotations:
        check_annotations(annotations, f"{path}.annotations", found)
        found.extend(pod_annotations(annotations, spec, f"{path}.annotations"))
    check_pod_spec(spec, f"{path}.spec", found)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        found.append(forbidden_value(f"{path}.spec.ephemeralContainers", detail))


def check_lasting(template: Document, kind: str, path: str, found: Found) -> None:
    """The pods of workloads run until they are deleted."""
    spec = part(template, "spec")
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        found.append(unsupported_value(f"{path}.spec.restartPolicy", policy, ("Always",)))
    if "activeDeadlineSeconds" in spec:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        found.append(forbidden_value(f"{path}.spec.activeDeadlineSeconds", detail))


def check_selector(spec: Document, kind: str, detail: str, found: Found) -> bool:
    """The rules of a workload's selector; says whether it fits to look at the template with it."""
    selector = spec.get("selector")
    if selector is None:
        found.append(required("spec.selector"))
        return True
    before = len(found)
    check_label_selector(selector, "spec.selector", found)
    broken = len(found) > before
    if is_empty_selector(selector):
        found.append(invalid_value("spec.selector", {}, f"empty selector is invalid for {kind}"))
    if broken:
        text = f"Invalid value: {shown(shown_selector(selector))}{detail}"
        found.append(Cause("FieldValueInvalid", "spec.selector", text))
    return not broken


def check_selected(spec: Document, found: Found) -> None:
    """A workload's selector, which must be valid, selects the pods it makes; no selector selects nothing."""
    labels = part(part(spec, "template"), "metadata").get("labels") or {}
    selector = spec.get("selector")
    if selector is None or not selects(selector, labels):
        found.append(invalid_value("spec.template.metadata.labels", shown_map(labels), MISMATCH))
