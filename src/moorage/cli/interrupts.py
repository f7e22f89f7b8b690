"""What Ctrl-C does: while a command gets ready, it ends the process at once and without a word.

An exception would be raised wherever the process happens to be, among imports most of the time, where some
callbacks of Python swallow it with a traceback.
"""

from __future__ import annotations

# Not `signal`, which takes several milliseconds to import; until they are over, Ctrl-C shows a traceback.
import _signal  # type: ignore[import-not-found]
import os

EXIT_CODE = 130


def end_at_once() -> None:
    """From here on Ctrl-C ends the process, unless it is ignored or somebody else has taken it."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)


def raise_again() -> None:
    """From here on it is a KeyboardInterrupt, so that what has been begun can be tidied up."""
    if _signal.getsignal(_signal.SIGINT) is _end:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)


def _end(number: int, frame: object) -> None:
    os._exit(EXIT_CODE)
