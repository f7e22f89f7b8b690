"""What can go wrong when talking to an API server."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

_SHOWN_TEXT = 200  # characters of an answer that is not a Status


class ConfigurationError(Exception):
    """A connection that cannot be made from what was given; one line with the place and the remedy."""


class ApiError(Exception):
    """A request that did not succeed. `str()` is the API server's own message.

    `code` is the HTTP status (0 when there was no answer), `reason` the API's word for it, `retry_after` the
    seconds the server wants to be left alone.
    """

    def __init__(self, code: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        """The HTTP status; 0 when there was no answer."""
        self.reason = reason
        """The API's word for it, for example `NotFound`."""
        self.message = message
        """What the API server says."""
        self.retry_after = retry_after
        """The seconds the server wants to be left alone, if it says so."""


class BadRequest(ApiError):
    """400"""


class Unauthorized(ApiError):
    """401: the server does not know who is asking."""


class Forbidden(ApiError):
    """403: the user has no right to do this."""


class NotFound(ApiError):
    """404: there is no such object, or no such resource."""


class MethodNotAllowed(ApiError):
    """405"""


class Conflict(ApiError):
    """409: the object is not as the request expects it."""


class AlreadyExists(ApiError):
    """409: there is an object of this name."""


class Gone(ApiError):
    """410: the resource version or the continue token is too old."""


class Invalid(ApiError):
    """422: the object breaks a rule."""


class TooManyRequests(ApiError):
    """429"""


class InternalError(ApiError):
    """500"""


class ServiceUnavailable(ApiError):
    """503"""


class ServerTimeout(ApiError):
    """The server did not finish in time (504, or 500 with the reason ServerTimeout)."""


class Unreachable(ApiError):
    """There is no connection to the server, or it broke."""


class TimedOut(Unreachable):
    """The server did not answer in time."""


class Withheld(ApiError):
    """The request was not sent: this process may not write, since it does not hold the lease."""


_BY_REASON: dict[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Expired": Gone,
    "Forbidden": Forbidden,
    "Gone": Gone,
    "Invalid": Invalid,
    "NotFound": NotFound,
    "ServerTimeout": ServerTimeout,
    "Timeout": ServerTimeout,
    "TooManyRequests": TooManyRequests,
    "Unauthorized": Unauthorized,
}
_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: ServerTimeout,
}
_RETRIABLE_CODES = frozenset((429, 500, 502, 503, 504))


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: float | None = None


class _Status(msgspec.Struct, rename="camel"):
    kind: str = ""
    code: int = 0
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


def error_of(body: bytes, *, code: int = 0, retry_after: float | None = None, doing: str = "") -> ApiError:
    """Makes the error of an answer; `code` and `retry_after` are what the HTTP headers say."""
    try:
        status = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = _Status()
    if status.kind != "Status":
        status = _Status(message=_text_of(code, body, doing))
    code = code or status.code
    if retry_after is None and status.details is not None:
        retry_after = status.details.retry_after_seconds
    reason = status.reason or ""
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, ApiError)
    return kind(code, reason, status.message or _text_of(code, b"", doing), retry_after)


def code_and_reason(kind: type[ApiError]) -> tuple[int, str]:
    """What an API server says with an error of this class; 0 where it says nothing."""
    reason = next((reason for reason, known in _BY_REASON.items() if known is kind), "")
    code = next((code for code, known in _BY_CODE.items() if issubclass(kind, known)), 0)
    return 409 if kind is AlreadyExists else code, reason


def is_retriable(error: BaseException) -> bool:
    """Whether the same request may well succeed a little later."""
    if isinstance(error, Unreachable | ServerTimeout):
        return True
    return isinstance(error, ApiError) and error.code in _RETRIABLE_CODES


def _text_of(code: int, body: bytes, doing: str) -> str:
    phrase = HTTPStatus(code).phrase if code in HTTPStatus._value2member_map_ else ""
    text = " ".join(body.decode(errors="replace").split())[:_SHOWN_TEXT]
    answer = f"the server answered {code} {phrase}".rstrip() if code else "the server reported an error"
    return (f"{doing}: " if doing else "") + answer + (f": {text}" if text else "")
