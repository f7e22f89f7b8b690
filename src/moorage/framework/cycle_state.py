"""What plugins remember between the points of one scheduling attempt."""

from __future__ import annotations

from typing import Any

PODS_TO_ACTIVATE = "kubernetes.io/pods-to-activate"
"""Under this key every attempt has a dict: pods put into it, by key, are tried again once it succeeds."""


class NothingWritten(LookupError):
    """Nothing was written under this key in this attempt."""

    def __init__(self) -> None:
        super().__init__("not found")


class CycleState:
    """A small store, one per scheduling attempt, shared by all plugins.

    Use a key of your own, for example the plugin's name. A value that changes in `add_pod` and `remove_pod`
    needs a `clone()` method: what-if questions are asked on a clone.
    """

    __slots__ = ("_values", "is_timed", "skip_filter", "skip_pre_bind", "skip_score")

    def __init__(self) -> None:
        self._values: dict[str, Any] = {PODS_TO_ACTIVATE: {}}
        self.is_timed = False
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.skip_pre_bind: set[str] = set()

    def read(self, key: str) -> Any:
        try:
            return self._values[key]
        except KeyError:
            raise NothingWritten from None

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def write(self, key: str, value: Any) -> None:
        self._values[key] = value

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def clone(self) -> CycleState:
        copy = CycleState()
        for key, value in self._values.items():
            clone = getattr(value, "clone", None)
            copy._values[key] = value if clone is None else clone()
        copy.skip_filter = self.skip_filter
        copy.skip_score = self.skip_score
        copy.skip_pre_bind = self.skip_pre_bind
        return copy
