"""Whether the priority levels that FlowSchemas name are there."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.base.parts import condition, text
from moorage.cluster.base.store import Change, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.objects.writes import InternalWriter

_SCHEMAS = "flowschemas.flowcontrol.apiserver.k8s.io"
_LEVELS = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
_DANGLING = "Dangling"


class FlowConditions:
    """Keeps the status of FlowSchemas up to date, from `start` on; it is written in `settle`."""

    def __init__(self, writer: InternalWriter, wake: Callable[[], None], clock: Callable[[], float]) -> None:
        self._writer = writer
        self._store = writer.store
        self._wake = wake
        self._clock = clock

    def start(self) -> None:
        self.settle()
        for resource in (_SCHEMAS, _LEVELS):
            self._store.listen(resource, self._changed)

    def _changed(self, change: Change) -> None:
        if change.old is None or change.type == "DELETED" or change.new.spec != change.old.spec:
            self._wake()

    def settle(self) -> None:
        for schema in self._store.objects(_SCHEMAS):
            self._tell(schema)

    def _tell(self, schema: Stored) -> None:
        level = text(schema.document, "spec", "priorityLevelConfiguration", "name")
        exists = self._store.get(_LEVELS, "", level) is not None
        value, reason = ("False", "Found") if exists else ("True", "NotFound")
        known = condition(schema.status, _DANGLING)
        if known is not None and known.get("status") == value:
            return
        about = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        told = {
            "type": _DANGLING,
            "status": value,
            "lastTransitionTime": timestamp(self._clock()),
            "reason": reason,
            "message": f"{about} {'and it exists' if exists else 'but there is no such object'}",
        }
        self._writer.change(
            _SCHEMAS,
            schema,
            lambda document: document.update(status={"conditions": [told]}),
            subresource="status",
        )
