"""Room for functions that call one another very often."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def room_for(calls: int) -> Iterator[None]:
    """Lets so many functions call one another, one within the other.

    Only for calls from Python to Python, which need no C stack; only the limit stands in the way.
    """
    limit = sys.getrecursionlimit()
    needed = _depth(sys._getframe()) + calls + 100
    if needed <= limit:
        yield
        return
    sys.setrecursionlimit(needed)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth
