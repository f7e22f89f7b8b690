"""What the scheduler of a replay writes: binds happen at once, and pods that have to go are on their way."""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from moorage.api.pods import Pod, on_node
from moorage.client.errors import NotFound
from moorage.client.memory import MemoryClient


class ReplayClient(MemoryClient):
    """Tells of binds and of pods that are told to go."""

    def __init__(
        self,
        put: Callable[[Pod], None],
        clock: Callable[[], float],
        has_node: Callable[[str], bool],
        bound: Callable[[Pod], None],
    ) -> None:
        super().__init__(put)
        self._clock = clock
        self._has_node = has_node
        self._bound = bound
        self.going: list[str] = []
        """The uids of pods that were told to go."""
        self._second, self._text = -1, ""

    def bind(self, pod: Pod, node_name: str) -> None:
        old = self._known(pod)
        if old.spec.node_name:
            raise RuntimeError(f"pod {pod.key} is already assigned to node {old.spec.node_name!r}")
        if not self._has_node(node_name):
            raise RuntimeError(f"node {node_name} was lost before pod {pod.key} was bound to it")
        second = int(self._clock())
        if second != self._second:
            self._second, self._text = second, written(second)
        new = on_node(old, node_name)
        new.status = old.status.__copy__()  # type: ignore[attr-defined]
        new.status.start_time, new.status.nominated_node_name = self._text, ""
        self.pods[new.key] = new
        self._bound(new)
        self._put(new)

    def delete_pod(self, pod: Pod) -> None:
        old = self._known(pod)
        if not old.deleting:
            new: Pod = old.__copy__()  # type: ignore[attr-defined]
            new.metadata = replace(old.metadata, deletion_timestamp=written(self._clock()))
            self.going.append(old.uid)
            self._change(new)

    def _known(self, pod: Pod) -> Pod:
        found = super()._known(pod)
        if found.uid != pod.uid:
            # A pod that was made again would have another name in a cluster.
            raise NotFound(404, "NotFound", f'pods "{pod.name}" with the uid {pod.uid} not found')
        return found


def written(seconds: float) -> str:
    """A time as the API has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
