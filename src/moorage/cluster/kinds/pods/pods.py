"""Pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, items_of, keep_spec, own_part, part
from moorage.cluster.kinds.pods import changes as changes
from moorage.cluster.kinds.pods import resources as resources
from moorage.cluster.kinds.pods import volumes as volumes  # its relations are of pods
from moorage.cluster.kinds.pods.containers import KINDS
from moorage.cluster.kinds.pods.security import annotation_changes, pod_annotations
from moorage.cluster.kinds.pods.spec import merge_label_keys
from moorage.cluster.kinds.pods.warnings import is_new, name_warnings, pod_warnings
from moorage.cluster.schema.checking import Around, check_form, relates
from moorage.cluster.schema.defaulting import fill_defaults
from moorage.cluster.schema.definitions import keep_field, keep_status


class PodStrategy(KindStrategy):
    type_name = "core.v1.Pod"

    def default(self, document: Document) -> None:
        default_pod(document)
        changes.default_status(part(document, "status"))

    def prepare_create(self, document: Document) -> None:
        document["status"] = changes.first_status(document)
        spec = document["spec"]
        drop_disabled(spec, self.gates)
        if "affinity" in spec or "topologySpreadConstraints" in spec:
            merge_label_keys(spec, part(document["metadata"], "labels"))

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        drop_disabled(new["spec"], self.gates)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_spec(new, old)
        keep_field(new["metadata"], old["metadata"], "ownerReferences")
        changes.keep_known(own_part(new, "status"), part(old, "status"))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from annotation_changes(new, old)
        yield from changes.spec_changes(new["spec"], old["spec"])

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from annotation_changes(new, old)
        yield from changes.status_changes(new, old)

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
        for container, place in items_of(spec, kind, "spec"):
            yield from check_form("unpadded", container.get("image", ""), f"{place}.image")
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


def drop_disabled(spec: Document, gates: frozenset[str]) -> None:
    """Takes out fields of features that are not on: alpha ones, unless their gates are."""
    if "GenericWorkload" not in gates:
        spec.pop("schedulingGroup", None)
    for kind in KINDS:
        for container in spec.get(kind) or ():
            if "lifecycle" in container:
                container["lifecycle"].pop("stopSignal", None)
    for volume in spec.get("volumes") or ():
        for source in part(volume, "projected").get("sources") or ():
            source.pop("clusterTrustBundle", None)
            source.pop("podCertificate", None)


# What pods and templates have where nothing is said, beyond what the rules of their types tell

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REFERENCE = re.compile(
    rf"(?:(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_IDENTIFIER = re.compile("[a-f0-9]{64}")


def default_pod(pod: Document) -> None:
    """Completes a pod: as a template, and with what only pods have."""
    spec = own_part(pod, "spec")
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            own = container.get("resources")
            if own and own.get("limits"):
                own["requests"] = {**own["limits"], **part(own, "requests")}
            if "ports" in container and spec.get("hostNetwork"):
                for port in container["ports"]:
                    if port.get("containerPort"):
                        port.setdefault("hostPort", port["containerPort"])
    if "resources" in spec:
        _default_pod_resources(spec)
    fill_defaults("core.v1.Pod", pod)
    _complete(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1


def default_pod_spec(spec: Document) -> None:
    """Completes the spec of a pod template."""
    fill_defaults("core.v1.PodSpec", spec)
    _complete(spec)


def round_claim(spec: Document) -> None:
    """Rounds what a claim for a volume asks for."""
    resources.round_amounts(part(spec, "resources"))


def _complete(spec: Document) -> None:
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes") or ():
        _complete_volume(volume)
    for kind in KINDS:
        for container in spec.get(kind) or ():
            if "imagePullPolicy" not in container:
                container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
            if container.get("resources"):
                resources.round_amounts(container["resources"])
    if "overhead" in spec:
        resources.rounded(spec["overhead"])


def _complete_volume(volume: Document) -> None:
    if not volume.keys() - {"name"}:
        volume["emptyDir"] = {}
    image = volume.get("image")
    if image is not None and "pullPolicy" not in image:
        image["pullPolicy"] = default_pull_policy(image.get("reference", ""))
    template = part(volume, "ephemeral").get("volumeClaimTemplate")
    if template:
        round_claim(part(template, "spec"))


def _default_pod_resources(spec: Document) -> None:
    whole: Document = spec["resources"]
    limits: dict[str, str] = dict(part(whole, "limits"))
    for name, (_, text) in resources.aggregate(spec, "limits").items():
        if resources.is_huge_pages(name):
            limits.setdefault(name, text)
    if limits:
        whole["limits"] = limits
        requests: dict[str, str] = dict(part(whole, "requests"))
        for name, (_, text) in resources.aggregate(spec, "requests").items():
            if resources.is_pod_level(name) and resources.may_overcommit(name):
                requests.setdefault(name, text)
        for name, amount in limits.items():
            if resources.is_pod_level(name):
                requests.setdefault(name, amount)
        if requests:
            whole["requests"] = requests
    resources.round_amounts(whole)


@lru_cache(maxsize=4096)
def default_pull_policy(image: str) -> str:
    """Images whose tag is `latest`, said or not, may have changed since they were last pulled."""
    domain, slash, rest = image.partition("/")
    if not slash or not (set(".:") & set(domain) or domain == "localhost" or domain != domain.lower()):
        rest = image
    found = _REFERENCE.fullmatch(image)
    repository = rest.partition(":")[0].partition("@")[0]
    if found is None or repository != repository.lower() or _IDENTIFIER.fullmatch(image):
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"
