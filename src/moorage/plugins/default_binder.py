"""DefaultBinder: tells the API server where a pod goes."""

from __future__ import annotations

from collections.abc import Awaitable

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import BindPlugin


class DefaultBinder(BindPlugin):
    """Binds the pod through the API server; what that refuses is an error and the pod is retried."""

    def bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Awaitable[None] | None:
        return self.handle.client.bind(pod, node_name)
