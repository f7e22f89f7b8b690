"""The pods of replica sets: which belong to which, kept up to date with every change."""

from __future__ import annotations

from collections.abc import Callable

from moorage.api.selectors import Selector
from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Change, Store, Stored
from moorage.cluster.life.controllers.controller import Key
from moorage.cluster.life.controllers.owners import controller_of
from moorage.cluster.life.controllers.pod_facts import is_active

REPLICA_SETS = "replicasets.apps"


class ReplicaPods:
    """Tells which replica sets a change of a pod concerns, and knows the pods each one has or could adopt."""

    def __init__(self, store: Store, touched: Callable[[Key], None]) -> None:
        self._store = store
        self._touched = touched
        self._owned: dict[str, set[Key]] = {}
        self._orphans: dict[str, set[Key]] = {}
        self._selectors: dict[str, dict[str, Selector]] = {}
        self._to_adopt: dict[Key, set[Key]] = {}

    def listen(self) -> list[Callable[[], None]]:
        for pod in self._store.iterate("pods"):
            self._pod_added(pod)
        for replica_set in self._store.iterate(REPLICA_SETS):
            self._set_known(replica_set)
        return [
            self._store.listen("pods", self._pod_changed),
            self._store.listen(REPLICA_SETS, self._set_changed),
        ]

    def owned(self, uid: str) -> list[Stored]:
        """The pods that name this replica set as their controller."""
        return self._present(self._owned.get(uid, ()))

    def take_adoptable(self, key: Key) -> list[Stored]:
        """Pods without a controller that the replica set selects, each told once."""
        return [
            pod
            for pod in self._present(self._to_adopt.pop(key, ()))
            if controller_of(pod) is None and is_active(pod)
        ]

    def _present(self, keys: set[Key] | tuple[()]) -> list[Stored]:
        get = self._store.get
        return [pod for key in keys if (pod := get("pods", *key)) is not None]

    def _set_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._selectors.get(change.new.namespace, {}).pop(change.new.name, None)
            self._to_adopt.pop(change.new.key, None)
        elif change.old is None or change.old.spec.get("selector") != change.new.spec.get("selector"):
            self._set_known(change.new)
        self._touched(change.new.key)

    def _set_known(self, replica_set: Stored) -> None:
        selector = selector_of(replica_set.spec.get("selector"))
        if selector.empty:
            return
        self._selectors.setdefault(replica_set.namespace, {})[replica_set.name] = selector
        orphans = self._present(self._orphans.get(replica_set.namespace, ()))
        matching = {pod.key for pod in orphans if selector.matches(pod.labels)}
        if matching:
            self._to_adopt.setdefault(replica_set.key, set()).update(matching)
        self._touched(replica_set.key)

    def _pod_changed(self, change: Change) -> None:
        new, old = change.new, change.old
        if change.type == "MODIFIED" and old is not None:
            if new.owners != old.owners:
                self._pod_removed(old)
                self._pod_added(new)
                return
            if controller_of(new) is None and new.labels == old.labels:
                return
        if change.type == "DELETED":
            self._pod_removed(new)
        else:
            self._pod_added(new)

    def _pod_added(self, pod: Stored) -> None:
        key = pod.key
        owner = controller_of(pod)
        if owner is not None:
            self._owned.setdefault(owner.get("uid", ""), set()).add(key)
            self._tell(pod, owner)
            return
        self._orphans.setdefault(pod.namespace, set()).add(key)
        for name, selector in self._selectors.get(pod.namespace, {}).items():
            if selector.matches(pod.labels):
                self._to_adopt.setdefault((pod.namespace, name), set()).add(key)
                self._touched((pod.namespace, name))

    def _pod_removed(self, pod: Stored) -> None:
        key = pod.key
        owner = controller_of(pod)
        if owner is None:
            self._orphans.get(pod.namespace, set()).discard(key)
            return
        uid = owner.get("uid", "")
        pods = self._owned.get(uid, set())
        pods.discard(key)
        if not pods:
            self._owned.pop(uid, None)
        self._tell(pod, owner)

    def _tell(self, pod: Stored, owner: dict[str, str]) -> None:
        if owner.get("kind") == "ReplicaSet":
            self._touched((pod.namespace, owner.get("name", "")))
