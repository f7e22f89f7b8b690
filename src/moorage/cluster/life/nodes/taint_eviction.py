"""NoExecute taints: pods that do not tolerate those of their node, or not for longer, are deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from moorage.api.taints import NO_EXECUTE, Taint, Toleration
from moorage.cluster.base.parts import condition, other_conditions
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.objects import Key, delete_if_there, since, write_status
from moorage.cluster.life.nodes.machine import BoundPods
from moorage.cluster.objects.writes import InternalWriter

_TARGET = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


class TaintEviction(Controller):
    """Keys of its queue are those of nodes whose taints have changed, and of pods."""

    name = "taint-eviction"

    def __init__(self, writer: InternalWriter, clock: Clock, bound: BoundPods) -> None:
        super().__init__(writer, clock)
        self._bound = bound
        self._tainted: dict[str, list[Taint]] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}
        self._due: set[Key] = set()

    def _begin(self) -> None:
        self._listen("nodes", self._node_changed)
        self._listen("pods", self._pod_changed)
        for node in self._store.iterate("nodes"):
            if _no_execute(node):
                self._queue.add(node.key)

    async def stop(self) -> None:
        await super().stop()
        for timer in self._timers.values():
            timer.cancel()

    def _node_changed(self, change: Change) -> None:
        before = _no_execute(change.old) if change.old is not None else []
        if change.type == "DELETED" or _no_execute(change.new) != before:
            self._queue.add(change.new.key)

    def _pod_changed(self, change: Change) -> None:
        new, old = change.new, change.old
        if change.type == "DELETED":
            # At once: the next pod of this name has a time of its own.
            self._forget(new.key)
            return
        if new.spec.get("nodeName") not in self._tainted:
            return
        if old is None or any(
            new.spec.get(name) != old.spec.get(name) for name in ("nodeName", "tolerations")
        ):
            self._queue.add(new.key)

    async def _reconcile(self, key: Key) -> None:
        namespace, name = key
        if namespace:
            self._look_at(key)
            return
        node = self._store.get("nodes", "", name)
        taints = _no_execute(node) if node is not None else []
        if taints:
            self._tainted[name] = [msgspec.convert(each, Taint) for each in taints]
        else:
            self._tainted.pop(name, None)
        # The pods of a node that is gone go with it.
        if node is not None:
            breaks = Breaks()
            for pod in self._bound.on(name):
                self._look_at(pod.key)
                await breaks.take()

    def _look_at(self, key: Key) -> None:
        """Deletes a pod, now or later, or not after all."""
        pod = self._store.get("pods", *key)
        if pod is None:
            return
        taints = self._tainted.get(pod.spec.get("nodeName", ""), [])
        seconds = _tolerated_seconds(taints, pod.spec.get("tolerations") or ())
        if seconds is None:
            self._cancel(pod)
            self._due.discard(key)
        elif seconds <= 0 or key in self._due:
            self._cancel(pod)
            self._evict(pod)
            self._due.discard(key)
        elif key not in self._timers:
            # As the original has it, the time that was set first holds, whatever tolerations come later.
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._is_due, key)

    def _is_due(self, key: Key) -> None:
        del self._timers[key]
        self._due.add(key)
        self._queue.add(key)

    def _cancel(self, pod: Stored) -> None:
        if pod.key in self._timers:
            text = f"Cancelling deletion of Pod {'/'.join(pod.key)}"
            self._recorder.tell(pod, "TaintManagerEviction", text)
            self._forget(pod.key)

    def _forget(self, key: Key) -> None:
        self._due.discard(key)
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()

    def _evict(self, pod: Stored) -> None:
        if pod.is_deleted:
            return
        self._recorder.tell(pod, "TaintManagerEviction", f"Marking for deletion Pod {'/'.join(pod.key)}")
        told = write_status(self._writer, "pods", pod, self._status(pod))
        if told is not None:
            delete_if_there(self._writer, "pods", told)

    def _status(self, pod: Stored) -> Document:
        known = condition(pod.status, "DisruptionTarget")
        target = {
            **_TARGET,
            "lastProbeTime": None,
            "lastTransitionTime": since(known, "True", self._clock()),
            "observedGeneration": pod.generation,
        }
        return {**pod.status, "conditions": [*other_conditions(pod.status, "DisruptionTarget"), target]}


def _no_execute(node: Stored) -> list[Document]:
    taints = node.spec.get("taints")
    return [each for each in taints if each.get("effect") == NO_EXECUTE] if taints else []


def _tolerated_seconds(taints: list[Taint], documents: Iterable[Document]) -> float | None:
    """For how long a pod tolerates these taints: the shortest time of all that apply; None is for ever."""
    tolerations = [msgspec.convert(each, Toleration) for each in documents] if taints else []
    shortest: float | None = None
    for taint in taints:
        found = next((each for each in tolerations if each.tolerates(taint)), None)
        if found is None:
            return 0.0
        seconds = found.toleration_seconds
        if seconds is not None:
            shortest = seconds if shortest is None else min(shortest, seconds)
    return shortest
