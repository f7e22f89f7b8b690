"""Objects a scheduler writes: leases, events, bindings."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from moorage.api.meta import Object, Part
from moorage.api.pods import Fields
from moorage.api.storage import ObjectReference


class LeaseSpec(Fields):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object, kw_only=True):
    group: ClassVar[str] = "coordination.k8s.io"
    kind: ClassVar[str] = "Lease"
    resource: ClassVar[str] = "leases"

    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class EventSeries(Part, frozen=True, gc=False):
    count: int = 0
    last_observed_time: str | None = None


class Event(Object, kw_only=True):
    group: ClassVar[str] = "events.k8s.io"
    kind: ClassVar[str] = "Event"
    resource: ClassVar[str] = "events"

    event_time: str | None = None
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    reporting_controller: str = ""
    reporting_instance: str = ""
    series: EventSeries | None = None


class Binding(Object, kw_only=True):
    kind: ClassVar[str] = "Binding"
    resource: ClassVar[str] = "bindings"

    target: ObjectReference = ObjectReference()
