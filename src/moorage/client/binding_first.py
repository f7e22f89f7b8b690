"""A client whose late writes do not stand in the way of binds."""

from __future__ import annotations

from typing import Any

from moorage.api.pods import Condition, Pod
from moorage.client.http import HttpClient


class BindingFirst(HttpClient):
    """Sends what may be late, the status of pods, through another client.

    Each client has a rate and connections of its own, so that thousands of conditions hold up no bind.
    """

    def __init__(self, *arguments: Any, late: HttpClient, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._late = late

    async def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        await self._late.write_pod_status(pod, condition=condition, nominated_node=nominated_node)
