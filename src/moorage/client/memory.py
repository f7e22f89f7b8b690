"""The in-process twin of an API server: what is written here happens at once."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from moorage.api.pods import Condition, Pod, on_node
from moorage.client.errors import NotFound


class MemoryClient:
    """Keeps pods in memory; `put` and `remove` are told of what changes and goes, as by a watch."""

    http = None

    def __init__(self, put: Callable[[Pod], None], remove: Callable[[Pod], None] = lambda pod: None) -> None:
        self._put = put
        self._remove = remove
        self.pods: dict[str, Pod] = {}

    def add(self, pod: Pod) -> None:
        self.pods[pod.key] = pod

    def bind(self, pod: Pod, node_name: str) -> None:
        old = self._known(pod)
        if old.spec.node_name:
            raise RuntimeError(f"pod {pod.key} is already assigned to node {old.spec.node_name!r}")
        self._change(on_node(old, node_name))

    def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        old = self._known(pod)
        new = copy(old)
        new.status = copy(old.status)
        if condition is not None:
            others = tuple(known for known in old.status.conditions if known.type != condition.type)
            new.status.conditions = (*others, condition)
        if nominated_node is not None:
            new.status.nominated_node_name = nominated_node
        self._change(new)

    def delete_pod(self, pod: Pod) -> None:
        self._remove(self.pods.pop(self._known(pod).key))

    def _known(self, pod: Pod) -> Pod:
        found = self.pods.get(pod.key)
        if found is None:
            raise NotFound(404, "NotFound", f'pods "{pod.name}" not found')
        return found

    def _change(self, new: Pod) -> None:
        self.pods[new.key] = new
        self._put(new)
