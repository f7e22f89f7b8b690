"""What plugins remember between the points of one scheduling attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

    __slots__ = ("_values", "has_claims", "is_timed", "skip_filter", "skip_pre_bind", "skip_score")

    def __init__(self, written: Mapping[str, Any] | None = None, skip_filter: Iterable[str] = ()) -> None:
        """Made by the scheduler, not for plugins."""
        self._values: dict[str, Any] = {PODS_TO_ACTIVATE: {}}
        if written:
            self._values.update(written)
        self.is_timed = False
        """For the scheduler, not for plugins."""
        self.has_claims = False
        """Whether there is more to settle for the pod than the claims it names; not for plugins."""
        self.skip_filter = set(skip_filter)
        """For the scheduler, not for plugins."""
        self.skip_score: set[str] = set()
        """For the scheduler, not for plugins."""
        self.skip_pre_bind: set[str] = set()
        """For the scheduler, not for plugins."""

    def read(self, key: str) -> Any:
        """What was written under the key; raises a LookupError if nothing was."""
        try:
            return self._values[key]
        except KeyError:
            raise NothingWritten from None

    def get(self, key: str, default: Any = None) -> Any:
        """What was written under the key, or `default`."""
        return self._values.get(key, default)

    def write(self, key: str, value: Any) -> None:
        """Keeps a value under the key for the rest of this attempt."""
        self._values[key] = value

    def write_all(self, values: Mapping[str, Any]) -> None:
        """For the scheduler, not for plugins."""
        self._values.update(values)

    def written(self) -> dict[str, Any]:
        """For the scheduler, not for plugins: all that plugins wrote."""
        return {key: value for key, value in self._values.items() if key != PODS_TO_ACTIVATE}

    def delete(self, key: str) -> None:
        """Forgets what was written under the key, if anything was."""
        self._values.pop(key, None)

    def clone(self) -> CycleState:
        """A copy for a what-if question: values that have a `clone()` are cloned, others are shared."""
        copy = CycleState()
        for key, value in self._values.items():
            clone = getattr(value, "clone", None)
            copy._values[key] = value if clone is None else clone()
        copy.has_claims = self.has_claims
        copy.skip_filter = self.skip_filter
        copy.skip_score = self.skip_score
        copy.skip_pre_bind = self.skip_pre_bind
        return copy
