"""What plugins raise in tests."""

from __future__ import annotations

from moorage.framework.runtime.answers import WrongAnswer


class PluginFailed(Exception):
    """A plugin raised, or answered what it must not; `__cause__` is its own exception."""

    def __init__(self, plugin: str, point: str, error: BaseException) -> None:
        said = str(error) if isinstance(error, WrongAnswer) else f"{type(error).__name__}: {error}"
        super().__init__(f"{plugin} failed at {point}: {said}")
        self.plugin = plugin
        """The name of the plugin."""
        self.point = point
        """The extension point at which it was asked."""


class Failures:
    """Keeps what plugins raise while a scheduler, which survives it, runs."""

    def __init__(self) -> None:
        self._raised: list[tuple[str, str, BaseException]] = []

    def note(self, plugin: str, point: str, error: BaseException) -> None:
        self._raised.append((plugin, point, error))

    def raise_first(self) -> None:
        """Raises what was noted first, and forgets all of it."""
        __tracebackhide__ = True  # pytest shows the test's line and the plugin's, not those in between
        if self._raised:
            plugin, point, error = self._raised[0]
            self._raised.clear()
            raise PluginFailed(plugin, point, error) from error
