"""`url(...)`: URLs and their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from moorage.cel.declarations import Function, Library, Overload
from moorage.cel.libraries.call_costs import copying_estimate, reading_cost
from moorage.cel.libraries.url_escapes import UrlError
from moorage.cel.libraries.urls import Parts, parse, parse_request
from moorage.cel.types import BOOL, STRING, Type, list_of, map_of
from moorage.cel.values import EvaluationError

URL_TYPE = Type("kubernetes.URL")


class URL:
    __slots__ = ("parts",)

    CEL_TYPE: ClassVar[Type] = URL_TYPE

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and self.parts.joined() == other.parts.joined()

    def __hash__(self) -> int:
        return hash(self.parts.joined())

    def __str__(self) -> str:
        return _text(self.parts.joined())


def parse_url(text: str) -> URL:
    try:
        return URL(parse(text))
    except UrlError as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def is_url(text: str) -> bool:
    try:
        parse_request(text)
    except UrlError:
        return False
    return True


def scheme(url: URL) -> str:
    return _text(url.parts.scheme)


def host(url: URL) -> str:
    return _text(url.parts.host)


def hostname(url: URL) -> str:
    return _text(url.parts.host_and_port()[0])


def port(url: URL) -> str:
    return _text(url.parts.host_and_port()[1])


def escaped_path(url: URL) -> str:
    return _text(url.parts.escaped_path())


def query(url: URL) -> dict[str, tuple[str, ...]]:
    return {_text(key): tuple(map(_text, values)) for key, values in url.parts.parameters().items()}


def _text(part: bytes) -> str:
    """Escapes may hide bytes that are not UTF-8; each counts as a character that equals no other."""
    return part.decode(errors="surrogateescape")


def _member(name: str, id: str, call: Callable[[URL], Any], result: Type = STRING) -> Function:
    return Function(name, (Overload(id, (URL_TYPE,), result, call),))


_URL = Overload(
    "string_to_url",
    (STRING,),
    URL_TYPE,
    parse_url,
    is_member=False,
    actual_cost=reading_cost,
    estimate=copying_estimate,
)

LIBRARY = Library(
    (
        Function("url", (_URL,)),
        Function("isURL", (Overload("is_url_string", (STRING,), BOOL, is_url, is_member=False),)),
        _member("getScheme", "url_get_scheme", scheme),
        _member("getHost", "url_get_host", host),
        _member("getHostname", "url_get_hostname", hostname),
        _member("getPort", "url_get_port", port),
        _member("getEscapedPath", "url_get_escaped_path", escaped_path),
        _member("getQuery", "url_get_query", query, map_of(STRING, list_of(STRING))),
    )
)
