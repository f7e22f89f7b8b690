"""Answers that are failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moorage.client import errors


def failure(code: int, reason: str, **more: Any) -> bytes:
    return json.dumps({"kind": "Status", "code": code, "reason": reason, "message": "text", **more}).encode()


@pytest.mark.parametrize(
    ("code", "reason", "kind", "retriable"),
    [
        (400, "BadRequest", errors.BadRequest, False),
        (401, "Unauthorized", errors.Unauthorized, False),
        (403, "Forbidden", errors.Forbidden, False),
        (404, "NotFound", errors.NotFound, False),
        (405, "MethodNotAllowed", errors.MethodNotAllowed, False),
        (409, "Conflict", errors.Conflict, False),
        (409, "AlreadyExists", errors.AlreadyExists, False),
        (410, "Expired", errors.Gone, False),
        (410, "Gone", errors.Gone, False),
        (422, "Invalid", errors.Invalid, False),
        (429, "TooManyRequests", errors.TooManyRequests, True),
        (500, "InternalError", errors.InternalError, True),
        (500, "ServerTimeout", errors.ServerTimeout, True),
        (502, "", errors.ApiError, True),
        (503, "ServiceUnavailable", errors.ServiceUnavailable, True),
        (504, "Timeout", errors.ServerTimeout, True),
        (418, "", errors.ApiError, False),
    ],
)
def test_errors(code: int, reason: str, kind: type[errors.ApiError], retriable: bool) -> None:
    error = errors.error_of(failure(code, reason), code=code)
    assert type(error) is kind
    assert (error.code, error.reason, str(error)) == (code, reason, "text")
    assert errors.is_retriable(error) is retriable


def test_error_of_a_watch_has_its_code_in_the_body() -> None:
    assert isinstance(errors.error_of(failure(410, "Expired")), errors.Gone)


def test_retry_after_of_headers_and_body() -> None:
    body = failure(429, "TooManyRequests", details={"retryAfterSeconds": 7})
    assert errors.error_of(body, code=429).retry_after == 7
    assert errors.error_of(body, code=429, retry_after=2.0).retry_after == 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "GET /x: the server answered 502 Bad Gateway"),
        (b"<html>\nno</html>", "GET /x: the server answered 502 Bad Gateway: <html> no</html>"),
        (b'{"kind": "Pod"}', 'GET /x: the server answered 502 Bad Gateway: {"kind": "Pod"}'),
        (b"\xff" * 9999, "GET /x: the server answered 502 Bad Gateway: " + "\ufffd" * 200),
    ],
)
def test_answers_that_are_no_status(body: bytes, expected: str) -> None:
    assert str(errors.error_of(body, code=502, doing="GET /x")) == expected


def test_lost_connections_are_retriable() -> None:
    assert errors.is_retriable(errors.Unreachable(0, "", "x"))
    assert errors.is_retriable(errors.TimedOut(0, "", "x"))
    assert not errors.is_retriable(ValueError())
