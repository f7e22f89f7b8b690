"""What FlowSchemas and PriorityLevelConfigurations have in common.

Every request is served at once, whatever they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.api_server.flow_objects import FIXED
from moorage.cluster.kinds.common import WithStatus
from moorage.cluster.schema.checking import check
from moorage.cluster.schema.definitions import keep_but
from moorage.cluster.schema.versions import from_stored


class FlowControlStrategy(WithStatus):
    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check(f"{self.type_name}Status", new.get("status"), "status")


def changed_spec(kind: str, name: str, spec: Document, path: str, free: str = "") -> Iterator[Cause]:
    """Nobody can change the specs of mandatory objects, apart from a field that may be free."""
    fixed = FIXED.get((kind, name), spec)
    if {**spec, free: None} != {**fixed, free: None}:
        but = f" except the 'spec.{free}' field" if free else ""
        # Messages show it under the names it has inside Kubernetes, with all that is absent.
        shown = from_stored(f"flowcontrol.internal.{kind}Spec", spec)
        yield invalid_value(path, shown, f"spec of '{name}'{but} must equal the fixed value")
