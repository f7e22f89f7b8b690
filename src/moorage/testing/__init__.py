"""What a plugin author needs to test a plugin in five lines: builders, a fake handle, `run`, and clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.testing.builders import make_node as make_node
    from moorage.testing.builders import make_pod as make_pod
    from moorage.testing.clusters.api_server import ApiServer as ApiServer
    from moorage.testing.clusters.cluster import Cluster as Cluster
    from moorage.testing.clusters.cluster import Outcome as Outcome
    from moorage.testing.clusters.cluster import SchedulerError as SchedulerError
    from moorage.testing.clusters.parts import Stuck as Stuck
    from moorage.testing.clusters.telling import NotInTime as NotInTime
    from moorage.testing.fakes import FakeHandle as FakeHandle
    from moorage.testing.running import Run as Run
    from moorage.testing.running import run as run

_HOMES = {
    "ApiServer": "clusters.api_server",
    "Cluster": "clusters.cluster",
    "FakeHandle": "fakes",
    "NotInTime": "clusters.telling",
    "Outcome": "clusters.cluster",
    "Run": "running",
    "SchedulerError": "clusters.cluster",
    "Stuck": "clusters.parts",
    "make_node": "builders",
    "make_pod": "builders",
    "run": "running",
}

__all__ = [
    "ApiServer",
    "Cluster",
    "FakeHandle",
    "NotInTime",
    "Outcome",
    "Run",
    "SchedulerError",
    "Stuck",
    "make_node",
    "make_pod",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"moorage.testing.{_HOMES[name]}"), name)
