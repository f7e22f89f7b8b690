"""Follows a trace exactly as it was recorded, and asks about each bind just before it happens."""

from __future__ import annotations

from collections.abc import Callable

from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.handle import Services
from moorage.framework.loading.registry import Registry
from moorage.what_if.replay.inputs import as_wanted
from moorage.what_if.scenario import Scenario
from moorage.what_if.trace.changes import Change, Trace

BeforeBind = Callable[[Scenario, Pod, str], None]
"""Told the cluster as it is, a pod that waits in it, and the name of the node that it is about to get."""


def follow(
    trace: Trace,
    registry: Registry,
    before_bind: BeforeBind,
    config: KubeSchedulerConfiguration | None = None,
) -> Scenario:
    """Walks through a trace, with the binds that it has and in its order; the cluster as it is at the end.

    Pods that have a node when the trace begins, and those that were made for a node, are not asked about.
    The clock of the scenario shows the time of the change at hand.
    """
    return _Follower(trace, registry, before_bind, config).run()


class _Follower:
    def __init__(
        self,
        trace: Trace,
        registry: Registry,
        before_bind: BeforeBind,
        config: KubeSchedulerConfiguration | None,
    ) -> None:
        self._trace = trace
        self._before_bind = before_bind
        self._now = trace.head.began
        services = Services(clock=lambda: self._now)
        self._scenario = Scenario((), registry, config, services)

    def run(self) -> Scenario:
        for change in self._trace:
            self._now = change.time
            if isinstance(change.item, Pod):
                self._pod(change, change.item)
            elif change.gone:
                self._scenario.services.door.remove(change.item)
            else:
                self._scenario.add(change.item)
        return self._scenario

    def _pod(self, change: Change, pod: Pod) -> None:
        door, nominations = self._scenario.services.door, self._scenario.services.nominations
        known = door.named(pod.key)
        if change.gone or pod.finished:
            nominations.remove(pod.uid)
            if known is not None and known.uid == pod.uid:
                door.remove(pod)
            return
        if pod.spec.node_name and (waiting := self._waited(known, pod)) is not None:
            self._before_bind(self._scenario, waiting, pod.spec.node_name)
        if pod.spec.node_name:
            nominations.remove(pod.uid)
        self._scenario.add(pod)

    def _waited(self, known: Pod | None, pod: Pod) -> Pod | None:
        """The pod as it waited for the node that it has now; None if it has not."""
        if known is not None and known.uid == pod.uid:
            return None if known.spec.node_name else known
        if self._now <= self._trace.head.began:
            return None
        scheduled = pod.condition("PodScheduled")
        was_scheduled = scheduled is not None and scheduled.status == "True"
        return as_wanted(pod) if was_scheduled else None
