"""What plugins and the scheduler tell the world in a test: events, and what they write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.api.meta import Object


class RecordedEvent(NamedTuple):
    """An event as it was given to `handle.recorder`; the pods' own, such as Scheduled, are among them."""

    regarding: Object
    """What it is about."""
    related: Object | None
    """What else it has to do with."""
    type: str
    """Normal or Warning."""
    reason: str
    """Why, in one word."""
    action: str
    """What was being done."""
    note: str
    """The text for people."""


class Write(NamedTuple):
    """Something that the API server was told to change, and did.

    assert result.writes[-1] == ("bind", "pods", "default/pod", {"spec": {"nodeName": "a"}})
    """

    verb: str
    """`create`, `update`, `patch`, `delete` or `bind`."""
    resource: str
    """`pods`, `pods/status` or, with a group, `licenses.example.com`."""
    key: str
    """`namespace/name`, or the bare name of an object without a namespace."""
    body: Any = None
    """The object or the patch that was sent; for a bind, what it changes of the pod."""


class Recorder:
    """Hands every event on instead of writing it."""

    def __init__(self, keep: Callable[[RecordedEvent], None]) -> None:
        self._keep = keep

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None:
        self._keep(RecordedEvent(regarding, related, type, reason, action, note))
