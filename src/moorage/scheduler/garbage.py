"""Looking for garbage less often: there is hardly any that is not freed without looking.

Python looks through all objects again and again while they become more, to find those that refer to each
other and are not needed any more. Thousands of pods that come and stay are looked through as well, which
takes as long as scheduling them, and what is done for a pod leaves no such objects behind.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (10_000, 10, 10)
"""After a million objects that came and stayed, all are looked through: some 100 MB at the very most."""

_before: list[tuple[int, int, int]] = []


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Has the process look for garbage less often, until the last block of this kind ends."""
    before = gc.get_threshold()
    _before.append(before)
    if 0 < before[0] < _THRESHOLDS[0]:
        gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        outermost = _before[0]
        _before.pop()
        if not _before:
            gc.set_threshold(*outermost)
