"""What a trace says of the life of each pod, found by reading it once from end to end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from moorage.api.meta import OwnerReference
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.quantities import QuantityError
from moorage.what_if.trace.changes import Trace

Shape = tuple[tuple[str, int], ...]
"""What a pod asks for, by the name of the resource."""

_MIRROR = "kubernetes.io/config.mirror"
_STEP = 1000
EXACT = 6
"""Decimals of a second: sums and differences of times are no more exact than that."""


class Life:
    """One pod of a trace, from when it came to when it ended."""

    __slots__ = ("bound", "came", "cut", "ended", "is_fixed", "is_successor", "successor")

    def __init__(self, came: float, *, is_fixed: bool, bound: float | None) -> None:
        self.came = came
        self.is_fixed = is_fixed
        """Whether it had its node from whoever made it, and not from a scheduler."""
        self.bound = bound
        """When it was seen on a node first; None if it never was."""
        self.ended: float | None = None
        """When it had finished or was gone; None if it was there at the end."""
        self.cut: float | None = None
        """When it had to go although it had more to do: preempted, drained, or its node was lost."""
        self.successor: Life | None = None
        """The pod that its controller made in its place when it was cut short."""
        self.is_successor = False
        """Whether it continues the life of another: it is no pod of its own in a replay."""

    def time_left(self) -> tuple[float | None, float | None]:
        """Seconds that it runs once it has a node, and when it goes with a node or without; None if never.

        Somebody deleted the one that had no node: no other choice of nodes would have changed that.
        """
        total, each = 0.0, self
        while each.bound is not None and each.cut is not None:
            if each.successor is None:
                return None, None
            total += each.cut - each.bound
            each = each.successor
        if each.bound is None:
            return None, each.ended
        return None if each.ended is None else round(total + each.ended - each.bound, EXACT), None


@dataclass
class Lives:
    """All pods of a trace, and what else is to be known before it is replayed."""

    pods: dict[str, Life] = field(default_factory=dict)
    """By what `identity` says."""
    shapes: Counter[Shape] = field(default_factory=Counter)
    """How many pods asked for what; those of DaemonSets and of nodes themselves do not count."""
    daemons: dict[str, Pod] = field(default_factory=dict)
    """The first pod of each DaemonSet, by the uid of the DaemonSet."""
    changes: int = 0
    ends: float = 0.0
    """The time of the last change."""


def identity(pod: Pod) -> str:
    """The uid; where a trace has none, the name."""
    return pod.metadata.uid or pod.key


def controller(pod: Pod) -> OwnerReference | None:
    """The owner that makes another pod if this one is lost."""
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner
    return None


def belongs_to_node(pod: Pod) -> bool:
    """Whether it is there because the node is: of a DaemonSet, or of the node's own making."""
    if pod.metadata.annotations and _MIRROR in pod.metadata.annotations:
        return True
    return any(owner.kind in ("DaemonSet", "Node") for owner in pod.metadata.owner_references)


def read_lives(
    trace: Trace, until: float | None = None, progress: Callable[[int], None] | None = None
) -> Lives:
    """Reads a whole trace, or until a time; `progress` is told how many changes were read."""
    return _Reader(trace.head.began).read(trace, until, progress)


class _Reader:
    def __init__(self, began: float) -> None:
        self._began = began
        self._lives = Lives(ends=began)
        self._lost_nodes: set[str] = set()
        self._waiting_for_successor: dict[str, list[tuple[str, Life]]] = {}
        """By the uid of the controller: pods that were cut short, with their names."""

    def read(self, trace: Trace, until: float | None, progress: Callable[[int], None] | None) -> Lives:
        lives = self._lives
        for change in trace:
            if until is not None and change.time > until:
                lives.ends = until
                break
            lives.changes += 1
            lives.ends = max(lives.ends, change.time)
            item = change.item
            if isinstance(item, Pod):
                self._pod(change.time, item, change.gone)
            elif isinstance(item, Node):
                (self._lost_nodes.add if change.gone else self._lost_nodes.discard)(item.name)
            if progress is not None and lives.changes % _STEP == 0:
                progress(lives.changes)
        return lives

    def _pod(self, time: float, pod: Pod, gone: bool) -> None:
        name = identity(pod)
        life = self._lives.pods.get(name)
        if life is None:
            if gone or pod.finished:
                return  # what had ended before the trace began
            life = self._came(time, pod)
            self._lives.pods[name] = life
        elif life.ended is not None:
            return
        if life.bound is None and pod.spec.node_name:
            life.bound = time
        if life.cut is None and life.bound is not None and self._is_cut(pod, gone):
            life.cut = time
            owner = controller(pod)
            if owner is not None and not belongs_to_node(pod):
                self._waiting_for_successor.setdefault(owner.uid, []).append((pod.key, life))
        if gone or pod.finished:
            life.ended = time

    def _came(self, time: float, pod: Pod) -> Life:
        has_node = bool(pod.spec.node_name)
        at_the_start = time <= self._began
        scheduled = pod.condition("PodScheduled")
        was_scheduled = scheduled is not None and scheduled.status == "True"
        is_fixed = has_node and (at_the_start or not was_scheduled or _is_mirror(pod))
        life = Life(time, is_fixed=is_fixed, bound=time if has_node else None)
        owner = controller(pod)
        if owner is not None and owner.kind == "DaemonSet":
            self._lives.daemons.setdefault(owner.uid, pod)
        if not belongs_to_node(pod):
            # What cannot be read, the scheduler will speak of.
            with suppress(QuantityError):
                self._lives.shapes[tuple(sorted(pod.requests.items()))] += 1
            self._succeed(pod, life)
        return life

    def _succeed(self, pod: Pod, life: Life) -> None:
        """Takes the place of a pod of the same controller that was cut short, the one of its name first."""
        owner = controller(pod)
        waiting = None if owner is None else self._waiting_for_successor.get(owner.uid)
        if not waiting:
            return
        place = next((place for place, (key, _) in enumerate(waiting) if key == pod.key), 0)
        _, before = waiting.pop(place)
        before.successor = life
        life.is_successor = True

    def _is_cut(self, pod: Pod, gone: bool) -> bool:
        disrupted = pod.condition("DisruptionTarget") if pod.status.conditions else None
        if disrupted is not None and disrupted.status == "True" and (gone or pod.deleting or pod.finished):
            return True
        return gone and pod.spec.node_name in self._lost_nodes


def _is_mirror(pod: Pod) -> bool:
    return _MIRROR in pod.metadata.annotations or any(
        owner.kind == "Node" for owner in pod.metadata.owner_references
    )
