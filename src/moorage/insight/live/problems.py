"""Questions that cannot be answered, each in one line for who asked."""

from __future__ import annotations


class Problem(Exception):
    """A question that is not answered, with the HTTP code and the one-word reason that go with it."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


def bad_question(message: str) -> Problem:
    return Problem(400, "BadRequest", message)


def not_there(message: str) -> Problem:
    return Problem(404, "NotFound", message)


def gone(message: str) -> Problem:
    return Problem(410, "Expired", message)
