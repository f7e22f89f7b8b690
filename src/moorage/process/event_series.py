"""Kubernetes events as they are counted here and as they are written."""

from __future__ import annotations

import re
import uuid
from typing import Any, NamedTuple

from moorage.api.coordination import Event
from moorage.api.meta import Object
from moorage.client.resources import Resource
from moorage.framework.diagnosis import shortened
from moorage.process.lease import Document, micro_time

EVENTS = Resource.of(Event)
CORE_EVENTS = Resource("", "v1", "events", "Event", True, Object)

_LONGEST_NAME = 253
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = re.compile(rf"{_DNS_LABEL}(\.{_DNS_LABEL})*")


class Reference(NamedTuple):
    """What is kept of an object that an event is about."""

    kind: str
    api_version: str
    namespace: str
    name: str
    uid: str
    resource_version: str

    @classmethod
    def to(cls, target: Object) -> Reference:
        kind, api_version, meta = target.kind, target.api_version(), target.metadata
        if not kind:  # an object without a Struct of its own
            kind, api_version = target.raw.get("kind", ""), target.raw.get("apiVersion", "")
        return cls(kind, api_version, meta.namespace, meta.name, meta.uid, meta.resource_version)

    def document(self) -> Document:
        fields = {
            "kind": self.kind,
            "apiVersion": self.api_version,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "resourceVersion": self.resource_version,
        }
        return {name: value for name, value in fields.items() if value}


class SeriesKey(NamedTuple):
    """Events that agree in this are one series; the note may differ."""

    type: str
    action: str
    reason: str
    controller: str
    instance: str
    regarding: Reference
    related: Reference | None

    @property
    def may_come_again(self) -> bool:
        """Whether there is a point in waiting for another one; a pod is bound once."""
        return self.reason != "Scheduled"


class Series:
    """One event, or one that came again and again."""

    __slots__ = (
        "count",
        "created",
        "due",
        "key",
        "last",
        "name",
        "note",
        "since",
        "tries",
        "waiting",
        "written",
    )

    def __init__(self, key: SeriesKey, name: str, note: str, since: float) -> None:
        self.key = key
        self.name = name
        self.note = shortened(note)
        self.since = self.last = since
        self.count = 1
        self.written = 0
        """How many of them the API server knows of."""
        self.created = False
        self.due = True
        """Whether it shall be written now; an event that is new must be."""
        self.waiting = False
        """Whether it is on its way: queued, being sent, or tried again later."""
        self.tries = 0
        """How often in a row it could not be sent."""

    @property
    def namespace(self) -> str:
        return self.key.regarding.namespace or "default"

    def happened_again(self, seconds: float) -> None:
        self.count += 1
        self.last = seconds
        # The second one makes it a series; the API server hears of later ones only now and then.
        if self.count == 2:
            self.due = True

    def series(self) -> Document:
        return {"count": self.count, "lastObservedTime": micro_time(self.last)}

    def document(self, resource: Resource[Any]) -> Document:
        """The event in the form of EVENTS or of CORE_EVENTS."""
        key, core = self.key, resource is CORE_EVENTS
        document: Document = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": self.name, "namespace": self.namespace},
            "eventTime": micro_time(self.since),
            "type": key.type,
            "reason": key.reason,
            "action": key.action,
            "message" if core else "note": self.note,
            "involvedObject" if core else "regarding": key.regarding.document(),
            "reportingComponent" if core else "reportingController": key.controller,
            "reportingInstance": key.instance,
        }
        if key.related is not None:
            document["related"] = key.related.document()
        if self.count > 1:
            document["series"] = self.series()
        return document


class EventNames:
    """Makes names of events; no two are the same, even if the clock stands still."""

    def __init__(self) -> None:
        self._last_stamp = 0

    def new(self, regarding: str, seconds: float) -> str:
        self._last_stamp = max(int(seconds * 1e9), self._last_stamp + 1)
        name = f"{regarding}.{self._last_stamp:x}"
        if len(name) > _LONGEST_NAME or not _DNS_SUBDOMAIN.fullmatch(name):
            return str(uuid.uuid4())
        return name
