"""What stands behind the question mark of a request, checked."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TypeVar

import msgspec
from aiohttp import web

from moorage.insight.live.problems import Problem, bad_question

DEFAULT_LIMIT = 100
MOST = 1000

_LONGEST = 1000
_SHOWN = 100

T = TypeVar("T")


class Query:
    """The parameters of a request; one that the path does not have is refused, so that typos are seen."""

    def __init__(self, request: web.Request, known: Iterable[str]) -> None:
        self._given = request.query
        wanted = tuple(known)
        for name, value in self._given.items():
            if name not in wanted:
                expected = ", ".join(wanted) or "none"
                raise bad_question(f"{name[:_SHOWN]!r} is no parameter of this path; there are: {expected}")
            if len(value) > _LONGEST:
                raise bad_question(f"{name}: {len(value)} characters are too many")
            if len(self._given.getall(name)) > 1:
                raise bad_question(f"{name}: it is given more than once")

    def text(self, name: str) -> str:
        return self._given.get(name, "")

    def flag(self, name: str) -> bool:
        value = self._given.get(name, "false")
        if value not in ("true", "false"):
            raise bad_question(f"{name}: {value[:_SHOWN]!r} is neither true nor false")
        return value == "true"

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of these words, or nothing."""
        value = self.text(name)
        if value and value not in choices:
            raise bad_question(f"{name}: {value[:_SHOWN]!r} is none of {', '.join(choices)}")
        return value

    def number(self, name: str) -> int | None:
        value = self._given.get(name)
        return None if value is None else whole(value, name)

    def limit(self, default: int = DEFAULT_LIMIT, most: int = MOST) -> int:
        value = self.number("limit")
        if value is None:
            return default
        if not 1 <= value <= most:
            raise bad_question(f"limit: {value} is not between 1 and {most}")
        return value

    def words(self, name: str) -> list[str]:
        """Words with commas between them."""
        return [word for word in self.text(name).split(",") if word]

    def position(self, kind: type[T]) -> T | None:
        """What `continue` of an earlier answer stands for."""
        text = self._given.get("continue")
        if not text:
            return None
        try:
            return msgspec.json.decode(base64.urlsafe_b64decode(text.encode()), type=kind)
        except (ValueError, UnicodeEncodeError):
            raise bad_question("continue: it is not from an earlier answer of this path") from None


def token(position: object) -> str:
    """A position as `continue` has it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode()


def whole(text: str, name: str) -> int:
    """A number that is not negative and not absurdly large; raises Problem."""
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise _no_number(text, name)
    return int(text)


def _no_number(text: str, name: str) -> Problem:
    return bad_question(f"{name}: {text[:_SHOWN]!r} is no whole number")
