"""What a plugin author needs to test a plugin: builders, a fake handle, `run`, whole cycles and clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.framework.eviction import Evicted as Evicted
    from moorage.testing.builders import make_node as make_node
    from moorage.testing.builders import make_pod as make_pod
    from moorage.testing.clusters.api_server import ApiServer as ApiServer
    from moorage.testing.clusters.cluster import Cluster as Cluster
    from moorage.testing.clusters.cluster import Outcome as Outcome
    from moorage.testing.clusters.cluster import SchedulerError as SchedulerError
    from moorage.testing.clusters.parts import Stuck as Stuck
    from moorage.testing.clusters.telling import NotInTime as NotInTime
    from moorage.testing.cycles import Cycles as Cycles
    from moorage.testing.failures import PluginFailed as PluginFailed
    from moorage.testing.fake_client import FakeClient as FakeClient
    from moorage.testing.fakes import FakeHandle as FakeHandle
    from moorage.testing.placer import Placer as Placer
    from moorage.testing.recording import RecordedEvent as RecordedEvent
    from moorage.testing.recording import Write as Write
    from moorage.testing.results import Run as Run
    from moorage.testing.running import run as run
    from moorage.testing.waiting import FakeWaitingPod as FakeWaitingPod

_HOMES = {
    "ApiServer": "testing.clusters.api_server",
    "Cluster": "testing.clusters.cluster",
    "Cycles": "testing.cycles",
    "Evicted": "framework.eviction",
    "FakeClient": "testing.fake_client",
    "FakeHandle": "testing.fakes",
    "FakeWaitingPod": "testing.waiting",
    "NotInTime": "testing.clusters.telling",
    "Outcome": "testing.clusters.cluster",
    "Placer": "testing.placer",
    "PluginFailed": "testing.failures",
    "RecordedEvent": "testing.recording",
    "Run": "testing.results",
    "SchedulerError": "testing.clusters.cluster",
    "Stuck": "testing.clusters.parts",
    "Write": "testing.recording",
    "make_node": "testing.builders",
    "make_pod": "testing.builders",
    "run": "testing.running",
}

__all__ = [
    "ApiServer",
    "Cluster",
    "Cycles",
    "Evicted",
    "FakeClient",
    "FakeHandle",
    "FakeWaitingPod",
    "NotInTime",
    "Outcome",
    "Placer",
    "PluginFailed",
    "RecordedEvent",
    "Run",
    "SchedulerError",
    "Stuck",
    "Write",
    "make_node",
    "make_pod",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"moorage.{_HOMES[name]}"), name)
