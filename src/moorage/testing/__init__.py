"""What a plugin author needs to test a plugin in five lines: builders, a fake handle, and `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.testing.builders import make_node as make_node
    from moorage.testing.builders import make_pod as make_pod
    from moorage.testing.cycles import Cycles as Cycles
    from moorage.testing.failures import PluginFailed as PluginFailed
    from moorage.testing.fake_client import FakeClient as FakeClient
    from moorage.testing.fakes import FakeHandle as FakeHandle
    from moorage.testing.recording import RecordedEvent as RecordedEvent
    from moorage.testing.recording import Write as Write
    from moorage.testing.results import Run as Run
    from moorage.testing.running import run as run
    from moorage.testing.waiting import FakeWaitingPod as FakeWaitingPod

_HOMES = {
    "Cycles": "cycles",
    "FakeClient": "fake_client",
    "FakeHandle": "fakes",
    "FakeWaitingPod": "waiting",
    "PluginFailed": "failures",
    "RecordedEvent": "recording",
    "Run": "results",
    "Write": "recording",
    "make_node": "builders",
    "make_pod": "builders",
    "run": "running",
}

__all__ = [
    "Cycles",
    "FakeClient",
    "FakeHandle",
    "FakeWaitingPod",
    "PluginFailed",
    "RecordedEvent",
    "Run",
    "Write",
    "make_node",
    "make_pod",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"moorage.testing.{_HOMES[name]}"), name)
