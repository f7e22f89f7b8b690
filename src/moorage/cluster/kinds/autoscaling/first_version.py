"""HorizontalPodAutoscalers as autoscaling/v1 has them.

That version knows one metric only, the use of CPU; whatever else autoscaling/v2 says stands in annotations,
as JSON. Where each field stands, `schema/versions/autoscaling.v1.txt` says; what it calls `notes` are those
annotations.
"""

from __future__ import annotations

import json
from typing import Any

from moorage.cluster.base.go_text import as_json
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.autoscaling.autoscalers import AutoscalerStrategy
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.schema.builtin import type_named
from moorage.cluster.schema.conform import Undecodable, conform
from moorage.cluster.schema.versions import from_stored, to_stored

API_VERSION, STORED_VERSION = "autoscaling/v1", "autoscaling/v2"

_TABLE, _STORED_TYPE = (f"autoscaling.{each}.HorizontalPodAutoscaler" for each in ("v1", "v2"))
_NOTED = ("metrics", "current-metrics", "behavior", "conditions")
_LOST = ("scale-down-tolerance", "scale-up-tolerance")
_KEYS = {name: f"autoscaling.alpha.kubernetes.io/{name}" for name in (*_NOTED, *_LOST)}
_TARGETS = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}


class FirstAutoscalerStrategy(AutoscalerStrategy):
    """Documents are in the old form until they are stored; the rules are those of the new one."""

    def default(self, document: Document) -> None:
        """What else there is to fill in, the conversion does."""
        own_part(document, "spec").setdefault("minReplicas", 1)

    def prepare_create(self, document: Document) -> None:
        known = to_second(document)
        super().prepare_create(known)
        document |= to_first(known)

    def prepare_change(self, new: Document, old: Document, subresource: str) -> None:
        known = to_second(new)
        super().prepare_change(known, to_second(old), subresource)
        new |= to_first(known)

    def stored(self, document: Document) -> Document:
        return to_second(document)

    def shown(self, document: Document) -> Document:
        return to_first(document)


def to_first(document: Document) -> Document:
    metrics = part(document, "spec").get("metrics") or ()
    others = [metric for metric in metrics if _use_of_cpu(metric, "target") is None]
    rest = {**document, "spec": {**part(document, "spec"), "metrics": others}}
    first = {"spec": {}, **from_stored(_TABLE, rest)}
    wanted = [_use_of_cpu(metric, "target") for metric in metrics if metric not in others]
    if wanted:
        first["spec"]["targetCPUUtilizationPercentage"] = wanted[0]
    for metric in part(document, "status").get("currentMetrics") or ():
        if (percent := _use_of_cpu(metric, "current")) is not None:
            first["status"]["currentCPUUtilizationPercentage"] = percent
    notes = {_KEYS[name]: as_json(value) for name, value in first.pop("notes", {}).items() if value}
    return {**document, **first, "apiVersion": API_VERSION, "metadata": _noted(document, notes)}


def to_second(document: Document) -> Document:
    """What is noted in annotations, and cannot be read, is as good as not there."""
    if document.get("apiVersion") == STORED_VERSION:
        return document
    annotations = part(document["metadata"], "annotations")
    notes = {name: _read(annotations.get(_KEYS[name])) for name in _NOTED}
    plain = {**document, "metadata": _noted(document, {})}
    second = {"spec": {}, "status": {}, **to_stored(_TABLE, {**plain, "notes": notes})}
    metrics = second["spec"].setdefault("metrics", [])
    for metric in metrics:
        _name_target(metric)
    second["spec"]["behavior"] = second["spec"].get("behavior") or None
    percent = part(document, "spec").get("targetCPUUtilizationPercentage", None if metrics else 80)
    if percent is not None:
        metrics.append(_of_cpu("target", {"type": "Utilization", "averageUtilization": percent}))
    percent = part(document, "status").get("currentCPUUtilizationPercentage")
    if percent is not None and not second["status"].get("currentMetrics"):
        second["status"]["currentMetrics"] = [_of_cpu("current", {"averageUtilization": percent})]
    made = {**plain, **second, "apiVersion": STORED_VERSION}
    try:
        shaped: Document = conform(type_named(_STORED_TYPE), made, kind="", api_version="").document
    except Undecodable:
        return to_second(plain)
    return shaped


def _of_cpu(name: str, amount: Document) -> Document:
    return {"type": "Resource", "resource": {"name": "cpu", name: amount}}


def _use_of_cpu(metric: Document, amount: str) -> int | None:
    """In percent, if the metric is the one that the old version knows."""
    source = part(metric, "resource") if metric.get("type") == "Resource" else {}
    percent: int | None = part(source, amount).get("averageUtilization")
    return percent if source.get("name") == "cpu" else None


def _name_target(metric: Document) -> None:
    """Which of its amounts is the target of a metric, the old version leaves open."""
    for name in metric.keys() - {"type"}:
        amounts = own_part(metric[name], "target")
        if name == "object" and "averageValue" in amounts and amounts.get("value") == "0":
            del amounts["value"]  # the old version cannot leave it out
        amounts["type"] = next((_TARGETS[each] for each in _TARGETS if each in amounts), "AverageValue")


def _noted(document: Document, notes: dict[str, str]) -> Document:
    """The metadata with these notes in place of those that are there."""
    metadata = {**document["metadata"]}
    annotations = metadata.pop("annotations", None) or {}
    kept = {key: text for key, text in annotations.items() if key not in _KEYS.values()}
    return {**metadata, "annotations": kept | notes} if kept or notes else metadata


def _read(text: str | None) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
