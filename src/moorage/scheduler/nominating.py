"""Tells others where pods will go whose binding may take a while."""

from __future__ import annotations

import asyncio

from moorage.api.pods import Pod
from moorage.framework.handle import Services
from moorage.framework.logger import Logger
from moorage.framework.runtime.calls import settled

log = Logger(__name__)

AT_ONCE_WHILE_BUSY = 1


class Nominating:
    """Writes the nodes that pods are about to get into their status."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._turns = asyncio.Semaphore(AT_ONCE_WHILE_BUSY)

    @property
    def takes_time(self) -> bool:
        """Whether there is an API server that has to be waited for."""
        client = self._services.client
        return client is not None and client.http is not None

    async def write(self, pod: Pod, node_name: str) -> None:
        """Returns when it is written; what fails is logged."""
        client = self._services.client
        if client is None or pod.status.nominated_node_name == node_name:
            return
        try:
            await settled(client.write_pod_status(pod, nominated_node=node_name))
        except Exception as error:
            log.error(error, "Error updating the nomination", pod=pod)

    def begin(self, pod: Pod, node_name: str) -> Later:
        """Has it written when there is time; `Later.end` has to be awaited before the bind."""
        return Later(self, self._turns, pod, node_name)


class Later:
    """A nomination that is worth nothing any more once its pod is bound."""

    def __init__(self, nominating: Nominating, turns: asyncio.Semaphore, pod: Pod, node_name: str) -> None:
        self._has_begun = False
        self._task = asyncio.create_task(self._write(nominating, turns, pod, node_name))

    async def _write(
        self, nominating: Nominating, turns: asyncio.Semaphore, pod: Pod, node_name: str
    ) -> None:
        async with turns:
            self._has_begun = True
            await nominating.write(pod, node_name)

    async def end(self) -> None:
        """One that is on its way already must not arrive after the bind."""
        if not self._has_begun:
            self._task.cancel()
        await asyncio.wait([self._task])
