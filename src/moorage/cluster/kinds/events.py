"""Events, which are the same objects in the core group and, with other names, in events.k8s.io.

They are stored as the core group has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from moorage.cluster.base.errors import Cause, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import part
from moorage.cluster.schema.builtin import type_named
from moorage.cluster.schema.checking import check_change, check_form
from moorage.cluster.schema.definitions import Strategy
from moorage.cluster.schema.forms import size
from moorage.cluster.schema.model import ABSENT

_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_NAMES = {new: core for core, new in _NEW_NAMES.items()}
_TYPES = {"v1": type_named("core.v1.Event"), "events.k8s.io/v1": type_named("events.v1.Event")}
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def core_to_new(document: Document) -> Document:
    """An event of the core group as events.k8s.io shows it."""
    return _renamed(document, "events.k8s.io/v1", _NEW_NAMES)


def new_to_core(document: Document) -> Document:
    """An event of events.k8s.io as it is stored."""
    return _renamed(document, "v1", _CORE_NAMES)


def _renamed(document: Document, api_version: str, names: dict[str, str]) -> Document:
    fields = _TYPES[api_version].fields.items()
    always = {name: field.default for name, field in fields if field.default is not ABSENT}
    named = {names.get(name, name): value for name, value in document.items()}
    found = {**deepcopy(always), **named, "apiVersion": api_version}
    return {name: value for name, value in found.items() if name in always or value not in ("", 0, None)}


class EventStrategy(Strategy):
    """Events as clients of the core group write them."""

    created_by_update = True
    qualified_finalizers = False
    tracked = False
    reporter_field = "reportingComponent"
    subject_prefix = "involvedObject"

    def validate(self, document: Document) -> Iterator[Cause]:
        namespace = document["metadata"].get("namespace", "")
        about = part(document, "involvedObject").get("namespace", "")
        mismatch = invalid_value("involvedObject.namespace", about, "does not match event.namespace")
        if document.get("eventTime") is None:
            if namespace != about and (about or namespace not in ("", "default")):
                yield mismatch
        else:
            if not about and namespace not in ("default", "kube-system"):
                yield mismatch
            yield from self._new_event(document)
        yield from check_form("dns-subdomain", namespace, "namespace")

    def _new_event(self, document: Document) -> Iterator[Cause]:
        reporter = document.get("reportingComponent", "")
        if not reporter:
            yield required(self.reporter_field)
        yield from check_form("qualified-name", reporter, self.reporter_field)
        for name in ("reportingInstance", "action", "reason"):
            if not document.get(name):
                yield required(name)
            yield from _at_most(document, name, 128)
        yield from _at_most(document, "message", 1024)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        about = part(document, "involvedObject")
        reporter = document.get("reportingComponent", "")
        fields = {f"{self.subject_prefix}.{name}": about.get(name, "") for name in _REFERENCE}
        fields |= {
            "reason": document.get("reason", ""),
            self.reporter_field: reporter,
            "type": document.get("type", ""),
        }
        if self.subject_prefix == "involvedObject":
            fields["source"] = part(document, "source").get("component") or reporter
        return fields


class NewEventStrategy(EventStrategy):
    """Events as clients of events.k8s.io write them, in their stored form."""

    reporter_field = "reportingController"
    subject_prefix = "regarding"

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from super().validate(document)
        if document["metadata"].get("resourceVersion"):
            return  # An older event may be updated, whatever it looks like.
        if name := document["metadata"].get("name"):
            yield from check_form("dns-subdomain", name, "metadata.name")
        yield from _series(document)
        if document.get("eventTime") is None:
            yield required("eventTime")
        kind = document.get("type", "")
        if kind not in ("Normal", "Warning"):
            yield invalid_value("type", "", f"has invalid value: {kind}")
        for name in ("firstTimestamp", "lastTimestamp", "count", "source"):
            if document.get(name):
                yield invalid_value(name, "", "needs to be unset")

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        if new.get("series") != old.get("series"):
            yield from _series(new)
        for cause in check_change("core.v1.Event", new, old):
            shown = self.reporter_field if cause.field == "reportingComponent" else cause.field
            yield cause._replace(field=shown)


def _at_most(document: Document, name: str, limit: int) -> Iterator[Cause]:
    if size(document.get(name, "")) > limit:
        yield invalid_value(name, "", f"can have at most {limit} characters")


def _series(document: Document) -> Iterator[Cause]:
    series = document.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid_value("series.count", "", "should be at least 2")
    if series.get("lastObservedTime") is None:
        yield required("series.lastObservedTime")
