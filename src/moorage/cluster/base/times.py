"""Points in time as objects have them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], float]
"""Seconds since 1970."""


def timestamp(seconds: float) -> str:
    """`2026-01-02T03:04:05Z`"""
    return _whole(int(seconds))


def micro_timestamp(seconds: float) -> str:
    """`2026-01-02T03:04:05.678900Z`"""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(text: str) -> float:
    """The time a text stands for; what is no time is long ago."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0


@lru_cache(maxsize=64)
def _whole(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
