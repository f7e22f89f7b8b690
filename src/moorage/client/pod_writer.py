"""What a scheduler writes of pods, through an API server."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.api.pods import Condition, Pod
from moorage.client.errors import ApiError, Conflict, NotFound, ServerTimeout, Unreachable, is_retriable
from moorage.client.http import PATCH_TYPES, HttpClient
from moorage.client.resources import Resource

STATUS_TRIES = 4
STATUS_DELAY, STATUS_FACTOR, STATUS_JITTER = 0.01, 5.0, 0.1
BIND_SECONDS = 5.0
"""How long a bind may take. None is begun with less than that left of the lease."""
BIND_TRIES = 3
BIND_CHECK_DELAY, BIND_CHECK_LONGEST_DELAY = 0.1, 5.0

_PODS = Resource.of(Pod)
_encode = msgspec.json.Encoder().encode


class PodWriter:
    """Binds and deletes pods and writes their status.

    What may be late, the status, goes through the client `late` where one is given. Each client has a rate
    and connections of its own, so that thousands of conditions hold up no bind.
    """

    def __init__(
        self, http: HttpClient, *, late: HttpClient | None = None, bind_seconds: float = BIND_SECONDS
    ) -> None:
        self.http = http
        self._bind_seconds = bind_seconds
        self._late = late or http

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Puts a pod on a node; raises if the API server refuses.

        A request without an answer may still be on its way. The pod keeps its place meanwhile, and what is
        tried again is the same bind: two that arrive do no harm, while another node would leave the room on
        this one to others.
        """
        meta = pod.metadata
        path = _PODS.path(meta.namespace, meta.name, "binding")
        body = _encode(
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
                "target": {"kind": "Node", "name": node_name},
            }
        )
        for tries in range(1, BIND_TRIES + 1):
            try:
                await self.http.send("POST", path, body, seconds=self._bind_seconds)
                return
            except ApiError as error:
                underway = isinstance(error, Unreachable | ServerTimeout)
                # A server in trouble may have done it all the same; a conflict may be with an earlier try.
                unsure = underway or error.code >= 500 or (tries > 1 and isinstance(error, Conflict))
                found = await self._node_of(pod) if unsure else None
                if found == node_name:
                    return
                if found != "" or not underway or tries == BIND_TRIES:
                    raise

    async def _node_of(self, pod: Pod) -> str | None:
        """The node a pod has, asked until the API server answers; None if the pod is gone."""
        http, delay = self.http, BIND_CHECK_DELAY
        while True:
            try:
                found = await http.get(_PODS, pod.name, namespace=pod.namespace, seconds=self._bind_seconds)
                return found.spec.node_name if found.uid == pod.uid else None
            except NotFound:
                return None
            except ApiError as error:
                if not is_retriable(error):
                    raise
            await http.sleep(delay * (1 + STATUS_JITTER * http.random()))
            delay = min(2 * delay, BIND_CHECK_LONGEST_DELAY)

    async def delete_pod(self, pod: Pod) -> None:
        """Deletes a pod, with the time it has to end."""
        await self.http.delete(_PODS, pod.name, namespace=pod.namespace)

    async def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        """Sets a condition of a pod, its nomination ("" clears it), or both; tries up to four times."""
        status: dict[str, Any] = {}
        if condition is not None:
            status["conditions"] = [_condition(condition)]
        if nominated_node is not None:
            status["nominatedNodeName"] = nominated_node or None
        if not status:
            return
        path = _PODS.path(pod.namespace, pod.name, "status")
        body = _encode({"status": status})
        http, delay = self._late, STATUS_DELAY
        for tries_left in reversed(range(STATUS_TRIES)):
            try:
                await http.send("PATCH", path, body, content_type=PATCH_TYPES["strategic"], tries=1)
                return
            except ApiError as error:
                if not tries_left or not (is_retriable(error) or isinstance(error, Conflict)):
                    raise
                wait = max(delay * (1 + STATUS_JITTER * http.random()), error.retry_after or 0.0)
            await http.sleep(wait)
            delay *= STATUS_FACTOR


def _condition(condition: Condition) -> dict[str, Any]:
    # Empty texts are sent too: a merge leaves alone what is not named.
    found: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.last_transition_time is not None:
        found["lastTransitionTime"] = condition.last_transition_time
    if condition.observed_generation:
        found["observedGeneration"] = condition.observed_generation
    return found
