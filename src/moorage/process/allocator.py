"""How the C library's allocator is told to give memory back."""

from __future__ import annotations

import ctypes

_LARGE = 128 * 1024
_M_MMAP_THRESHOLD = -3


def give_back_large_blocks() -> None:
    """Has large blocks returned to the system as soon as they are free; does nothing without glibc.

    glibc begins that way, but takes them from the heap once it has seen one go. Connections have blocks of a
    quarter of a megabyte for TLS, hardly touched; where a closed one was, small objects would spread over
    pages that had cost nothing so far.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGE)
