"""What plugins raise, kept for the test that caused it."""

from __future__ import annotations

from collections import deque

from moorage.framework.plugin_errors import told

_MOST = 100


class PluginErrors:
    """Keeps the last exceptions of plugins."""

    def __init__(self) -> None:
        self._raised: deque[BaseException] = deque(maxlen=_MOST)

    def note(self, plugin: str, point: str, error: BaseException) -> None:
        """A plugin raised this at an extension point; called in the scheduler's thread."""
        self._raised.append(error)

    def behind(self, message: str) -> BaseException | None:
        """The newest exception that a message tells of."""
        return next((error for error in reversed(list(self._raised)) if told(error) in message), None)
