"""The pods of one DaemonSet, node by node, with the counts over all nodes kept up to date.

Only nodes are looked at where something has changed, so that a change of one pod costs the same in a cluster
of five nodes and of five thousand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from moorage.api.selectors import Selector
from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.objects import Groups, Key
from moorage.cluster.life.controllers.workloads.daemon_pods import (
    Fit,
    Placement,
    is_updated,
    oldest_first,
    target_of,
    template_generation,
)
from moorage.cluster.life.controllers.workloads.owned_pods import available_at
from moorage.cluster.life.controllers.workloads.rollout_sizes import scaled

FIRST_BACKOFF = 1.0  # seconds before a failed pod is replaced again on the same node
LONGEST_BACKOFF = 15 * 60.0


class Goal(NamedTuple):
    """What all nodes are looked at for; another goal has all of them looked at again."""

    generation: int
    template_generation: str
    code: str
    """The hash of the current revision."""
    surges: bool
    min_ready: int

    @classmethod
    def of(cls, daemon_set: Stored, code: str) -> Goal:
        rolling = (daemon_set.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        return cls(
            daemon_set.generation,
            template_generation(daemon_set),
            code,
            scaled(rolling.get("maxSurge", 0), 1, up=True) > 0,
            daemon_set.spec.get("minReadySeconds", 0),
        )


class Stand(NamedTuple):
    """How far an update is on a node; pods that are being deleted do not count."""

    is_clear: bool
    """There is at most one old and one new pod."""
    old: bool | None
    """Whether the old pod is available; None if there is none."""
    new: bool | None
    runs: bool
    """Whether a pod is wanted here."""


class NodeView(NamedTuple):
    counts: dict[str, int]
    """What the node adds to the status."""
    stand: Stand | None = None
    """None where nothing is and nothing is wanted."""
    is_missing: bool = False
    """Whether a pod is to be made here."""
    surplus: Sequence[Stored] = ()
    """Pods that are to be deleted."""
    again: float | None = None
    """When to look again even if nothing changes."""


_NOTHING = NodeView({})


class Daemons:
    def __init__(self, store: Store, daemon_set: Stored) -> None:
        self._store = store
        self._selector: Selector = selector_of(daemon_set.spec.get("selector"))
        self._placement = Placement({})
        self._goal: Goal | None = None
        self._pods: Groups[str, Key] = Groups()
        self._dirty: set[str] = set()
        self._views: dict[str, NodeView] = {}
        self._later: dict[str, float] = {}
        self._backoffs: dict[str, tuple[float, float]] = {}
        self.counts: Counter[str] = Counter()
        self.stands: Groups[Stand, str] = Groups()
        self.to_do: dict[str, NodeView] = {}
        """The nodes where a pod is missing or too many are there."""

    # What changes

    def note(self, pod: Stored) -> None:
        node = target_of(pod)
        self._pods.add(node, pod.key)
        self._dirty.add(node)

    def forget(self, pod: Stored) -> None:
        node = target_of(pod)
        self._pods.discard(node, pod.key)
        self._dirty.add(node)

    def touch(self, node: str) -> None:
        self._dirty.add(node)

    def aim(self, daemon_set: Stored, code: str) -> None:
        goal = Goal.of(daemon_set, code)
        if goal != self._goal:
            self._goal = goal
            self._placement = Placement(daemon_set.spec.get("template") or {})
            self._backoffs.clear()
            self._dirty.update(self._pods, self._views, (node.name for node in self._store.iterate("nodes")))

    def replaced_failed(self, node: str, now: float) -> None:
        """Makes the next replacement on this node wait, each time twice as long."""
        since, delay = self._backoffs.get(node, (0.0, 0.0))
        if now - since > 2 * LONGEST_BACKOFF:
            delay = 0.0
        self._backoffs[node] = (now, min(delay * 2 or FIRST_BACKOFF, LONGEST_BACKOFF))

    # What is seen

    def dirty(self, now: float) -> list[str]:
        """The nodes to look at."""
        due = [node for node, when in self._later.items() if when <= now]
        return [*self._dirty.union(due)]

    def next_look(self, now: float) -> float | None:
        """Seconds until a node has to be looked at again."""
        return min((max(when - now, 0.0) + 0.01 for when in self._later.values()), default=None)

    def look(self, node: str, now: float) -> None:
        """Sees how things are on a node."""
        self._dirty.discard(node)
        self._later.pop(node, None)
        before = self._views.pop(node, _NOTHING)
        view = self._view(node, now)
        if view is not _NOTHING:
            self._views[node] = view
        for name, count in view.counts.items():
            self.counts[name] += count
        for name, count in before.counts.items():
            self.counts[name] -= count
        if before.stand is not None:
            self.stands.discard(before.stand, node)
        if view.stand is not None:
            self.stands.add(view.stand, node)
        if view.again is not None:
            self._later[node] = view.again
        if view.is_missing or view.surplus:
            self.to_do[node] = view
        else:
            self.to_do.pop(node, None)

    def pods_on(self, node: str) -> list[Stored]:
        """All that are there or on their way, the oldest first."""
        return oldest_first(objects.pods_of(self._store, self._pods.get(node, ())))

    def outdated_on(self, node: str) -> list[Stored]:
        assert self._goal is not None
        return [pod for pod in self.pods_on(node) if not pod.is_deleted and not self._is_new(pod)]

    def hashes(self, label: str) -> set[str]:
        """The revisions that pods have, by their hashes."""
        pods = (pod for keys in self._pods.values() for pod in objects.pods_of(self._store, keys))
        return {pod.labels.get(label, "") for pod in pods}

    def strangers(self, node: str) -> Iterator[Stored]:
        """Pods that no longer have the labels by which the DaemonSet knows its own."""
        return (pod for pod in self.pods_on(node) if not self._selector.matches(pod.labels))

    def _is_new(self, pod: Stored) -> bool:
        assert self._goal is not None
        return is_updated(pod, self._goal.code, self._goal.template_generation)

    def _view(self, name: str, now: float) -> NodeView:
        assert self._goal is not None
        pods = [
            pod
            for pod in self.pods_on(name)
            if self._selector.matches(pod.labels) and not (objects.is_finished(pod) and pod.is_deleted)
        ]
        node = self._store.get("nodes", "", name)
        if node is None:
            if not pods:
                return _NOTHING
            unbound = [pod for pod in pods if not pod.spec.get("nodeName") and not pod.is_deleted]
            return NodeView({}, self._stand(pods, False, now), surplus=unbound)
        fit = self._placement.on(node)
        if fit is not Fit.RUNS and not pods:
            return _NOTHING
        missing, surplus, waits = self._wanted(name, pods, fit, now)
        available = [available_at(pod, self._goal.min_ready) for pod in pods]
        waits += [when for when in available if when is not None and when > now]
        stand = self._stand(pods, fit is Fit.RUNS, now)
        return NodeView(self._counts(pods, fit, now), stand, missing, surplus, min(waits, default=None))

    def _counts(self, pods: list[Stored], fit: Fit, now: float) -> dict[str, int]:
        if fit is not Fit.RUNS:
            return {"numberMisscheduled": 1}
        if not pods:
            return {"desiredNumberScheduled": 1}
        ready = objects.ready_condition(pods[0]) is not None
        return {
            "desiredNumberScheduled": 1,
            "currentNumberScheduled": 1,
            "numberReady": int(ready),
            "numberAvailable": int(self._is_available(pods[0], now)),
            "updatedNumberScheduled": int(self._is_new(pods[0])),
        }

    def _is_available(self, pod: Stored, now: float) -> bool:
        assert self._goal is not None
        when = available_at(pod, self._goal.min_ready)
        return when is not None and when <= now

    def _stand(self, pods: list[Stored], runs: bool, now: float) -> Stand:
        found: dict[bool, list[Stored]] = {True: [], False: []}
        for pod in pods:
            if not pod.is_deleted:
                found[self._is_new(pod)].append(pod)
        clear = all(len(each) <= 1 for each in found.values())
        old, new = (
            self._is_available(each[0], now) if each else None for each in (found[False], found[True])
        )
        return Stand(clear, old, new, runs)

    def _wanted(
        self, node: str, pods: list[Stored], fit: Fit, now: float
    ) -> tuple[bool, list[Stored], list[float]]:
        """Whether a pod is missing, which are too many, and when that has to be asked again."""
        assert self._goal is not None
        present = [pod for pod in pods if not pod.is_deleted]
        if fit is Fit.NONE:
            return False, present, []
        if not pods:
            return fit is Fit.RUNS, [], []
        surplus = [pod for pod in present if objects.is_finished(pod)]
        running = [pod for pod in present if not objects.is_finished(pod)]
        waits: list[float] = []
        since, delay = self._backoffs.get(node, (0.0, 0.0))
        if now < since + delay and any(pod.status.get("phase") == "Failed" for pod in surplus):
            surplus = [pod for pod in surplus if pod.status.get("phase") != "Failed"]
            waits.append(since + delay)
        if not self._goal.surges:
            return False, [*surplus, *running[1:]], waits
        if len(running) <= 1:
            return not running and fit is Fit.RUNS, surplus, waits
        new, old = ([pod for pod in running if self._is_new(pod) is want] for want in (True, False))
        surplus += [*new[1:], *old[1:]]
        if new and old and (objects.ready_condition(old[0]) is None or self._is_available(new[0], now)):
            surplus.append(old[0])
        return False, surplus, waits


def status_of(daemon_set: Stored, counts: Counter[str], collisions: int) -> Document:
    """The status of a DaemonSet with these counts."""
    unavailable = counts["desiredNumberScheduled"] - counts["numberAvailable"]
    always = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    others = {
        "observedGeneration": daemon_set.generation,
        "updatedNumberScheduled": counts["updatedNumberScheduled"],
        "numberAvailable": counts["numberAvailable"],
        "numberUnavailable": unavailable,
        "collisionCount": collisions,
    }
    kept = {name: value for name, value in daemon_set.status.items() if name == "conditions"}
    return {name: counts[name] for name in always} | {k: v for k, v in others.items() if v} | kept
