"""Workloads: kinds whose controllers make pods from a template, and the kinds these need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, WithStatus, own_part, part, shown_inside
from moorage.cluster.kinds.metadata import annotation_rules
from moorage.cluster.kinds.pods.pods import default_pod_spec, drop_disabled, round_claim
from moorage.cluster.kinds.pods.security import pod_annotations
from moorage.cluster.kinds.pods.warnings import name_warnings, pod_warnings
from moorage.cluster.kinds.selectors import is_empty_selector, shown_labels, shown_selector
from moorage.cluster.schema.builtin import type_named
from moorage.cluster.schema.checking import Around, Found, check, check_labels, relates
from moorage.cluster.schema.definitions import keep_field
from moorage.cluster.schema.model import Schema

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

_MISMATCH = "`selector` does not match template `labels`"
_NAMES_PODS = "this is used in Pod names and hostnames, which can result in surprising behavior"
_SOME = re.compile(r"[+-]?0*[1-9][0-9]*|0*[1-9][0-9]*%")
_PARTS = ("updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas", "fullyLabeledReplicas")
_FIXED_IN_STATEFUL_SETS = ("podManagementPolicy", "selector", "serviceName", "volumeClaimTemplates")
_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


# Templates and selectors


@relates("core.v1.PodTemplateSpec")
def _template(template: Document, path: str, around: Around) -> Iterator[Cause]:
    metadata = part(template, "metadata")
    annotations = part(metadata, "annotations")
    yield from check_labels(part(metadata, "labels"), f"{path}.labels")
    yield from annotation_rules(annotations, f"{path}.annotations")
    yield from pod_annotations(annotations, part(template, "spec"), f"{path}.annotations")


@relates("core.v1.PodTemplateSpec")
def _no_ephemeral_containers(template: Document, path: str, around: Around) -> Iterator[Cause]:
    if part(template, "spec").get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        yield errors.forbidden_value(f"{path}.spec.ephemeralContainers", text)


def _check_template(template: Document, path: str) -> Found:
    return check("core.v1.PodTemplateSpec", template, f"{path}.template")


def _check_selection(
    spec: Document, template: Document, path: str, kind: str, complaint: str
) -> Iterator[Cause]:
    """The selector and the template, which is looked at only with a selector that is valid."""
    selector, place = spec.get("selector"), f"{path}.selector"
    broken = check("meta.v1.LabelSelector", selector, place)
    yield from broken
    if selector is None:
        yield errors.required(place)
    elif is_empty_selector(selector):
        yield errors.invalid_value(place, {}, f"empty selector is invalid for {kind}")
    if broken:
        yield errors.invalid_value(place, shown_selector(spec["selector"]), complaint)
    else:
        yield from check_selects_own(spec, path)
        yield from _check_template(template, path)


def check_selects_own(spec: Document, path: str) -> Iterator[Cause]:
    """A selector selects the pods of the template; no selector selects nothing."""
    labels = part(spec["template"], "metadata").get("labels")
    if not selector_of(spec.get("selector")).matches(labels or {}):
        yield errors.invalid_value(f"{path}.template.metadata.labels", shown_labels(labels), _MISMATCH)


class PodTemplateStrategy(KindStrategy):
    type_name = "core.v1.PodTemplate"

    def default(self, document: Document) -> None:
        default_pod_spec(own_part(own_part(document, "template"), "spec"))
        super().default(document)

    def prepare_create(self, document: Document) -> None:
        drop_disabled(document["template"]["spec"], self.gates)

    def prepare_update(self, new: Document, old: Document) -> None:
        drop_disabled(new["template"]["spec"], self.gates)

    def warnings(self, document: Document) -> list[str]:
        return pod_warnings(document["template"], "template")


# What all workloads do alike


class _Workload(WithStatus):
    counts_generations = True

    def __init__(self) -> None:
        super().__init__()
        self._status_type = f"{self.type_name}Status"
        fields = type_named(self._status_type).fields
        self.first_status = {name: 0 for name, field in fields.items() if field.default == 0}

    def default(self, document: Document) -> None:
        self._default_template(own_part(document, "spec"))
        super().default(document)

    def _default_template(self, spec: Document) -> None:
        default_pod_spec(own_part(own_part(spec, "template"), "spec"))

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        self._drop_disabled(document["spec"])

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        self._drop_disabled(new["spec"])

    def _drop_disabled(self, spec: Document) -> None:
        """Takes out fields of features that are not on in this version of Kubernetes."""
        drop_disabled(part(part(spec, "template"), "spec"), self.gates)

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found = check(self._status_type, part(new, "status"), "status")
        found += _check_parts(part(new, "status"), type_named(self._status_type))
        count, before = (part(document, "status").get("collisionCount") for document in (new, old))
        if before is not None and (count is None or count < before):
            text = "cannot be decremented"
            found.append(errors.invalid_value("status.collisionCount", count or 0, text))
        return found

    def warnings(self, document: Document) -> list[str]:
        return pod_warnings(part(document["spec"], "template"), "spec.template")

    def update_warnings(self, new: Document, old: Document) -> list[str]:
        return self.warnings(new) if self.is_new_generation(new, old) else []


class _Replicating(_Workload):
    """What keeps a number of equal pods, which are called after it."""

    def warnings(self, document: Document) -> list[str]:
        return name_warnings(document, _NAMES_PODS) + super().warnings(document)


def _check_parts(status: Document, schema: Schema) -> Iterator[Cause]:
    """No part of the replicas is more than all, and those available are ready."""
    for field in _PARTS:
        count = status.get(field, 0)
        if field in schema.fields and count > status.get("replicas", 0):
            yield errors.invalid_value(f"status.{field}", count, "cannot be greater than status.replicas")
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        called = "status.readyReplicas" if schema.name == "StatefulSetStatus" else "readyReplicas"
        yield errors.invalid_value("status.availableReplicas", available, f"cannot be greater than {called}")


def _is_rolling(strategy: Document) -> bool:
    """Whether a strategy, which may still have to be completed, updates pods little by little."""
    return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")


def _is_zero(value: int | str) -> bool:
    """Whether nothing is allowed; a text that is neither a number nor a percentage counts as nothing too."""
    return not _SOME.fullmatch(str(value))


# Deployments, ReplicaSets and ReplicationControllers


class DeploymentStrategy(_Replicating):
    type_name = "apps.v1.Deployment"

    def is_new_generation(self, new: Document, old: Document) -> bool:
        """Annotations count too: they are copied to the replica sets."""
        if new["metadata"].get("annotations") != old["metadata"].get("annotations"):
            return True
        return super().is_new_generation(new, old)

    def default(self, document: Document) -> None:
        strategy = own_part(own_part(document, "spec"), "strategy")
        if _is_rolling(strategy):
            own_part(strategy, "rollingUpdate")
        super().default(document)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        super().prepare_status_update(new, old)
        keep_field(new["metadata"], old["metadata"], "labels")


class ReplicaSetStrategy(_Replicating):
    type_name = "apps.v1.ReplicaSet"


@relates("apps.v1.DeploymentSpec", "apps.v1.ReplicaSetSpec")
def _replicated(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    return _check_selection(spec, spec["template"], path, "deployment", "invalid label selector")


@relates("apps.v1.DeploymentSpec")
def _deadline(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        text = "must be greater than minReadySeconds"
        yield errors.invalid_value(f"{path}.progressDeadlineSeconds", deadline, text)


@relates("apps.v1.DeploymentStrategy")
def _deployment_strategy(strategy: Document, path: str, around: Around) -> Iterator[Cause]:
    rolling, place = strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if strategy["type"] not in ("Recreate", "RollingUpdate"):
        shown = shown_inside(strategy, "Type", "RollingUpdate")
        yield errors.unsupported_value(path, shown, ("Recreate", "RollingUpdate"))
    elif rolling and strategy["type"] == "Recreate":
        yield errors.forbidden_value(place, "may not be specified when strategy `type` is 'Recreate'")
    elif rolling:
        yield from check("apps.v1.RollingUpdateDeployment", rolling, place)
        unavailable = rolling["maxUnavailable"]
        if _is_zero(unavailable) and _is_zero(rolling["maxSurge"]):
            text = "may not be 0 when `maxSurge` is 0"
            yield errors.invalid_value(f"{place}.maxUnavailable", unavailable, text)


class ReplicationControllerStrategy(_Replicating):
    type_name = "core.v1.ReplicationController"
    orphans_by_default = True

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        labels = part(part(spec, "template"), "metadata").get("labels")
        if labels and not spec.get("selector"):
            spec["selector"] = dict(labels)
        if labels and not document["metadata"].get("labels"):
            document["metadata"]["labels"] = dict(labels)
        super().default(document)

    def _default_template(self, spec: Document) -> None:
        if "template" in spec:
            super()._default_template(spec)


@relates("core.v1.ReplicationControllerSpec")
def _controlled(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    template = spec.get("template")
    if template is None:
        return
    if spec.get("selector"):
        yield from check_selects_own({**spec, "selector": {"matchLabels": spec["selector"]}}, path)
    yield from _check_template(template, path)


# DaemonSets


class DaemonSetStrategy(_Workload):
    """Also counts in an annotation how often its template has changed, as it once did in a field."""

    type_name = "apps.v1.DaemonSet"

    def default(self, document: Document) -> None:
        strategy = own_part(own_part(document, "spec"), "updateStrategy")
        if _is_rolling(strategy):
            own_part(strategy, "rollingUpdate").setdefault("maxUnavailable", 1)
        elif "rollingUpdate" in strategy:
            strategy["rollingUpdate"].setdefault("maxUnavailable", 0)
        super().default(document)
        if not _template_generation(document):
            _count_template(document, 0)

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        _count_template(document, max(1, _template_generation(document)))

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        generation = _template_generation(old)
        changed = new["spec"]["template"] != old["spec"]["template"]
        _count_template(new, generation + 1 if changed else generation)


def _template_generation(document: Document) -> int:
    text = part(document["metadata"], "annotations").get(TEMPLATE_GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _count_template(document: Document, generation: int) -> None:
    metadata = document["metadata"]
    metadata["annotations"] = {**part(metadata, "annotations"), TEMPLATE_GENERATION: str(generation)}


@relates("apps.v1.DaemonSetSpec")
def _daemons(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    selector, place = spec.get("selector"), f"{path}.selector"
    broken = check("meta.v1.LabelSelector", selector, place)
    yield from broken or check_selects_own(spec, path)
    if selector is not None and is_empty_selector(selector):
        yield errors.invalid_value(place, {}, "empty selector is invalid for daemonset")
    yield from _check_template(spec["template"], path)


@relates("apps.v1.DaemonSetUpdateStrategy")
def _daemon_strategy(strategy: Document, path: str, around: Around) -> Iterator[Cause]:
    if strategy["type"] == "OnDelete":
        return
    if strategy["type"] != "RollingUpdate":
        shown = shown_inside(strategy, "Type", "RollingUpdate")
        yield errors.unsupported_value(path, shown, ("RollingUpdate", "OnDelete"))
        return
    rolling, place = strategy["rollingUpdate"], f"{path}.rollingUpdate"
    yield from check("apps.v1.RollingUpdateDaemonSet", rolling, place)
    surge = rolling["maxSurge"]
    none_unavailable = _is_zero(rolling["maxUnavailable"])
    if _is_zero(surge) and none_unavailable:
        yield errors.required(f"{place}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif not _is_zero(surge) and not none_unavailable:
        text = "may not be set when maxUnavailable is non-zero"
        yield errors.invalid_value(f"{place}.maxSurge", surge, text)


# StatefulSets and the revisions they keep


class StatefulSetStrategy(_Workload):
    type_name = "apps.v1.StatefulSet"

    def default(self, document: Document) -> None:
        super().default(document)
        for claim in document["spec"].get("volumeClaimTemplates", ()):
            claim["kind"] = "PersistentVolumeClaim"
            claim["apiVersion"] = "v1"
            round_claim(claim["spec"])

    def _drop_disabled(self, spec: Document) -> None:
        super()._drop_disabled(spec)
        part(part(spec, "updateStrategy"), "rollingUpdate").pop("maxUnavailable", None)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        if any(new["spec"].get(name) != old["spec"].get(name) for name in _FIXED_IN_STATEFUL_SETS):
            yield errors.forbidden_value("spec", _FIXED)

    def warnings(self, document: Document) -> list[str]:
        found = super().warnings(document)
        if document["spec"].get("revisionHistoryLimit", 0) < 0:
            found.append(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
                "a value >= 0 is recommended"
            )
        return found


@relates("apps.v1.StatefulSetSpec")
def _management(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    management = spec.get("podManagementPolicy", "")
    if management not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        yield errors.invalid_value(f"{path}.podManagementPolicy", management, text)


@relates("apps.v1.StatefulSetSpec")
def _stateful(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    yield from _check_selection(spec, _with_claims(spec), path, "statefulset", "")


@relates("apps.v1.StatefulSetUpdateStrategy")
def _stateful_strategy(strategy: Document, path: str, around: Around) -> Iterator[Cause]:
    rolling, place = strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if strategy["type"] == "RollingUpdate":
        yield from check("apps.v1.RollingUpdateStatefulSetStrategy", rolling, place)
    elif strategy["type"] != "OnDelete":
        shown = shown_inside(strategy, "Type", "RollingUpdate")
        yield errors.invalid_value(path, shown, "must be 'RollingUpdate' or 'OnDelete'")
    elif rolling is not None:
        yield errors.invalid_value(place, rolling, "only allowed for updateStrategy 'RollingUpdate'")


def _with_claims(spec: Document) -> Document:
    """The template as its pods will be: with a volume for each claim and with names of their own."""
    template = spec["template"]
    pod = {name: value for name, value in template["spec"].items() if name not in ("hostname", "subdomain")}
    names = [part(claim, "metadata").get("name", "") for claim in spec.get("volumeClaimTemplates", ())]
    if names:
        claimed = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)
        ]
        others = [volume for volume in pod.get("volumes", ()) if volume.get("name", "") not in names]
        pod["volumes"] = [*claimed, *others]
    return {**template, "spec": pod}


@relates("apps.v1.ControllerRevision")
def _revision_data(document: Document, path: str, around: Around) -> Iterator[Cause]:
    data = document.get("data")
    if data is None:
        yield errors.required("data", "data is mandatory")
    elif not isinstance(data, dict):
        yield errors.required("data", "data must be a valid JSON object")
