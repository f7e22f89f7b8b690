"""What a plugin author needs to test a plugin in five lines: builders, a fake handle, and `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.testing.builders import make_node as make_node
    from moorage.testing.builders import make_pod as make_pod

_HOMES = {
    "make_node": "moorage.testing.builders",
    "make_pod": "moorage.testing.builders",
}

__all__ = ["make_node", "make_pod"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
