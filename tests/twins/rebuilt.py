"""The same decision by a scheduler that has just been made of what there is, and knows no shortcuts."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from unittest.mock import patch

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.framework.eviction import Evicted, Evictions
from moorage.framework.handle import Handle
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Status
from moorage.plugins.preemption.room import Room
from moorage.plugins.storage.storage import Storage
from moorage.scheduler import search
from moorage.scheduler.cycle import Decision
from moorage.scheduler.known_failures import KnownFailure
from moorage.scheduler.scheduler import Scheduler
from moorage.state.node_info import NodeInfo
from tests.twins.world import World, decoded

Facts = dict[str, Any]


def rebuilt(world: World) -> Scheduler:
    """A new scheduler, told of what the one of this world knows, and of what hangs on the order of events.

    That is: the order of the nodes and of the pods on each, where the next search begins, who is nominated
    where, who is assumed where, and which volumes are promised.
    """
    live = world.scheduler
    twin = Scheduler(world.config, world.registry, clock=lambda: world.now, shortcuts=False)
    twin.door.listers.set_synced()
    for (kind, _), document in world.told.items():
        if kind != "Pod" or not document["spec"].get("nodeName"):
            twin.door.put(decoded(document))
    live.state.table.refresh()
    table = twin.state.table
    for place, name in enumerate(live.state.nodes.names):
        table._order._place[table.by_name[name].row] = place
    for info in _all_nodes(live):
        for pod in info.pods:
            if live.state.is_assumed(pod.uid):
                twin.state.assume(from_document(Pod, pod.raw), info.name)
            else:
                twin.door.put(decoded(world.told["Pod", pod.key]))
    nominations = twin.services.nominations
    for uid in list(nominations._node_of):
        nominations.remove(uid)
    for name, pods in live.services.nominations._by_node.items():
        for pod in pods.values():
            nominations.add(from_document(Pod, pod.raw), name)
    _promise(_shared(live, Storage), _shared(twin, Storage))
    twin.chooser.start = live.chooser.start
    return twin


def _all_nodes(live: Scheduler) -> Iterator[NodeInfo]:
    yield from live.state.table
    yield from live.state._ghosts.values()


def _shared(scheduler: Scheduler, kind: Any) -> Any:
    return Handle(scheduler.services).shared(kind)


def _promise(live: Storage, twin: Storage) -> None:
    for ours, theirs in ((live.volumes, twin.volumes), (live.claims, twin.claims)):
        for item in cast("Any", ours)._copies.values():
            theirs.assume(item)


@contextmanager
def _node_by_node() -> Iterator[None]:
    """Nothing is reckoned in numbers that can be tried out on a node."""
    with patch.object(search, "_FEW_RIVALS", sys.maxsize), patch.object(Room, "needed", lambda *asked: None):
        yield


# What is compared


def facts(scheduler: Scheduler, began: int, decision: Decision, evicted: list[Evicted]) -> Facts:
    """Everything that can be seen of a decision by a search that began at this node."""
    pre, failure, post, scores = (
        decision.pre_filtered,
        decision.failure,
        decision.post_filtered,
        decision.scores,
    )
    found: Facts = {
        "node": decision.node_name,
        "looked at": decision.looked_at,
        "next start": scheduler.chooser.start,
        "feasible": decision.feasible.names if decision.feasible is not None else None,
        "nominated first": decision.nominated_first,
        "statuses": {
            name: _status(status)
            for name, status in decision.statuses.explicit()
            if name in looked_at(scheduler, began, decision)
        },
        "absent": _status(decision.statuses.absent),
        "pre-filtered": None
        if pre is None
        else (_status(pre.status), pre.names and sorted(pre.names), pre.narrowed_by),
        "post-filtered": None if post is None else (_status(post.status), post.nominated_node),
        "victims": sorted(told.pod.key for told in evicted),
    }
    if scores is not None:
        found["totals"] = scores.totals.tolist()
        found["scores"] = {plugin: values.tolist() for plugin, values in scores.by_plugin.items()}
    if failure is not None:
        found["failure"] = failure_facts(failure)
    return found


def looked_at(scheduler: Scheduler, began: int, decision: Decision) -> set[str]:
    """The nodes that a search had to look at; how many more it filters on the way is its own affair."""
    names, pre = scheduler.state.nodes.names, decision.pre_filtered
    if decision.nominated_first or pre is None or pre.status is not None:
        return set(names)
    if pre.names is not None:
        names = [name for name in names if name in pre.names]
    return {names[(began + place) % len(names)] for place in range(decision.looked_at)}


def failure_facts(failure: Any) -> Facts:
    return {
        "status": _status(failure.status),
        "message": failure.message,
        "phase": failure.phase,
        "unschedulable": sorted(failure.unschedulable_plugins),
        "pending": sorted(failure.pending_plugins),
        "nominated": failure.nominated_node,
    }


def _status(status: Status | None) -> Any:
    return None if status is None else (status.plugin, status.code.label, tuple(status.reasons))


def differences(ours: Facts, theirs: Facts) -> list[str]:
    return [
        f"{fact}:\n    {ours.get(fact)}\n    rebuilt: {theirs.get(fact)}"
        for fact in {**ours, **theirs}
        if ours.get(fact) != theirs.get(fact)
    ]


class Compared:
    """Has every decision made twice; what differs is noted, as the scheduler survives assertions."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.wrong: list[str] = []
        self.decided = self.known = self.placed = 0
        self._evicted: list[Evicted] = []
        self._watch(world.scheduler)

    def _watch(self, live: Scheduler) -> None:
        decide, find = live.chooser.decide, live._known_failures.find
        evictions: Evictions = _shared(live, Evictions)
        start = evictions.start

        def noted(handle: Handle, victims: list[Evicted]) -> None:
            self._evicted += [victim for victim in victims if not victim.pod.deleting]
            start(handle, victims)

        def checked_decide(profile: Profile, pod: Pod) -> Decision:
            expected = self._expected(profile, pod)
            self._evicted = []
            began = live.chooser.start
            decision = decide(profile, pod)
            found = facts(live, began, decision, self._evicted)
            self.decided += 1
            self.placed += bool(decision.node_name)
            self._note(pod, found, expected)
            return decision

        def checked_find(pod: Pod) -> KnownFailure | None:
            known = find(pod)
            if known is not None:
                profile = live.profiles[pod.spec.scheduler_name]
                expected = self._expected(profile, pod)
                found = {"failure": failure_facts(known.failure), "looked at": known.looked_at, "victims": []}
                self.known += 1
                self._note(pod, found, {fact: expected.get(fact) for fact in found})
            return known

        evictions.start = noted  # type: ignore[method-assign, assignment]
        live.chooser.decide = checked_decide  # type: ignore[method-assign]
        live._known_failures.find = checked_find  # type: ignore[method-assign]

    def _expected(self, profile: Profile, pod: Pod) -> Facts:
        twin = rebuilt(self.world)
        newest = twin.door.find(pod)
        assert newest is not None
        random.seed(pod.name)
        began = twin.chooser.start
        with _node_by_node():
            decision = twin.chooser.decide(twin.profiles[profile.name], newest)
        return facts(twin, began, decision, twin.services.evicted)

    def _note(self, pod: Pod, ours: Facts, theirs: Facts) -> None:
        said = differences(ours, theirs)
        if said:
            self.wrong.append("\n  ".join((f"pod {pod.key}, {pod.raw}", *said)))
