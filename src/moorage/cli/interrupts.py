"""What Ctrl-C does: while a command gets ready, it ends the process at once and without a word.

An exception would be raised wherever the process happens to be, among imports most of the time, where some
callbacks of Python swallow it with a traceback.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

EXIT_CODE = 130


def end_at_once() -> None:
    """From here on Ctrl-C ends the process, unless it is ignored or somebody else has taken it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_again() -> None:
    """From here on it is a KeyboardInterrupt, so that what has been begun can be tidied up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(EXIT_CODE)
