"""ResourceQuotas: their status says what the objects of a namespace take."""

from __future__ import annotations

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Change, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Groups, Key, write_status
from moorage.cluster.objects.admission import usage
from moorage.cluster.objects.admission.usage import NOTHING, QUOTAS, Usage
from moorage.cluster.objects.writes import InternalWriter


class Quotas(Controller):
    """Counts all objects once, and then with every change; admission has noted what was asked for meanwhile.

    It listens to those resources only that some quota is about.
    """

    name = "resourcequota"

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._used: dict[Key, Usage] = {}
        self._names: Groups[str, str] = Groups()
        self._known: set[str] = set()

    def _begin(self) -> None:
        self._listen(QUOTAS, self._quota_changed)
        for quota in list(self._store.iterate(QUOTAS)):
            self._count(quota)

    def _quota_changed(self, change: Change) -> None:
        quota = change.new
        if change.type == "DELETED":
            self._used.pop(quota.key, None)
            self._names.discard(quota.namespace, quota.name)
        elif change.old is None or change.old.spec != quota.spec:
            self._count(quota)
        elif change.old.status != quota.status:
            self._queue.add(quota.key)

    def _count(self, quota: Stored) -> None:
        hard = part(quota.spec, "hard")
        resources = usage.resources_of(hard)
        for resource in sorted(resources - self._known):
            self._listen(resource, self._changed)
        self._known |= resources
        self._names.add(quota.namespace, quota.name)
        used = self._used[quota.key] = {
            name: NOTHING for name in hard if any(usage.is_of(resource, name) for resource in resources)
        }
        for resource in sorted(resources):
            for stored in self._store.iterate(resource, quota.namespace):
                _add(used, _taken(quota, resource, stored), {})
        self._queue.add(quota.key)

    def _changed(self, change: Change) -> None:
        names = self._names.get(change.new.namespace, ())
        if not names or not _matters(change):
            return
        for name in names:
            quota = self._store.get(QUOTAS, change.new.namespace, name)
            # A quota that counts quotas is itself not known before it is heard of.
            if quota is None or quota.key not in self._used:
                continue
            more = _taken(quota, change.resource, change.new) if change.type != "DELETED" else {}
            less = _taken(quota, change.resource, change.old) if change.old is not None else {}
            if more != less:
                _add(self._used[quota.key], more, less)
                self._queue.add(quota.key)

    async def _reconcile(self, key: Key) -> None:
        quota = self._store.get(QUOTAS, *key)
        used = self._used.get(key)
        if quota is None or used is None:
            return
        hard = part(quota.spec, "hard")
        amounts = {"hard": {**hard}, "used": {name: str(each) for name, each in sorted(used.items())}}
        write_status(self._writer, QUOTAS, quota, {name: each for name, each in amounts.items() if each})


def _taken(quota: Stored, resource: str, stored: Stored) -> Usage:
    if not usage.is_in_scope(quota.document, resource, stored.document):
        return {}
    return usage.usage_of(resource, stored.document)


def _matters(change: Change) -> bool:
    """Most changes of pods are of their status only."""
    old, new = change.old, change.new
    if old is None or change.type == "DELETED":
        return True
    phases = {each.status.get("phase") in ("Succeeded", "Failed") for each in (old, new)}
    return len(phases) > 1 or change.resource != "pods" or old.spec != new.spec


def _add(used: Usage, more: Usage, less: Usage) -> None:
    for name in used:
        if name in more or name in less:
            used[name] = used[name].plus(more.get(name, NOTHING)).minus(less.get(name, NOTHING))
