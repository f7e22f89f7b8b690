"""Talking to an API server."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from moorage.api.pods import Condition, Pod

if TYPE_CHECKING:
    from moorage.client.http import HttpClient


class Client(Protocol):
    """What the scheduler writes. Every call may answer at once or be awaited."""

    @property
    def http(self) -> HttpClient | None:
        """For all other requests: the API server behind it, or None if everything is in memory."""

    def bind(self, pod: Pod, node_name: str) -> Awaitable[None] | None:
        """Puts a pod on a node; raises if the API server refuses."""

    def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> Awaitable[None] | None:
        """Sets a condition of a pod, its nomination ("" clears it), or both."""

    def delete_pod(self, pod: Pod) -> Awaitable[None] | None:
        """Deletes a pod, with the time it has to end."""
