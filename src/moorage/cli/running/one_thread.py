"""NumPy without threads of its own."""

from __future__ import annotations

import os

_OURS = "OPENBLAS_NUM_THREADS"
_GIVEN = (_OURS, "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def load_numpy() -> None:
    """Loads NumPy so that it makes no threads for linear algebra, unless the environment says how many.

    There is one for each core, and they look for work as soon as they are there: a scheduler has none for
    them. To be called before anything else loads NumPy.
    """
    if any(name in os.environ for name in _GIVEN):
        return
    os.environ[_OURS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_OURS]  # it is nobody's business that is started from here
