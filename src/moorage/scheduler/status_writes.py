"""What failures say of pods, on its way to the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import NamedTuple

from moorage.api.pods import Condition, Pod
from moorage.framework.conditions import says_already
from moorage.framework.handle import Services
from moorage.framework.logger import Logger

log = Logger(__name__)


class StatusWrite(NamedTuple):
    pod: Pod
    condition: Condition
    nominated_node: str | None
    """None leaves the nomination as it is, "" clears it."""

    def says_the_same(self, later: StatusWrite) -> bool:
        mine, other = self.condition, later.condition
        return (mine.status, mine.reason, mine.message) == (other.status, other.reason, other.message) and (
            later.nominated_node is None or later.nominated_node == self.nominated_node
        )

    def before(self, later: StatusWrite) -> StatusWrite:
        """Both in one."""
        if later.nominated_node is None:
            return later._replace(nominated_node=self.nominated_node)
        return later


class _Writing:
    """The writes about one pod: one that is under way, and what is to be written after it."""

    def __init__(self, current: StatusWrite) -> None:
        self.current = current
        self.next: StatusWrite | None = None
        self.task: asyncio.Task[None] | None = None


class StatusWrites:
    """Writes beside everything else; what fails is logged.

    There is one write at a time for a pod, and of what comes meanwhile only the newest is written. Pods that
    are tried again faster than the API server, or the rate of the client, allows do not pile up writes.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._writing: dict[str, _Writing] = {}

    def write(self, new: StatusWrite) -> None:
        """Has the pod's status written unless it says that already, or will."""
        uid = new.pod.uid
        writing = self._writing.get(uid)
        if writing is not None:
            if writing.next is not None:
                writing.next = writing.next.before(new)
            elif not writing.current.says_the_same(new):
                writing.next = new
            return
        if new.nominated_node is None and says_already(new.pod, new.condition):
            return
        answer = self._begin(new)
        if answer is not None:
            writing = self._writing[uid] = _Writing(new)
            writing.task = asyncio.get_running_loop().create_task(self._finish(writing, answer))
            writing.task.add_done_callback(lambda task: self._end(uid, answer))

    async def withdraw(self, pod: Pod) -> None:
        """The pod gets a node: what is not written yet must not come after that."""
        writing = self._writing.get(pod.uid)
        if writing is not None and writing.task is not None:
            writing.task.cancel()
            await asyncio.wait([writing.task])

    def _begin(self, write: StatusWrite) -> Awaitable[None] | None:
        (pod, condition, nominated), client = write, self._services.client
        if client is None or not self._services.may_bind():
            return None
        try:
            return client.write_pod_status(pod, condition=condition, nominated_node=nominated)
        except Exception as error:
            log.error(error, "Error updating pod", pod=pod)
            return None

    async def _finish(self, writing: _Writing, answer: Awaitable[None] | None) -> None:
        while True:
            try:
                if answer is not None:
                    await answer
            except Exception as error:
                log.error(error, "Error updating pod", pod=writing.current.pod)
            if writing.next is None:
                return
            writing.current, writing.next = writing.next, None
            answer = self._begin(writing.current)

    def _end(self, uid: str, answer: Awaitable[None]) -> None:
        if isinstance(answer, Coroutine):
            answer.close()  # it may have been withdrawn before it began
        del self._writing[uid]
