"""Pods that a Permit plugin holds back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from moorage.api.pods import Pod
from moorage.framework.diagnosis import timed_out
from moorage.framework.status import Code, Status


class WaitingPod:
    """A pod that waits until every plugin that asked for it says yes, or one says no."""

    def __init__(self, pod: Pod, timeouts: Mapping[str, float], message: str = "") -> None:
        """Made by the scheduler, not for plugins."""
        self.pod = pod
        """The pod that waits."""
        self.message = message
        """What it waits for; for the scheduler, not for plugins."""
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Status | None] = self._loop.create_future()
        self._timers: dict[str, asyncio.TimerHandle] = {
            plugin: self._loop.call_later(timeout, self._time_out, plugin, timeout)
            for plugin, timeout in timeouts.items()
        }

    @property
    def pending_plugins(self) -> list[str]:
        """The plugins that have not said yes yet."""
        return list(self._timers)

    @property
    def is_allowed(self) -> bool:
        """Whether all plugins have said yes; for the scheduler, not for plugins."""
        return self._ended.done() and self._ended.result() is None

    def allow(self, plugin: str) -> None:
        """Says yes for a plugin; the pod goes on when all that made it wait have."""
        timer = self._timers.pop(plugin, None)
        if timer is None:
            return
        timer.cancel()
        if not self._timers:
            self._end(None)

    def reject(self, plugin: str, message: str) -> bool:
        """Ends the wait; returns whether this call was the one that ended it."""
        return self._end(Status(Code.UNSCHEDULABLE, message, plugin=plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Ends the wait in favour of a more important pod; this one is retried."""
        return self._end(Status(Code.ERROR, message, plugin=plugin))

    async def ended(self) -> Status | None:
        """Waits until the wait is over, for the scheduler, not for plugins."""
        return await self._ended

    def _time_out(self, plugin: str, timeout: float) -> None:
        self.reject(plugin, timed_out(plugin, timeout))

    def _end(self, status: Status | None) -> bool:
        for timer in self._timers.values():
            timer.cancel()
        if self._ended.done():
            return False
        self._ended.set_result(status)
        return True


class WaitingPods:
    """The pods that Permit plugins hold back, over all profiles; iterate over it, or `get` one by name.

    waiting = handle.waiting_pods.get("web-1", namespace="shop")
    if waiting is not None:
        waiting.allow(self.name)
    """

    def __init__(self) -> None:
        """Made by the scheduler, not for plugins."""
        self._pods: dict[str, WaitingPod] = {}
        self._by_key: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        """Those that wait now."""
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        """How many wait."""
        return len(self._pods)

    def add(self, waiting: WaitingPod) -> None:
        """Takes up a pod; for the scheduler, not for plugins."""
        self._pods[waiting.pod.uid] = waiting
        self._by_key[waiting.pod.key] = waiting

    def get(self, name: str, *, namespace: str) -> WaitingPod | None:
        """The waiting pod of this name, or None."""
        return self._by_key.get(f"{namespace}/{name}")

    def with_uid(self, uid: str) -> WaitingPod | None:
        """The waiting pod with this uid, or None."""
        return self._pods.get(uid)

    def remove(self, uid: str) -> None:
        """Forgets a pod; for the scheduler, not for plugins."""
        waiting = self._pods.pop(uid, None)
        if waiting is not None and self._by_key[waiting.pod.key] is waiting:
            del self._by_key[waiting.pod.key]

    def reject(self, uid: str) -> bool:
        """Rejects a pod from outside, as when it was deleted; False if it does not wait."""
        waiting = self._pods.get(uid)
        if waiting is None:
            return False
        waiting.reject("", "removed")
        return True
