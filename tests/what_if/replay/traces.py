"""Small traces, written by hand, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from msgspec.structs import replace

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Condition, Pod, on_node
from moorage.framework.extension_points import Plugin
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.testing import make_node, make_pod
from moorage.what_if.replay.jobs import Outcome
from moorage.what_if.replay.running import replay
from moorage.what_if.trace.changes import Change, Head, Trace

BEGAN = 1_750_000_000.0
"""Where the times of these traces begin; all others are told from here."""

CONTROLLED = {
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    ]
}
OF_DAEMON_SET = {
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True}
    ]
}


class Recording:
    """Makes a trace: what there is and happens, by seconds since the beginning."""

    def __init__(self, *nodes: Node) -> None:
        self.changes: list[Change] = []
        for node in nodes:
            self.put(0, node)

    def put(self, at: float, item: Object) -> None:
        self.changes.append(Change(BEGAN + at, item))

    def gone(self, at: float, item: Object) -> None:
        self.changes.append(Change(BEGAN + at, item, gone=True))

    def pod(
        self,
        name: str,
        came: float,
        *,
        bound: float | None = None,
        gone: float | None = None,
        on: str = "n",
        **what: Any,
    ) -> Pod:
        """A pod that came, was bound to a node if it was, and went."""
        pod = make_pod(name, **what)
        self.put(came, pod)
        last = pod
        if bound is not None:
            last = on_node(pod, on)
            self.put(bound, last)
        if gone is not None:
            self.gone(gone, last)
        return last

    def trace(self, *, until: float | None = None) -> Trace:
        """With a last change that says how long it lasted, if it is to be longer than what happens in it."""
        changes = sorted(self.changes, key=lambda change: change.time)
        if until is not None:
            changes.append(Change(BEGAN + until, make_node("last", cpu=0, memory=0, pods=0)))
        return Trace(Head(began=BEGAN), changes)


def marked(pod: Pod, reason: str = "PreemptionByScheduler") -> Pod:
    """A pod that has to go, as the API server shows it then."""
    new = copy(pod)
    new.metadata = replace(pod.metadata, deletion_timestamp="2025-06-15T15:10:00Z")
    told = Condition(type="DisruptionTarget", status="True", reason=reason)
    new.status = replace(pod.status, conditions=(*pod.status.conditions, told))
    return new


class Replayed:
    """A replay, and what happened in it."""

    def __init__(self, trace: Trace, *plugins: type[Plugin], config: str = "", **options: Any) -> None:
        from moorage.config import load

        registry = in_tree_registry()
        names = [registry.add_class(each, "test").name for each in plugins]
        configuration = load(config).config if config else default_configuration(registry, names)
        for name in ("since", "until"):
            if name in options:
                options[name] += BEGAN
        self.changes: list[Change] = []
        self.outcome: Outcome = replay(trace, configuration, registry, record=self.changes.append, **options)

    def pods(self) -> Iterable[tuple[float, Pod, bool]]:
        for change in self.changes:
            if isinstance(change.item, Pod):
                yield round(change.time - BEGAN, 6), change.item, change.gone

    @property
    def bound(self) -> dict[str, Any]:
        """When each pod was on a node first, and on which; of one that was made again, the last time."""
        found: dict[str, Any] = {}
        uids: set[str] = set()
        for time, pod, gone in self.pods():
            if pod.spec.node_name and not gone and pod.uid not in uids:
                uids.add(pod.uid)
                found[pod.name] = (time, pod.spec.node_name)
        return found

    @property
    def went(self) -> dict[str, float]:
        """When each pod went, the last time."""
        return {pod.name: time for time, pod, gone in self.pods() if gone}

    @property
    def again(self) -> list[str]:
        """The uids of pods, in the order in which they came."""
        return list(dict.fromkeys(pod.uid for _, pod, _ in self.pods()))
