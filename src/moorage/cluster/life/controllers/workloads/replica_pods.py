"""The pods of replica sets, or of another kind: which belong to which, kept up to date with every change."""

from __future__ import annotations

from collections.abc import Callable

from moorage.api.selectors import Selector
from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Change, Store, Stored
from moorage.cluster.life.controllers.objects import Groups, Key, controller_of, is_active, pods_of

REPLICA_SETS = "replicasets.apps"


def selects_labels(owner: Stored) -> Selector:
    """What most kinds that have pods select."""
    return selector_of(owner.spec.get("selector"))


class ReplicaPods:
    """Tells which replica sets a change of a pod concerns, and knows the pods each one has or could adopt."""

    def __init__(
        self,
        store: Store,
        touched: Callable[[Key], None],
        resource: str = REPLICA_SETS,
        kind: str = "ReplicaSet",
        selects: Callable[[Stored], Selector] = selects_labels,
    ) -> None:
        self._store = store
        self._resource = resource
        self._kind = kind
        self._selects = selects
        self._touched = touched
        self._owned: Groups[str, Key] = Groups()
        self._orphans: Groups[str, Key] = Groups()
        self._selectors: dict[str, dict[str, Selector]] = {}
        self._to_adopt: Groups[Key, Key] = Groups()

    def start(self) -> None:
        for pod in self._store.iterate("pods"):
            self._pod_added(pod)
        for replica_set in self._store.iterate(self._resource):
            self._set_known(replica_set)

    def owned(self, uid: str) -> list[Stored]:
        """The pods that name this replica set as their controller."""
        return pods_of(self._store, self._owned.get(uid, ()))

    def take_adoptable(self, key: Key) -> list[Stored]:
        """Pods without a controller that the replica set selects, each told once."""
        pods = pods_of(self._store, self._to_adopt.pop(key, ()))
        return [pod for pod in pods if controller_of(pod) is None and is_active(pod)]

    def set_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._selectors.get(change.new.namespace, {}).pop(change.new.name, None)
            self._to_adopt.pop(change.new.key, None)
        elif change.old is None or change.old.spec.get("selector") != change.new.spec.get("selector"):
            self._set_known(change.new)
        self._touched(change.new.key)

    def _set_known(self, replica_set: Stored) -> None:
        selector = self._selects(replica_set)
        if selector.empty:
            return
        self._selectors.setdefault(replica_set.namespace, {})[replica_set.name] = selector
        for pod in pods_of(self._store, self._orphans.get(replica_set.namespace, ())):
            if selector.matches(pod.labels):
                self._to_adopt.add(replica_set.key, pod.key)
        self._touched(replica_set.key)

    def pod_changed(self, change: Change) -> None:
        new, old = change.new, change.old
        if old is not None and (change.type == "DELETED" or new.owners != old.owners):
            self._pod_removed(old)
        elif old is not None and controller_of(new) is None and new.labels == old.labels:
            return
        if change.type != "DELETED":
            self._pod_added(new)

    def _pod_added(self, pod: Stored) -> None:
        owner = controller_of(pod)
        if owner is not None:
            if owner.get("kind") == self._kind:
                self._owned.add(owner.get("uid", ""), pod.key)
                self._tell(pod, owner)
            return
        self._orphans.add(pod.namespace, pod.key)
        for name, selector in self._selectors.get(pod.namespace, {}).items():
            if selector.matches(pod.labels):
                self._to_adopt.add((pod.namespace, name), pod.key)
                self._touched((pod.namespace, name))

    def _pod_removed(self, pod: Stored) -> None:
        owner = controller_of(pod)
        if owner is None:
            self._orphans.discard(pod.namespace, pod.key)
        elif owner.get("kind") == self._kind:
            self._owned.discard(owner.get("uid", ""), pod.key)
            self._tell(pod, owner)

    def _tell(self, pod: Stored, owner: dict[str, str]) -> None:
        self._touched((pod.namespace, owner.get("name", "")))
