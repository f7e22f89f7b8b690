"""Which pods really run now."""

from __future__ import annotations

import asyncio

from moorage.cluster.base.store import Change, Stored
from moorage.cluster.life.controllers.objects import is_finished
from moorage.cluster.life.nodes.machine import Machine
from moorage.cluster.life.nodes.real_pods import RealPod

REFRESH_AFTER = 0.2  # seconds in which changes of a ConfigMap or a Secret are gathered


class Runner:
    """Starts and ends the pods whose containers are run for real, and keeps their volumes up to date."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._store = machine.writer.store
        self._pods: dict[str, RealPod] = {}
        self._leaving: set[RealPod] = set()
        self._refreshing: dict[str, asyncio.TimerHandle] = {}

    def start(self) -> None:
        self._machine.bound.tell(self._look, self._gone)
        self._machine.bound.listen("configmaps", self._source_changed)
        self._machine.bound.listen("secrets", self._source_changed)
        for pod in self._store.objects("pods"):
            self._look(pod)

    async def stop(self) -> None:
        for timer in self._refreshing.values():
            timer.cancel()
        await asyncio.gather(*(pod.stop() for pod in {*self._pods.values(), *self._leaving}))
        self._pods.clear()

    def _gone(self, pod: Stored) -> None:
        known = self._pods.pop(pod.uid, None)
        if known is not None:
            self._leaving.add(known)
            known.end().add_done_callback(lambda _: self._leaving.discard(known))

    def _look(self, pod: Stored) -> None:
        node = pod.spec.get("nodeName")
        if not node or not self._machine.programs.runs_pod(pod.document):
            return
        if pod.uid not in self._pods:
            if is_finished(pod) or self._store.get("nodes", "", node) is None:
                return
            self._pods[pod.uid] = RealPod(self._machine, pod)
        # One that is to be deleted, from before a restart of the cluster, has only its end left.
        if pod.is_deleted:
            self._pods[pod.uid].end()

    def _source_changed(self, change: Change) -> None:
        reference = (change.resource, change.new.name)
        for uid, pod in self._pods.items():
            concerned = pod.namespace == change.new.namespace and reference in pod.references
            if concerned and uid not in self._refreshing:
                loop = asyncio.get_running_loop()
                self._refreshing[uid] = loop.call_later(REFRESH_AFTER, self._refresh, uid)

    def _refresh(self, uid: str) -> None:
        del self._refreshing[uid]
        pod = self._pods.get(uid)
        if pod is not None:
            pod.refresh()
