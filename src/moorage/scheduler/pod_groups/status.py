"""What a PodGroup's status says of its scheduling."""

from __future__ import annotations

from copy import copy
from datetime import UTC, datetime

import msgspec

from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Condition
from moorage.framework.handle import Handle
from moorage.framework.logger import Logger
from moorage.framework.pod_groups import PodGroups

log = Logger(__name__)

SCHEDULED = "PodGroupScheduled"


class PodGroupStatusWriter:
    """Writes the condition PodGroupScheduled beside everything else, once for each change."""

    def __init__(self, handle: Handle, groups: PodGroups) -> None:
        self._handle = handle
        self._groups = groups
        self._written: dict[str, Condition] = {}
        """By uid: what was written last, which the watch may not have brought yet."""
        handle.lister_of(PodGroup).on_change(deleted=self._forget)

    def write(self, key: str, status: str, reason: str, message: str) -> None:
        """Once a group has been scheduled, it stays so, whatever becomes of pods that come later."""
        group = self._groups.get(key)
        services = self._handle.services
        if group is None:
            log.info(2, "Failed to get PodGroup for status update", group=key)
            return
        if services.client is None or not services.may_bind():
            return
        known = self._written.get(group.uid) or group.condition(SCHEDULED)
        new = Condition(
            type=SCHEDULED,
            status=status,
            reason=reason,
            message=message,
            last_transition_time=_began(known, status, services.clock()),
            observed_generation=group.metadata.generation,
        )
        if known == new or (known is not None and known.status == "True" and status != "True"):
            return
        self._written[group.uid] = new
        if services.client.http is None:
            services.door.put(_with_condition(group, new))
        else:
            self._handle.write(self._patch, group, new)

    def _forget(self, group: PodGroup) -> None:
        self._written.pop(group.uid, None)

    async def _patch(self, group: PodGroup, new: Condition) -> None:
        try:
            await self._handle.resource_client(PodGroup).patch(
                group.name,
                {"status": {"conditions": [_document(new)]}},
                namespace=group.namespace,
                kind="strategic",
                subresource="status",
            )
        except Exception:
            if self._written.get(group.uid) is new:
                del self._written[group.uid]  # the next attempt says it again
            raise


def _began(known: Condition | None, status: str, now: float) -> str:
    if known is not None and known.status == status and known.last_transition_time:
        return known.last_transition_time
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _document(condition: Condition) -> dict[str, object]:
    """With those fields, too, that are empty and may not be left out."""
    return {"message": "", **msgspec.to_builtins(condition)}


def _with_condition(group: PodGroup, new: Condition) -> PodGroup:
    changed = copy(group)
    changed.status = copy(group.status)
    others = tuple(known for known in group.status.conditions if known.type != new.type)
    changed.status.conditions = (*others, new)
    return changed
