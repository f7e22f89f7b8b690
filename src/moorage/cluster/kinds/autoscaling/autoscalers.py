"""HorizontalPodAutoscalers as autoscaling/v2 has them, the form in which they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, part
from moorage.cluster.kinds.pods.resources import container_resource
from moorage.cluster.schema.checking import Around, check, relates

SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
"""The fields that say more about a metric, by its type."""

_SPEC = "autoscaling.v2.HorizontalPodAutoscalerSpec"


class AutoscalerStrategy(WithStatus):
    type_name = "autoscaling.v2.HorizontalPodAutoscaler"
    first_status: Document = {"currentMetrics": None, "desiredReplicas": 0}

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        """What named no group before need not name one now."""
        new, old = self.stored(new), self.stored(old)
        if subresource:
            return check("autoscaling.v2.HorizontalPodAutoscalerStatus", new.get("status"), "status")
        after, before = (part(part(each, "spec"), "scaleTargetRef") for each in (new, old))
        same = all(after.get(name, "") == before.get(name, "") for name in ("apiVersion", "kind"))
        around = {"kept": after} if same else {}
        return check(_SPEC, new.get("spec"), "spec", around)


@relates("autoscaling.v2.HorizontalPodAutoscalerSpec")
def _most_replicas(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    least, most, field = spec.get("minReplicas"), spec.get("maxReplicas", 0), f"{path}.maxReplicas"
    if most == 0:
        yield required(field, "must be set and greater than 0")
    elif most < 0:
        yield invalid_value(field, most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid_value(field, most, "must be greater than or equal to `minReplicas`")


@relates("autoscaling.v2.HorizontalPodAutoscalerSpec")
def _scaling_to_zero(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    types = {metric.get("type") for metric in spec.get("metrics") or ()}
    if spec.get("minReplicas") == 0 and not types & {"Object", "External"}:
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden_value(f"{path}.metrics", text)


@relates("autoscaling.v2.CrossVersionObjectReference")
def _group_named(reference: Document, path: str, around: Around) -> Iterator[Cause]:
    if reference is around.get("kept"):
        return
    version = reference.get("apiVersion", "")
    needs_group = path.endswith(".scaleTargetRef") and reference.get("kind") != "ReplicationController"
    if version.count("/") > 1:
        yield invalid_value(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif needs_group and not version.rpartition("/")[0]:
        yield invalid_value(f"{path}.apiVersion", version, "apiVersion must specify API group")


@relates("autoscaling.v2.MetricSpec")
def _source_of_type(metric: Document, path: str, around: Around) -> Iterator[Cause]:
    type_ = metric.get("type", "")
    wanted = SOURCES.get(type_)
    given = [name for name in SOURCES.values() if name in metric]
    if wanted is None:
        yield unsupported_value(f"{path}.type", type_, SOURCES)
    elif wanted not in given:
        yield required(f"{path}.{wanted}", "must populate information for the given metric source")
    for name in given if len(given) != 1 else ():
        if name != wanted:
            yield forbidden_value(f"{path}.{name}", "must populate the given metric source only")


@relates("autoscaling.v2.MetricTarget")
def _target_type(target: Document, path: str, around: Around) -> Iterator[Cause]:
    type_ = target.get("type", "")
    if type_ not in ("Utilization", "Value", "AverageValue"):
        yield invalid_value(f"{path}.type", type_, "must be either Utilization, Value, or AverageValue")


@relates("autoscaling.v2.ContainerResourceMetricSource")
def _container_resource(source: Document, path: str, around: Around) -> Iterator[Cause]:
    if source.get("name"):
        yield from container_resource(source["name"], f"{path}.name")
