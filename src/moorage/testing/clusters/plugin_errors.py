"""What plugins raise, kept for the test that caused it."""

from __future__ import annotations

import logging
from collections import deque

_MOST = 100
_SCHEDULER = logging.getLogger("moorage")
_SAYS_WHAT_WAS_RAISED = logging.getLogger("moorage.framework.diagnosis")


class PluginErrors(logging.Handler):
    """Keeps the exceptions that are logged in one thread, from `start` to `stop`."""

    _started = 0

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._watched_thread = thread
        self._raised: deque[BaseException] = deque(maxlen=_MOST)

    def start(self) -> None:
        _SCHEDULER.addHandler(self)
        PluginErrors._started += 1
        _SAYS_WHAT_WAS_RAISED.setLevel(logging.DEBUG)

    def stop(self) -> None:
        if self not in _SCHEDULER.handlers:
            return
        _SCHEDULER.removeHandler(self)
        PluginErrors._started -= 1
        if not PluginErrors._started:
            _SAYS_WHAT_WAS_RAISED.setLevel(logging.NOTSET)
        self._raised.clear()
        self.close()

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and record.thread == self._watched_thread:
            self._raised.append(error)

    def behind(self, message: str) -> BaseException | None:
        """The newest exception that a message tells of."""
        told = _in_one_line(message)
        for error in reversed(self._raised):
            if (_in_one_line(str(error)) or type(error).__name__) in told:
                return error
        return None


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
