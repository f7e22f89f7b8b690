"""What happens to objects, told to people as Event objects, without flooding them."""

from __future__ import annotations

import itertools
import logging
from collections import OrderedDict
from typing import Any, TypeVar

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import Clock, timestamp
from moorage.cluster.objects.writes import InternalWriter

SIMILAR = 10  # texts of one reason about an object before they are told together
SIMILAR_SECONDS = 600.0
BURST = 25  # events about an object at once
REFILL_SECONDS = 300.0  # for each further one
REMEMBERED = 4096

V = TypeVar("V")
log = logging.getLogger(__name__)


class _Recent(OrderedDict[Any, V]):
    """Forgets what was not set for longest."""

    def put(self, key: Any, value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > REMEMBERED:
            self.popitem(last=False)


class Recorder:
    """Writes the events of one component.

    As client-go does it: the same event again only counts up; from the tenth text of the same reason about
    an object on they are combined into one; and an object has at most 25 writes at once and one more every
    five minutes.
    """

    def __init__(self, writer: InternalWriter, component: str, clock: Clock) -> None:
        self._writer = writer
        self._component = component
        self._clock = clock
        self._written: _Recent[tuple[str, str]] = _Recent()
        self._similar: _Recent[tuple[float, set[str]]] = _Recent()
        self._budgets: _Recent[tuple[float, float]] = _Recent()

    def tell(
        self,
        about: Stored,
        reason: str,
        message: str,
        *,
        warning: bool = False,
        field_path: str = "",
        host: str = "",
    ) -> None:
        """Records an event; never raises, since nothing depends on it. `host` is for nodes' components."""
        now = self._clock()
        kind = (about.uid, field_path, reason, warning)
        last, messages = self._similar.get(kind, (now, set()))
        if now - last > SIMILAR_SECONDS:
            messages = set()
        if len(messages) < SIMILAR:
            messages.add(message)
        self._similar.put(kind, (now, messages))
        key: Any = (*kind, message)
        if len(messages) >= SIMILAR:
            key, message = kind, f"(combined from similar events): {message}"
        if not self._may(about.uid, now):
            return
        source = {"component": self._component, "host": host}
        said = {
            "reason": reason,
            "message": message[:1024],
            "source": {name: value for name, value in source.items() if value},
            "firstTimestamp": timestamp(now),
            "lastTimestamp": timestamp(now),
            "count": 1,
            "eventTime": None,
            "type": "Warning" if warning else "Normal",
            "reportingComponent": self._component,
            "reportingInstance": host,
        }
        try:
            if not self._repeat(key, message, now):
                event = self._about(about, field_path, now) | said
                self._written.put(key, self._writer.create("events", event).key)
        except Refusal as refusal:
            log.debug("No event %s about %s: %s", reason, about.name, refusal)

    def _may(self, uid: str, now: float) -> bool:
        left, since = self._budgets.get(uid, (float(BURST), now))
        left = min(BURST, left + (now - since) / REFILL_SECONDS)
        allowed = left >= 1
        self._budgets.put(uid, (left - 1 if allowed else left, now))
        return allowed

    def _repeat(self, key: Any, message: str, now: float) -> bool:
        place = self._written.get(key)
        stored = place and self._writer.store.get("events", *place)
        if not stored:
            return False

        def count(document: Document) -> None:
            document["count"] = document.get("count", 1) + 1
            document["lastTimestamp"] = timestamp(now)
            document["message"] = message

        return self._writer.change("events", stored, count) is not None

    def _about(self, about: Stored, field_path: str, now: float) -> Document:
        """What any event about an object has."""
        namespace = about.namespace or "default"
        involved = {
            "kind": about.document.get("kind", ""),
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
            "apiVersion": about.document.get("apiVersion", ""),
            "resourceVersion": str(about.revision),
            "fieldPath": field_path,
        }
        names = (f"{about.name}.{number:x}" for number in itertools.count(int(now * 1e9)))
        name = next(each for each in names if self._writer.store.get("events", namespace, each) is None)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {name: value for name, value in involved.items() if value},
        }
