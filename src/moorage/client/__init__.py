"""Talking to an API server."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from moorage.api.pods import Pod


class Client(Protocol):
    """What the scheduler asks of a cluster."""

    def bind(self, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """Puts a pod on a node, at once or awaited; raises if the API server refuses."""
