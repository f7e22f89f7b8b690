"""PodGroups that are deleted stay as long as pods name them."""

from __future__ import annotations

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Change, Stored
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Key, drop_finalizer, is_finished
from moorage.cluster.objects.admission.pod_groups import FINALIZER, GROUPS


class PodGroupProtection(Controller):
    """Takes away the finalizer that keeps a group whose pods are all finished or gone."""

    name = "pod group protection"

    def _begin(self) -> None:
        self._listen(GROUPS, lambda change: self._look(change.new))
        for stored in self._store.iterate(GROUPS):
            self._look(stored)
        self._listen("pods", self._pod_changed)

    def _look(self, stored: Stored) -> None:
        if stored.is_deleted:
            self._queue.add(stored.key)

    def _pod_changed(self, change: Change) -> None:
        pod = change.new
        if (change.type == "DELETED" or is_finished(pod)) and (name := _group_of(pod)):
            self._queue.add((pod.namespace, name))

    async def _reconcile(self, key: Key) -> None:
        group = self._store.get(GROUPS, *key)
        if group is None or not group.is_deleted or FINALIZER not in group.finalizers:
            return
        pods = (pod for pod in self._store.iterate("pods") if pod.namespace == group.namespace)
        if not any(_group_of(pod) == group.name and not is_finished(pod) for pod in pods):
            drop_finalizer(self._writer, GROUPS, group, FINALIZER)


def _group_of(pod: Stored) -> str:
    name: str = part(pod.spec, "schedulingGroup").get("podGroupName") or ""
    return name
