"""The computed cells of what tells an API server about itself, and of autoscalers."""

from __future__ import annotations

from moorage.cluster.base.parts import condition, number, part, records, text, value
from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.durations import UNKNOWN, human_duration
from moorage.cluster.serving.tables.pods import NONE

_SHOWN_METRICS = 2
_SOURCES = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def signing_request(request: Document, now: float) -> Document:
    seconds = value(request, "spec", "expirationSeconds")
    types = {text(each, "type") for each in records(request, "status", "conditions")}
    states = [next((each for each in ("Denied", "Approved") if each in types), "Pending")]
    if "Failed" in types:
        states.append("Failed")
    if text(request, "status", "certificate"):
        states.append("Issued")
    return {
        "RequestedDuration": NONE if seconds is None else human_duration(seconds),
        "Condition": ",".join(states),
    }


def flow_schema(schema: Document, now: float) -> Document:
    dangling = condition(part(schema, "status"), "Dangling")
    return {"MissingPL": "?" if dangling is None else text(dangling, "status")}


def flow_order(schema: Document) -> tuple[int, str]:
    return number(schema, "spec", "matchingPrecedence"), text(schema, "metadata", "name")


def priority_level(level: Document, now: float) -> Document:
    limited = part(level, "spec", "limited")
    queuing = part(limited, "limitResponse", "queuing")
    names = {"Queues": "queues", "HandSize": "handSize", "QueueLengthLimit": "queueLengthLimit"}
    return {
        "NominalConcurrencyShares": limited.get("nominalConcurrencyShares", 0) if limited else NONE,
        **{column: number(queuing, name) if queuing else NONE for column, name in names.items()},
    }


def api_service(service: Document, now: float) -> Document:
    reference = part(service, "spec", "service")
    available = condition(part(service, "status"), "Available")
    state = text(available, "status") if available else "Unknown"
    if available and state != "True" and (reason := text(available, "reason")):
        state = f"{state} ({reason})"
    return {
        "Service": f"{text(reference, 'namespace')}/{text(reference, 'name')}" if reference else "Local",
        "Available": state,
    }


def autoscaler(autoscaler: Document, now: float) -> Document:
    target, least = part(autoscaler, "spec", "scaleTargetRef"), value(autoscaler, "spec", "minReplicas")
    metrics, known = records(autoscaler, "spec", "metrics"), records(autoscaler, "status", "currentMetrics")
    shown = [
        _metric(metric, known[index] if index < len(known) else {}) for index, metric in enumerate(metrics)
    ]
    more = len(shown) - _SHOWN_METRICS
    text_ = ", ".join(shown[:_SHOWN_METRICS]) or NONE
    return {
        "Reference": f"{text(target, 'kind')}/{text(target, 'name')}",
        "Targets": f"{text_} + {more} more..." if more > 0 else text_,
        "MinPods": "<unset>" if least is None else str(least),
    }


def _metric(metric: Document, status: Document) -> str:
    """What is, and what should be."""
    type_ = text(metric, "type")
    source = _SOURCES.get(type_)
    if source is None:
        return "<unknown type>"
    target, current = part(metric, source, "target"), part(status, source, "current")
    is_known = bool(part(status, source))
    if type_ in ("Resource", "ContainerResource"):
        name = text(metric, source, "name")
        if "averageValue" in target:
            found = text(current, "averageValue", absent="<nil>") if is_known else UNKNOWN
            return f"{name}: {found}/{text(target, 'averageValue')}"
        used, wanted = value(current, "averageUtilization"), value(target, "averageUtilization")
        percent = UNKNOWN if used is None else f"{used}%"
        return f"{name}: {percent}/{'<auto>' if wanted is None else f'{wanted}%'}"
    if type_ == "Pods" or "averageValue" not in target:
        field = "averageValue" if type_ == "Pods" else "value"
        found = text(current, field, absent="<nil>") if is_known else UNKNOWN
        return f"{found}/{text(target, field, absent='<nil>')}"
    return f"{text(current, 'averageValue', absent=UNKNOWN)}/{text(target, 'averageValue')} (avg)"
