"""Events, in the form of either of the two groups that serve them."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.columns import WIDE, Column, Columns, name_of, texts_of, wide
from moorage.cluster.serving.tables.durations import age, is_no_time
from moorage.cluster.serving.tables.parts import number, part, text


def _event(event: Document, now: float) -> list[Any]:
    about = _either(event, "involvedObject", "regarding")
    first = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")
    last = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp")
    first_seen = age(event.get("eventTime") if is_no_time(first) else first, now)
    last_seen = first_seen if is_no_time(last) else age(last, now)
    count = number(event, "count") or number(event, "deprecatedCount") or 1
    if isinstance(series := event.get("series"), dict):
        last_seen = age(series.get("lastObservedTime"), now)
        count = number(series, "count")
    return [
        last_seen,
        text(event, "type"),
        text(event, "reason"),
        _target(about),
        text(about, "fieldPath"),
        _source(event),
        (text(event, "message") or text(event, "note")).strip(),
        first_seen,
        count,
        name_of(event),
    ]


def _either(event: Document, core: str, newer: str) -> Document:
    return part(event, core) or part(event, newer)


def _target(about: Document) -> str:
    kind = text(about, "kind").lower()
    name = text(about, "name")
    return f"{kind}/{name}" if name else kind


def _source(event: Document) -> str:
    source = _either(event, "source", "deprecatedSource")
    component = (
        text(source, "component") or text(event, "reportingComponent") or text(event, "reportingController")
    )
    host = text(source, "host") or text(event, "reportingInstance")
    return f"{component}, {host}" if host else component


EVENTS = Columns(
    (
        *texts_of("Last Seen", "Type", "Reason", "Object"),
        *wide("Subobject", "Source"),
        Column("Message"),
        *wide("First Seen", "Count"),
        Column("Name", format="name", priority=WIDE),
    ),
    _event,
)
