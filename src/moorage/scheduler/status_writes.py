"""What failures say of pods, on its way to the API server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from itertools import islice
from typing import NamedTuple

from moorage.api.pods import Condition, Pod
from moorage.framework.conditions import says_already
from moorage.framework.handle import Services
from moorage.framework.logger import Logger

log = Logger(__name__)

MOST_AT_ONCE = 16


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


class StatusWrites:
    """Writes beside everything else; what fails is logged.

    There is one write at a time for a pod and a few at a time altogether. Of what has to wait for that, only
    the newest of each pod is kept: pods that are tried again faster than the API server, or the rate of the
    client, allows do not pile up writes, and the pods that get a node meanwhile are not held up by them.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._under_way: dict[str, StatusWrite] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, StatusWrite] = {}

    def write(self, new: StatusWrite) -> None:
        """Has the pod's status written unless it says that already, or will."""
        uid = new.pod.uid
        earlier = self._waiting.get(uid)
        if earlier is not None:
            self._waiting[uid] = earlier.before(new)
            return
        current = self._under_way.get(uid)
        if current is not None:
            if not current.says_the_same(new):
                self._waiting[uid] = new
        elif new.nominated_node is not None or not says_already(new.pod, new.condition):
            self._waiting[uid] = new
            self._begin_some()

    def withdraw_at_once(self, uid: str) -> bool:
        """As `withdraw`, where nothing is on its way that has to be waited for; False if something is."""
        self._waiting.pop(uid, None)
        return uid not in self._tasks

    async def withdraw(self, pod: Pod) -> None:
        """The pod gets a node: what is not written yet must not come after that."""
        self._waiting.pop(pod.uid, None)
        task = self._tasks.get(pod.uid)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def _begin_some(self) -> None:
        """Begins writes while there are slots left; in a client without an API server they end at once."""
        for uid in list(islice(self._waiting, MOST_AT_ONCE + len(self._under_way))):
            if len(self._tasks) >= MOST_AT_ONCE:
                return
            if uid not in self._under_way and uid in self._waiting:
                self._begin(uid, self._waiting.pop(uid))

    def _begin(self, uid: str, write: StatusWrite) -> None:
        (pod, condition, nominated), client = write, self._services.client
        if client is None or not self._services.may_bind():
            return
        self._under_way[uid] = write
        answer: Awaitable[None] | None = None
        try:
            answer = client.write_pod_status(pod, condition=condition, nominated_node=nominated)
        except Exception as error:
            log.error(error, "Error updating pod", pod=pod)
        if answer is None:
            del self._under_way[uid]
            return
        task = asyncio.get_running_loop().create_task(_finish(pod, answer))
        self._tasks[uid] = task
        task.add_done_callback(lambda task: self._end(uid, answer))

    def _end(self, uid: str, answer: Awaitable[None]) -> None:
        if isinstance(answer, Coroutine):
            answer.close()  # it may have been withdrawn before it began
        del self._under_way[uid], self._tasks[uid]
        self._begin_some()


async def _finish(pod: Pod, answer: Awaitable[None]) -> None:
    try:
        await answer
    except Exception as error:
        log.error(error, "Error updating pod", pod=pod)
