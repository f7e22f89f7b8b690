"""A whole cluster in the process of a test: an API server, nodes, and a scheduler with plugins."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from moorage.api.coordination import Event
from moorage.api.nodes import Node
from moorage.api.pods import Condition, Pod
from moorage.client.resources import Resource
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.extension_points import Plugin
from moorage.testing.clusters.addresses import Address
from moorage.testing.clusters.api_server import TIMEOUT, ApiServer
from moorage.testing.clusters.documents import Given
from moorage.testing.clusters.following import Following
from moorage.testing.clusters.parts import Parts
from moorage.testing.clusters.plugin_errors import PluginErrors
from moorage.testing.clusters.setup import nodes_of, set_up

__tracebackhide__ = True  # pytest shows the line of the test instead

_PODS = Resource.of(Pod)
_EVENTS = Resource.of(Event)
_EVENT_SECONDS = 2.0


class SchedulerError(AssertionError):
    """Something broke while a pod was scheduled: a plugin raised, or answered with an error.

    What it raised is the `__cause__`, so that the traceback leads to its line.
    """


@dataclass(frozen=True)
class Outcome:
    """What became of a pod."""

    pod: Pod
    """As it is now."""
    events: list[Event] = field(repr=False)
    """What was recorded about it; each has `type`, `reason`, `note` and `action`."""

    @property
    def node(self) -> str:
        """The node it is bound to; empty if it waits."""
        return self.pod.spec.node_name

    @property
    def reason(self) -> str:
        """Why it waits, in a word: `Unschedulable`, `SchedulingGated`; empty if it has a node."""
        condition = _waits(self.pod)
        return condition.reason if condition is not None else ""

    @property
    def message(self) -> str:
        """Why it waits, as its condition says it; empty if it has a node."""
        condition = _waits(self.pod)
        return condition.message if condition is not None else ""

    def __repr__(self) -> str:
        told = f"bound to {self.node}" if self.node else f"{self.reason}: {self.message}"
        return f"<Outcome {self.pod.key}: {told}>"


class Cluster(ApiServer):
    """A cluster with a scheduler that runs plugins, for the length of a `with` block.

        nodes = [make_node("a", labels={"noisy": "true"}), make_node("b")]
        with Cluster([QuietNodes], nodes=nodes) as cluster:
            assert cluster.schedule(make_pod()).node == "b"

    `plugins` are classes, or what `--plugin` takes; without a `config` they run beside the default plugins at
    all their points. `nodes` is a number or a list of nodes. `config` is the file of a configuration, or what
    would stand in it; without one, `args` gives a plugin its arguments (a mapping by name if there are
    several). `objects` are applied before the scheduler starts: definitions of custom resources, for example.

    It is in the process of the test and ready in some milliseconds. In tests, use the fixture `cluster` and
    the mark `moorage`, which takes the same arguments.
    """

    def __init__(
        self,
        plugins: type[Plugin] | Iterable[type[Plugin] | str] = (),
        *,
        nodes: int | Iterable[Node | Mapping[str, Any]] = 3,
        config: str | Path | Mapping[str, Any] | KubeSchedulerConfiguration | None = None,
        args: Any = None,
        objects: Iterable[Given] = (),
    ) -> None:
        self._setup = set_up(plugins, config, args)
        self._parts = Parts(nodes_of(nodes))
        self._objects = objects

    def __enter__(self) -> Self:
        super().__enter__()
        self._errors = PluginErrors()
        try:
            self.apply(self._objects)
            self._parts.start_scheduler(*self._setup)
            self._parts.on_error(self._errors.note)
        except BaseException:
            super().__exit__(None, None, None)
            raise
        return self

    @property
    def plugins(self) -> dict[str, Plugin]:
        """The plugins of the first profile, by name, to look into them; they live in another thread."""
        return next(iter(self._parts.profiles.values())).plugins

    def schedule(self, pod: Pod, *, timeout: float = TIMEOUT) -> Outcome:
        """Creates a pod and waits until it has a node, or waits for one and says why.

        Raises SchedulerError if a plugin fails, and NotInTime if nothing is decided: for a pod that waits at
        Permit, for example, use `create`.
        """
        profiles = self._parts.profiles
        is_placed = bool(pod.spec.node_name)
        if pod.spec.scheduler_name not in profiles and not is_placed:
            raise ValueError(
                f"{pod.key}: no profile is called {pod.spec.scheduler_name!r}; give make_pod "
                f"`scheduler=` one of {', '.join(profiles)}"
            )
        deadline = time.monotonic() + timeout
        created = self.create(pod)
        decided: Pod = self._wait(_address(created), _is_decided, "is not decided", timeout)
        condition = _waits(decided)
        if condition is not None and condition.reason == "SchedulerError":
            error = self._errors.behind(condition.message)
            kind = "" if error is None else type(error).__name__
            told = condition.message if kind in condition.message else f"{kind}: {condition.message}"
            raise SchedulerError(f"{decided.key}: {told}") from error
        wanted = "Scheduled" if decided.spec.node_name else "FailedScheduling"
        if is_placed or (condition is not None and condition.reason == "SchedulingGated"):
            return Outcome(decided, [])  # the scheduler has nothing to say about it
        return Outcome(decided, self._events_until(wanted, decided, deadline - time.monotonic()))

    def wait_bound(self, pod: Pod | str, *, timeout: float = TIMEOUT) -> Pod:
        """Waits until a pod, or the one of this name, has a node; returns it as it is then."""
        bound: Pod = self._wait(_address(pod), lambda pod: pod.spec.node_name, "has no node", timeout)
        return bound

    def wait_unschedulable(self, pod: Pod | str, *, timeout: float = TIMEOUT) -> str:
        """Waits until a pod's condition says that it could not be scheduled; returns what it says."""
        found = self._wait(_address(pod), _waits, "is not found unschedulable", timeout)
        condition = _waits(found)
        assert condition is not None
        return condition.message

    def _events_until(self, reason: str, pod: Pod, seconds: float) -> list[Event]:
        """The events about a pod, as soon as the one with this reason is there."""
        found: dict[str, Event] = {}
        with Following(self._parts, _EVENTS, namespace=pod.namespace) as following:
            is_listed = is_there = False
            for seen in following.seen(min(seconds, _EVENT_SECONDS)):
                if seen is None:
                    is_listed = True
                elif seen.item.regarding.uid == pod.uid:
                    found[seen.item.name] = seen.item
                    is_there |= seen.item.reason == reason
                if is_listed and is_there:
                    break
        return list(found.values())


def _address(pod: Pod | str) -> Address:
    if isinstance(pod, Pod):
        return Address(_PODS, pod.namespace or "default", pod.name)
    namespace, _, name = pod.rpartition("/")
    return Address(_PODS, namespace or "default", name)


def _waits(pod: Pod) -> Condition | None:
    """The condition of a pod that has no node and was looked at."""
    if pod.spec.node_name:
        return None
    return next(
        (each for each in pod.status.conditions if each.type == "PodScheduled" and each.status == "False"),
        None,
    )


def _is_decided(pod: Pod) -> bool:
    return bool(pod.spec.node_name) or _waits(pod) is not None
