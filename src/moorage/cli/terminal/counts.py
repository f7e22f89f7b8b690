"""How many nodes and pods there are, and in which state."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from moorage.cluster.base.store import Change, Document, Store

FEW_NODES = 10


class Snapshot(NamedTuple):
    nodes: int = 0
    ready: int = 0
    cordoned: int = 0
    phases: Mapping[str, int] = {}
    pods_on: Sequence[tuple[str, int]] = ()
    """Each node with its pods, as long as there are only a few nodes."""


class Counts:
    """Counts as things change, in the thread that changes them; `snapshot` may be called in any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._nodes: set[str] = set()
        self._states: Counter[tuple[bool, bool]] = Counter()
        self._phases: Counter[str] = Counter()
        self._pods_on: Counter[str] = Counter()

    def listen(self, store: Store) -> list[Callable[[], None]]:
        """Counts what is there and what comes; returns how to stop that."""
        with self._lock:
            for each in store.iterate("nodes"):
                self._count_node(each.name, each.document, 1)
            for each in store.iterate("pods"):
                self._count_pod(each.document, 1)
        return [store.listen("nodes", self._node_changed), store.listen("pods", self._pod_changed)]

    def snapshot(self) -> Snapshot:
        with self._lock:
            states = self._states
            pods_on = (
                [(name, self._pods_on[name]) for name in sorted(self._nodes)]
                if len(self._nodes) <= FEW_NODES
                else []
            )
            return Snapshot(
                nodes=len(self._nodes),
                ready=sum(count for (is_ready, _), count in states.items() if is_ready),
                cordoned=sum(count for (_, is_cordoned), count in states.items() if is_cordoned),
                phases={phase: count for phase, count in sorted(self._phases.items()) if count},
                pods_on=pods_on,
            )

    def _node_changed(self, change: Change) -> None:
        with self._lock:
            if change.old is not None:
                self._count_node(change.old.name, change.old.document, -1)
            if change.type != "DELETED":
                self._count_node(change.new.name, change.new.document, 1)

    def _pod_changed(self, change: Change) -> None:
        with self._lock:
            if change.old is not None:
                self._count_pod(change.old.document, -1)
            if change.type != "DELETED":
                self._count_pod(change.new.document, 1)

    def _count_node(self, name: str, node: Document, by: int) -> None:
        conditions = node.get("status", {}).get("conditions", [])
        is_ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
        state = is_ready, bool(node.get("spec", {}).get("unschedulable"))
        self._states[state] += by
        if by > 0:
            self._nodes.add(name)
        else:
            self._nodes.discard(name)

    def _count_pod(self, pod: Document, by: int) -> None:
        node = pod.get("spec", {}).get("nodeName", "")
        phase = str(pod.get("status", {}).get("phase", "Pending"))
        if phase == "Pending":
            phase = "Starting" if node else "Waiting"
        self._phases[phase] += by
        self._pods_on[node] += by
        if not self._pods_on[node]:
            del self._pods_on[node]
