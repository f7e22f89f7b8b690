"""HorizontalPodAutoscalers as autoscaling/v1 has them.

That version knows one metric only, the use of CPU; whatever else autoscaling/v2 says stands in annotations,
as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.autoscaling.autoscalers import SOURCES, AutoscalerStrategy
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.schema.builtin import type_named
from moorage.cluster.schema.conform import Undecodable, conform

API_VERSION, STORED_VERSION = "autoscaling/v1", "autoscaling/v2"

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _CURRENT = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
_BEHAVIOR, _CONDITIONS = f"{_PREFIX}behavior", f"{_PREFIX}conditions"
_OF_CONVERSION = (
    _METRICS,
    _CURRENT,
    _BEHAVIOR,
    _CONDITIONS,
    f"{_PREFIX}scale-down-tolerance",
    f"{_PREFIX}scale-up-tolerance",
)
_ORDER = ("object", "pods", "resource", "containerResource", "external")
_SAME_SPEC = ("minReplicas", "maxReplicas", "scaleTargetRef")
_SAME_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
_RULES = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")
_CONDITION = ("type", "status", "lastTransitionTime", "reason", "message")


class FirstAutoscalerStrategy(AutoscalerStrategy):
    """Documents are in the old form until they are stored; the rules are those of the new one."""

    def default(self, document: Document) -> None:
        """What else there is to fill in, the conversion does."""
        own_part(document, "spec").setdefault("minReplicas", 1)

    def prepare_create(self, document: Document) -> None:
        known = to_second(document)
        super().prepare_create(known)
        _become(document, known)

    def prepare_update(self, new: Document, old: Document) -> None:
        known = to_second(new)
        super().prepare_update(known, to_second(old))
        _become(new, known)

    def prepare_status_update(self, new: Document, old: Document) -> None:
        known = to_second(new)
        super().prepare_status_update(known, to_second(old))
        _become(new, known)

    def validate(self, document: Document) -> Iterable[Cause]:
        return super().validate(to_second(document))

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        return super().validate_change(to_second(new), to_second(old), subresource, warnings)

    def stored(self, document: Document) -> Document:
        return to_second(document)

    def shown(self, document: Document) -> Document:
        return to_first(document)


def _become(document: Document, known: Document) -> None:
    changed = to_first(known)
    document.clear()
    document.update(changed)


# From the second version to the first


def to_first(document: Document) -> Document:
    spec, status = part(document, "spec"), part(document, "status")
    metrics: list[Document] = spec.get("metrics") or []
    used = [_cpu_target(metric) for metric in metrics]
    annotations = _plain_annotations(document)
    if others := [metric for metric, percent in zip(metrics, used, strict=True) if percent is None]:
        annotations[_METRICS] = _json([_old_metric(metric, "target") for metric in others])
    if current := status.get("currentMetrics"):
        annotations[_CURRENT] = _json([_old_metric(metric, "current") for metric in current])
    if (behavior := spec.get("behavior")) is not None:
        shown = {name: _capital_rules(behavior.get(_small(name))) for name in ("ScaleUp", "ScaleDown")}
        annotations[_BEHAVIOR] = _json(shown)
    if conditions := status.get("conditions"):
        annotations[_CONDITIONS] = _json([_picked(each, _CONDITION) for each in conditions])
    percents = [percent for percent in used if percent is not None]
    usage = [
        part(part(metric, "resource"), "current").get("averageUtilization")
        for metric in status.get("currentMetrics") or ()
        if metric.get("type") == "Resource" and part(metric, "resource").get("name") == "cpu"
    ]
    known = [percent for percent in usage if percent is not None]
    return {
        **document,
        "apiVersion": API_VERSION,
        "metadata": _annotated(document, annotations),
        "spec": {
            **_picked(spec, _SAME_SPEC),
            **({"targetCPUUtilizationPercentage": percents[0]} if percents else {}),
        },
        "status": {
            "currentReplicas": 0,
            "desiredReplicas": 0,
            **_picked(status, _SAME_STATUS),
            **({"currentCPUUtilizationPercentage": known[-1]} if known else {}),
        },
    }


def _cpu_target(metric: Document) -> int | None:
    """The use of CPU that a metric wants, if it is the one that the old version knows."""
    resource = part(metric, "resource")
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    percent: int | None = part(resource, "target").get("averageUtilization")
    return percent


def _old_metric(metric: Document, amount: str) -> Document:
    """A metric in the words of the old version; `amount` is `target` for a wish, `current` for a status."""
    shown = {"type": metric.get("type", "")}
    for name in _ORDER:
        if name in metric:
            shown[name] = _OLD_SOURCES[name](metric[name], part(metric[name], amount), amount)
    return shown


def _old_resource(source: Document, amounts: Document, amount: str) -> Document:
    value = amounts.get("averageValue", "0" if amount == "current" else None)
    return _present(
        {
            "name": source.get("name", ""),
            f"{amount}AverageUtilization": amounts.get("averageUtilization"),
            f"{amount}AverageValue": value,
            "container": source.get("container"),
        }
    )


def _old_pods(source: Document, amounts: Document, amount: str) -> Document:
    return _present(
        {
            "metricName": part(source, "metric").get("name", ""),
            f"{amount}AverageValue": amounts.get("averageValue", "0"),
            "selector": part(source, "metric").get("selector"),
        }
    )


def _old_object(source: Document, amounts: Document, amount: str) -> Document:
    described = part(source, "describedObject")
    reference = {"kind": described.get("kind", ""), "name": described.get("name", "")}
    return _present(
        {
            "target": reference | _picked(described, ("apiVersion",)),
            "metricName": part(source, "metric").get("name", ""),
            f"{amount}Value": amounts.get("value", "0"),
            "selector": part(source, "metric").get("selector"),
            "averageValue": amounts.get("averageValue"),
        }
    )


def _old_external(source: Document, amounts: Document, amount: str) -> Document:
    return _present(
        {
            "metricName": part(source, "metric").get("name", ""),
            "metricSelector": part(source, "metric").get("selector"),
            f"{amount}Value": amounts.get("value", "0" if amount == "current" else None),
            f"{amount}AverageValue": amounts.get("averageValue"),
        }
    )


_OLD_SOURCES = {
    "object": _old_object,
    "pods": _old_pods,
    "resource": _old_resource,
    "containerResource": _old_resource,
    "external": _old_external,
}


def _capital_rules(rules: Document | None) -> Document | None:
    """Rules of scaling under the names they have inside Kubernetes, in which they are noted."""
    if rules is None:
        return None
    shown = {name: rules.get(_small(name)) for name in _RULES}
    if shown["Policies"] is not None:
        names = ("Type", "Value", "PeriodSeconds")
        shown["Policies"] = [
            {name: policy.get(_small(name)) for name in names} for policy in shown["Policies"]
        ]
    return shown


# From the first version to the second


def to_second(document: Document) -> Document:
    """What is noted in annotations, and cannot be read, is as good as not there."""
    if document.get("apiVersion") == STORED_VERSION:
        return document
    spec, status = part(document, "spec"), part(document, "status")
    noted = document["metadata"].get("annotations") or {}
    second: Document = _picked(spec, _SAME_SPEC)
    metrics = [_new_metric(metric, "target") for metric in _noted_list(noted, _METRICS)]
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is not None or not metrics:
        target = {"type": "Utilization", "averageUtilization": 80 if percent is None else percent}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": target}})
    second["metrics"] = metrics
    if isinstance(behavior := _read(noted.get(_BEHAVIOR)), dict) and any(behavior.values()):
        second["behavior"] = {
            _small(name): _small_rules(rules) for name, rules in behavior.items() if isinstance(rules, dict)
        }
    current = [_new_metric(metric, "current") for metric in _noted_list(noted, _CURRENT)]
    usage = status.get("currentCPUUtilizationPercentage")
    if not current and usage is not None:
        current = [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": usage}}}
        ]
    second_status = {"desiredReplicas": 0, **_picked(status, _SAME_STATUS), "currentMetrics": current or None}
    if conditions := _noted_list(noted, _CONDITIONS):
        second_status["conditions"] = conditions
    if not second_status.get("currentReplicas"):
        second_status.pop("currentReplicas", None)
    made = {
        **document,
        "apiVersion": STORED_VERSION,
        "metadata": _annotated(document, _plain_annotations(document)),
        "spec": second,
        "status": second_status,
    }
    return _in_shape(made)


def _in_shape(made: Document) -> Document:
    """What was put together from annotations may be anything."""
    try:
        kind = {"kind": "HorizontalPodAutoscaler", "api_version": STORED_VERSION}
        shaped: Document = conform(
            type_named(f"{STORED_VERSION.replace('/', '.')}.{kind['kind']}"), made, **kind
        ).document
    except Undecodable:
        spec = {**made["spec"], "metrics": [], "behavior": None}
        return _in_shape({**made, "spec": spec, "status": {"desiredReplicas": 0, "currentMetrics": None}})
    return shaped


def _new_metric(metric: Document, amount: str) -> Document:
    shown = {"type": metric.get("type", "")}
    for name in SOURCES.values():
        source = metric.get(name)
        if isinstance(source, dict):
            shown[name] = _new_source(name, source, amount)
    return shown


def _new_source(name: str, source: Document, amount: str) -> Document:
    amounts = _present(
        {
            "value": source.get(f"{amount}Value"),
            "averageValue": source.get("averageValue" if name == "object" else f"{amount}AverageValue"),
            "averageUtilization": source.get(f"{amount}AverageUtilization"),
        }
    )
    if name == "object" and amount == "target" and "averageValue" in amounts and amounts.get("value") == "0":
        del amounts["value"]  # the old version cannot leave it out
    if amount == "target":
        kinds = {"averageUtilization": "Utilization", "value": "Value", "averageValue": "AverageValue"}
        found = next((kind for field, kind in kinds.items() if field in amounts), "AverageValue")
        amounts["type"] = "AverageValue" if name == "object" and "averageValue" in amounts else found
    shown: Document = {amount: amounts, **_picked(source, ("name", "container"))}
    if "metricName" in source:
        selector = source.get("metricSelector" if name == "external" else "selector")
        shown["metric"] = _present({"name": source["metricName"], "selector": selector})
    if name == "object":
        shown["describedObject"] = source.get("target")
    return shown


def _small_rules(rules: Document) -> Document:
    shown = {_small(name): value for name, value in rules.items() if value is not None}
    if isinstance(shown.get("policies"), list):
        shown["policies"] = [
            {_small(name): value for name, value in each.items()}
            for each in shown["policies"]
            if isinstance(each, dict)
        ]
    return shown


# Annotations and JSON


def _plain_annotations(document: Document) -> dict[str, str]:
    found = document["metadata"].get("annotations") or {}
    return {key: text for key, text in found.items() if key not in _OF_CONVERSION}


def _annotated(document: Document, annotations: dict[str, str]) -> Document:
    metadata = {name: value for name, value in document["metadata"].items() if name != "annotations"}
    return {**metadata, "annotations": annotations} if annotations else metadata


def _noted_list(noted: dict[str, str], name: str) -> list[Document]:
    found = _read(noted.get(name))
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _read(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _picked(document: Document, names: Iterable[str]) -> Document:
    return {name: document[name] for name in names if name in document}


def _present(fields: Document) -> Document:
    return {name: value for name, value in fields.items() if value is not None}


def _small(name: str) -> str:
    return name[:1].lower() + name[1:]
