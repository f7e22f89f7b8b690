"""Which pods are on which node."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.base.store import Change, Store, Stored
from moorage.cluster.life.controllers.controller import Key


class BoundPods:
    """The pods of each node, by a listener of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_node: dict[str, set[Key]] = {}

    def listen(self) -> Callable[[], None]:
        for pod in self._store.iterate("pods"):
            self._note(pod)
        return self._store.listen("pods", self._changed)

    def on(self, node: str) -> list[Stored]:
        get = self._store.get
        return [pod for key in sorted(self._by_node.get(node, ())) if (pod := get("pods", *key)) is not None]

    def tell(
        self, look: Callable[[Stored], None], gone: Callable[[Stored], None]
    ) -> list[Callable[[], None]]:
        """Has somebody look at pods that change or whose node comes, and know of those that are gone."""

        def pod_changed(change: Change) -> None:
            if change.type == "DELETED":
                gone(change.new)
            else:
                look(change.new)

        def node_changed(change: Change) -> None:
            if change.type == "ADDED":
                for pod in self.on(change.new.name):
                    look(pod)

        return [self._store.listen("pods", pod_changed), self._store.listen("nodes", node_changed)]

    def _note(self, pod: Stored) -> None:
        node = pod.spec.get("nodeName")
        if node:
            self._by_node.setdefault(node, set()).add(pod.key)

    def _changed(self, change: Change) -> None:
        if change.type == "DELETED":
            node = change.new.spec.get("nodeName", "")
            pods = self._by_node.get(node)
            if pods is not None:
                pods.discard(change.new.key)
                if not pods:
                    del self._by_node[node]
        elif change.old is None or change.old.spec.get("nodeName") != change.new.spec.get("nodeName"):
            self._note(change.new)
