"""The problems of a value, while it is being looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.cluster.base.errors import Cause, required, too_long
from moorage.cluster.base.quoting import quoted
from moorage.cluster.custom.wording import invalid, too_many, wrong_type

_NOWHERE = "<nil>"


class Problem(NamedTuple):
    text: str
    """What tells problems apart: each is reported once."""
    cause: Callable[[str], Cause]
    """The cause, given the field that the whole value is in."""


class Problems(list[Problem]):
    """Paths lead from the whole value to a part of it, and are "" for the whole."""

    def causes(self, field: str) -> list[Cause]:
        unique = {problem.text: problem for problem in reversed(self)}
        return [problem.cause(field) for problem in reversed(unique.values())]

    def at(self, path: str, text: str, cause: Callable[[str], Cause]) -> None:
        """Adds a cause, which is told the field that the path leads to."""
        self.append(Problem(text, lambda whole: cause(_field(path, whole))))

    def invalid(self, path: str, value: Any, text: str) -> None:
        self.at(path, text, lambda field: invalid(field, value, text))

    def general(self, text: str) -> None:
        """A problem that the original does not say the field of."""
        self.append(Problem(text, lambda whole: invalid(whole or _NOWHERE, "", text)))

    def wrong_type(self, path: str, wanted: str, found: str) -> None:
        text = f"{path} in body must be of type {wanted}: {quoted(found)}"
        self.at(path, text, lambda field: wrong_type(field, found, text))

    def required(self, path: str) -> None:
        self.at(path, f"{path} in body is required", required)

    def too_long(self, path: str, limit: int) -> None:
        text = f"{path} in body should be at most {limit} chars long"
        self.at(path, text, lambda field: too_long(field, limit))

    def too_many(self, path: str, found: int, limit: int, what: str) -> None:
        text = f"{path} in body should have at most {limit} {what}"
        self.at(path, text, lambda field: too_many(field, found, limit))


def _field(path: str, whole: str) -> str:
    path = path.removeprefix(".")
    if not path:
        return whole or _NOWHERE
    return f"{whole}.{path}" if whole else path
