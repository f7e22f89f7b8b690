"""Room for expressions that are nested deeply."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_FRAMES_PER_LEVEL = 12


@contextmanager
def room_for(levels: int) -> Iterator[None]:
    """Lets functions call one another for so many levels of an expression.

    All such calls are from Python to Python, which needs no C stack; only the limit stands in the way.
    """
    limit = sys.getrecursionlimit()
    needed = _depth(sys._getframe()) + levels * _FRAMES_PER_LEVEL + 100
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
