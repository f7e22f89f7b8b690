"""Pods that are nominated to a node: room is being made for them there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from moorage.api.pods import Pod


class Nominations:
    """Which pod is nominated to which node. A pod is nominated to one node at most."""

    def __init__(self, is_pending: Callable[[Pod], bool] = lambda pod: True) -> None:
        """Made by the scheduler, not for plugins; `is_pending` knows whether a pod exists and has no node."""
        self.version = 0
        """Changes with every nomination that comes or goes."""
        self._is_pending = is_pending
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._forgotten = 0

    def add(self, pod: Pod, node_name: str | None = None) -> None:
        """Records a nomination instead of an older one; without a name, that of the pod's status counts.

        A pod that is gone or already has a node is not recorded.
        """
        self.remove(pod.uid)
        name = pod.status.nominated_node_name if node_name is None else node_name
        if name and self._is_pending(pod):
            self.version += 1
            self._versions[name] = self.version
            self._node_of[pod.uid] = name
            self._by_node.setdefault(name, {})[pod.uid] = pod

    def update(self, old: Pod, new: Pod) -> None:
        """A pod changed; a nomination that only lives in memory is kept if neither version names a node."""
        kept: str | None = None
        if not old.status.nominated_node_name and not new.status.nominated_node_name:
            kept = self._node_of.get(old.uid)
        self.remove(old.uid)
        self.add(new, kept)

    def remove(self, uid: str) -> None:
        """Forgets the nomination of the pod with this uid, if it has one."""
        name = self._node_of.pop(uid, None)
        if name is not None:
            self.version += 1
            self._versions[name] = self.version
            pods = self._by_node[name]
            del pods[uid]
            if not pods:
                del self._by_node[name]
            if not self._by_node:
                # Nobody can tell apart what was before: a version is not used twice.
                self._versions.clear()
                self._forgotten = self.version

    def version_of(self, node_name: str) -> int:
        """For the scheduler, not for plugins: changes with the pods that are nominated to this node."""
        return self._versions.get(node_name, self._forgotten)

    def node_of(self, uid: str) -> str:
        """The node that the pod with this uid is nominated to; empty if none."""
        return self._node_of.get(uid, "")

    def on(self, node_name: str) -> Collection[Pod]:
        """The pods nominated to a node."""
        return self._by_node.get(node_name, {}).values()

    def __iter__(self) -> Iterator[Pod]:
        """All nominated pods."""
        return (pod for pods in self._by_node.values() for pod in pods.values())

    def rivals(self, pod: Pod) -> dict[str, list[Pod]]:
        """For each node, the pods nominated there that are at least as important as `pod`."""
        found: dict[str, list[Pod]] = {}
        for name, pods in self._by_node.items():
            rivals = [
                other for other in pods.values() if other.priority >= pod.priority and other.uid != pod.uid
            ]
            if rivals:
                found[name] = rivals
        return found

    def __len__(self) -> int:
        return len(self._node_of)
