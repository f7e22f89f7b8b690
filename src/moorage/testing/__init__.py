"""What a plugin author needs to test a plugin in five lines: builders, a fake handle, and `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.framework.eviction import Evicted as Evicted
    from moorage.testing.builders import make_node as make_node
    from moorage.testing.builders import make_pod as make_pod
    from moorage.testing.cycles import Cycles as Cycles
    from moorage.testing.failures import PluginFailed as PluginFailed
    from moorage.testing.fakes import FakeHandle as FakeHandle
    from moorage.testing.recording import RecordedEvent as RecordedEvent
    from moorage.testing.recording import Write as Write
    from moorage.testing.results import Run as Run
    from moorage.testing.running import run as run

_HOMES = {
    "Cycles": "testing.cycles",
    "Evicted": "framework.eviction",
    "FakeHandle": "testing.fakes",
    "PluginFailed": "testing.failures",
    "RecordedEvent": "testing.recording",
    "Run": "testing.results",
    "Write": "testing.recording",
    "make_node": "testing.builders",
    "make_pod": "testing.builders",
    "run": "testing.running",
}

__all__ = [
    "Cycles",
    "Evicted",
    "FakeHandle",
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

    return getattr(importlib.import_module(f"moorage.{_HOMES[name]}"), name)
