"""Workloads: kinds whose controllers make pods from a template."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.pod_templates import (
    MISMATCH,
    check_lasting,
    check_selected,
    check_selector,
    check_template,
    default_template,
    prepare_template,
)
from moorage.cluster.kinds.pods_warnings import name_warnings, pod_warnings
from moorage.cluster.kinds.rules import IMMUTABLE, Found, check_nonnegative, shown_map
from moorage.cluster.kinds.workloads_base import Workload, check_same_selector
from moorage.cluster.kinds.workloads_daemons import DaemonSetStrategy
from moorage.cluster.kinds.workloads_rules import (
    ROLLING,
    check_at_most_all,
    check_collisions,
    check_count_or_percent,
    check_counts,
    check_parts,
    is_zero,
    shown_strategy,
)
from moorage.cluster.kinds.workloads_stateful import StatefulSetStrategy
from moorage.cluster.schema.definitions import Strategy, keep_status

__all__ = [
    "ControllerRevisionStrategy",
    "DaemonSetStrategy",
    "DeploymentStrategy",
    "PodTemplateStrategy",
    "ReplicaSetStrategy",
    "ReplicationControllerStrategy",
    "StatefulSetStrategy",
]

_BAD_SELECTOR = ": invalid label selector"
_NAMES_PODS = "this is used in Pod names and hostnames, which can result in surprising behavior"


# Deployments and ReplicaSets


class DeploymentStrategy(Workload):
    type_name = "apps.v1.Deployment"

    def is_new_generation(self, new: Document, old: Document) -> bool:
        """Annotations count too: they are copied to the replica sets."""
        annotations = (part["metadata"].get("annotations") for part in (new, old))
        return super().is_new_generation(new, old) or next(annotations) != next(annotations)

    def default_spec(self, spec: Document) -> None:
        spec.setdefault("replicas", 1)
        strategy = own_part(spec, "strategy")
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = own_part(strategy, "rollingUpdate")
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        super().prepare_status_update(new, old)
        labels = old["metadata"].get("labels")
        if labels:
            new["metadata"]["labels"] = labels
        else:
            new["metadata"].pop("labels", None)

    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        spec = document["spec"]
        check_nonnegative(spec.get("replicas"), "spec.replicas", found)
        _check_replicated(spec, found)
        _check_deployment_strategy(spec["strategy"], found)
        ready = spec.get("minReadySeconds", 0)
        check_nonnegative(ready, "spec.minReadySeconds", found)
        check_nonnegative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", found)
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None:
            path = "spec.progressDeadlineSeconds"
            check_nonnegative(deadline, path, found)
            if deadline <= ready:
                found.append(invalid_value(path, deadline, "must be greater than minReadySeconds"))
        return found

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        check_same_selector(new, old, found)
        return found

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        status = part(new, "status")
        counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
        check_counts(
            status,
            (
                "observedGeneration",
                "replicas",
                *counts,
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ),
            found,
        )
        check_parts(status, counts, found, ready="readyReplicas")
        check_collisions(status, part(old, "status"), found)
        return found

    def warnings(self, document: Document) -> list[str]:
        return name_warnings(document, _NAMES_PODS) + super().warnings(document)


def _check_replicated(spec: Document, found: Found) -> None:
    """Selector and template, as Deployments and ReplicaSets have them."""
    if not check_selector(spec, "deployment", _BAD_SELECTOR, found):
        return
    check_selected(spec, found)
    check_template(spec["template"], "spec.template", found)
    check_lasting(spec["template"], "ReplicaSet", "spec.template", found)


def _check_deployment_strategy(strategy: Document, found: Found) -> None:
    path = "spec.strategy"
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            found.append(forbidden_value(f"{path}.rollingUpdate", detail))
    elif kind == "RollingUpdate":
        place = f"{path}.rollingUpdate"
        if rolling is None:
            found.append(required(place, "this should be defaulted and never be nil"))
            return
        unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        check_count_or_percent(unavailable, f"{place}.maxUnavailable", found)
        check_count_or_percent(surge, f"{place}.maxSurge", found)
        if is_zero(unavailable) and is_zero(surge):
            detail = "may not be 0 when `maxSurge` is 0"
            found.append(invalid_value(f"{place}.maxUnavailable", unavailable, detail))
        check_at_most_all(unavailable, f"{place}.maxUnavailable", found)
    else:
        shown = shown_strategy(strategy, ROLLING)
        found.append(unsupported_value(path, shown, ("Recreate", "RollingUpdate")))


class _Replicating(Workload):
    """What keeps a number of equal pods: ReplicaSets and ReplicationControllers."""

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        status = part(new, "status")
        parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        check_counts(status, ("replicas", *parts, "observedGeneration", "terminatingReplicas"), found)
        check_parts(status, parts, found, ready="readyReplicas")
        return found


class ReplicaSetStrategy(_Replicating):
    type_name = "apps.v1.ReplicaSet"
    first_status = {"replicas": 0}

    def default_spec(self, spec: Document) -> None:
        spec.setdefault("replicas", 1)

    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        spec = document["spec"]
        check_nonnegative(spec.get("replicas"), "spec.replicas", found)
        check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", found)
        _check_replicated(spec, found)
        return found

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        check_same_selector(new, old, found)
        return found

    def warnings(self, document: Document) -> list[str]:
        return name_warnings(document, _NAMES_PODS) + super().warnings(document)


class ReplicationControllerStrategy(_Replicating):
    type_name = "core.v1.ReplicationController"
    first_status = {"replicas": 0}

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        template = spec.get("template")
        if template is not None:
            labels = part(template, "metadata").get("labels")
            if labels:
                if not spec.get("selector"):
                    spec["selector"] = dict(labels)
                if not document["metadata"].get("labels"):
                    document["metadata"]["labels"] = dict(labels)
            default_template(template)
        spec.setdefault("replicas", 1)

    def prepare_create(self, document: Document) -> None:
        document["status"] = dict(self.first_status)
        prepare_template(document["spec"].get("template") or {})

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        prepare_template(new["spec"].get("template") or {})

    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        spec = document["spec"]
        selector, template = spec.get("selector"), spec.get("template")
        check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", found)
        if not selector:
            found.append(required("spec.selector"))
        check_nonnegative(spec.get("replicas"), "spec.replicas", found)
        if template is None:
            found.append(required("spec.template"))
        else:
            labels = part(template, "metadata").get("labels") or {}
            if selector and any(labels.get(key) != value for key, value in selector.items()):
                found.append(invalid_value("spec.template.metadata.labels", shown_map(labels), MISMATCH))
            check_template(template, "spec.template", found)
            check_lasting(template, "ReplicationController", "spec.template", found)
        return found

    def selectable_fields(self, document: Document) -> dict[str, str]:
        return {"status.replicas": str(part(document, "status").get("replicas", 0))}

    def warnings(self, document: Document) -> list[str]:
        template = document["spec"].get("template") or {}
        return name_warnings(document, _NAMES_PODS) + pod_warnings(template, "spec.template")


# Kinds without a controller of their own


class ControllerRevisionStrategy(Strategy):
    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        check_nonnegative(document.get("revision"), "revision", found)
        data = document.get("data")
        if data is None:
            found.append(required("data", "data is mandatory"))
        elif not isinstance(data, dict):
            found.append(required("data", "data must be a valid JSON object"))
        return found

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        if new.get("data") != old.get("data"):
            return [invalid_value("data", new.get("data"), IMMUTABLE)]
        return []


class PodTemplateStrategy(Strategy):
    counts_generations = True

    def default(self, document: Document) -> None:
        default_template(own_part(document, "template"))

    def prepare_create(self, document: Document) -> None:
        prepare_template(document["template"])

    def prepare_update(self, new: Document, old: Document) -> None:
        prepare_template(new["template"])

    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        check_template(document["template"], "template", found)
        return found

    def warnings(self, document: Document) -> list[str]:
        return pod_warnings(document["template"], "template")
