"""The problems of a value, while it is being looked at, and values as messages show them."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base import errors
from moorage.cluster.base.go_text import by_name, quoted

_NOWHERE = "<nil>"


class Problems(list[tuple[str, errors.Cause]]):
    """Broken rules, each with the path that leads there from the whole value, which is "" for the whole."""

    def causes(self, field: str) -> list[errors.Cause]:
        """Each once, as rules of the field that the whole value is in."""
        latest = dict.fromkeys(reversed(self))
        return [cause._replace(field=_field(path, field)) for path, cause in reversed(latest)]

    def add(self, path: str, cause: errors.Cause) -> None:
        self.append((path, cause))

    def invalid(self, path: str, value: Any, what: str) -> None:
        self.add(path, errors.invalid_value("", by_name(value), f"{path} in body {what}"))

    def general(self, text: str) -> None:
        """A problem that the original does not say the field of."""
        self.add("", errors.invalid_value("", "", text))

    def wrong_type(self, path: str, wanted: str, found: str) -> None:
        shown = quoted(found)
        text = f"Invalid value: {shown}: {path} in body must be of type {wanted}: {shown}"
        self.add(path, errors.Cause("FieldValueTypeInvalid", "", text))


def _field(path: str, whole: str) -> str:
    path = path.removeprefix(".")
    return ".".join(filter(None, (whole, path))) or _NOWHERE


def shown(value: Any) -> str:
    return errors.shown(by_name(value))
