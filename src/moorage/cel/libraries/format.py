"""`format.<name>()`: formats of names and texts, and what is wrong with a text by one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, ClassVar

from moorage.cel.costs import REGEX_LENGTH, STRING_TRAVERSAL, actual_size, regex_cost, scale
from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload
from moorage.cel.libraries import name_formats
from moorage.cel.libraries.url_escapes import UrlError
from moorage.cel.libraries.urls import parse_request
from moorage.cel.types import STRING, Type, list_of, optional_of
from moorage.cel.values import NO_VALUE, Optional

FORMAT_TYPE = Type("kubernetes.NamedFormat")

_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_LONGEST_PATTERN = 128


class Format:
    """Named; equal if the names are."""

    __slots__ = ("complaints", "name", "pattern_size")

    CEL_TYPE: ClassVar[Type] = FORMAT_TYPE

    def __init__(self, name: str, complaints: Callable[[str], list[str]], pattern_size: int) -> None:
        self.name = name
        self.complaints = complaints
        """What is wrong with a text; nothing: it is valid."""
        self.pattern_size = pattern_size
        """How long the regular expression is, or might be, by which a check is priced."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def uri(text: str) -> list[str]:
    try:
        parse_request(text)
    except UrlError as error:
        return [str(error)]
    return []


def _is_uuid(text: str) -> bool:
    return text.isascii() and _UUID.fullmatch(text) is not None


def _is_base64(text: str) -> bool:
    return _BASE64.fullmatch(text) is not None


def _is_date(text: str) -> bool:
    """Year 0 is a leap year."""
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    try:
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    """What follows a second `t` is not looked at."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    time = _TIME.fullmatch(parts[1])
    return time is not None and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"


def _unless(is_valid: Callable[[str], bool], complaint: str) -> Callable[[str], list[str]]:
    return lambda text: [] if is_valid(text) else [complaint]


FORMATS = {
    "dns1123Label": Format("DNS1123Label", name_formats.label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", name_formats.subdomain, 60),
    "dns1035Label": Format("DNS1035Label", name_formats.label_1035, 30),
    "qualifiedName": Format("QualifiedName", name_formats.qualified_name, 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", name_formats.as_prefix(name_formats.label), 30),
    "dns1123SubdomainPrefix": Format(
        "DNS1123SubdomainPrefix", name_formats.as_prefix(name_formats.subdomain), 60
    ),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", name_formats.as_prefix(name_formats.label_1035), 30),
    "labelValue": Format("LabelValue", name_formats.label_value, 40),
    "uri": Format("URI", uri, 1103),
    "uuid": Format("uuid", _unless(_is_uuid, "does not match the UUID format"), 70),
    "byte": Format("byte", _unless(_is_base64, "invalid base64"), 84),
    "date": Format("date", _unless(_is_date, "invalid date"), 71),
    "datetime": Format("datetime", _unless(_is_datetime, "invalid datetime"), 71),
}


def validate(wanted: Format, text: str) -> Optional:
    complaints = wanted.complaints(text)
    return Optional(tuple(complaints)) if complaints else NO_VALUE


def named(name: str) -> Optional:
    found = FORMATS.get(name)
    return NO_VALUE if found is None else Optional(found)


def _validate_cost(arguments: Sequence[Any], result: Any) -> int:
    wanted = arguments[0]
    if not isinstance(wanted, Format):
        return 1
    return regex_cost(actual_size(arguments[1]), wanted.pattern_size)


def _validate_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    reading = scale(arguments[1].size, STRING_TRAVERSAL)
    return CallEstimate(scale(reading, _LONGEST_PATTERN * REGEX_LENGTH))


def _constant(name: str, value: Format) -> Function:
    return Function(name, (Overload(name, (), FORMAT_TYPE, lambda: value, is_member=False),))


_VALIDATE = Overload(
    "format-validate",
    (FORMAT_TYPE, STRING),
    optional_of(list_of(STRING)),
    validate,
    actual_cost=_validate_cost,
    estimate=_validate_estimate,
)
_NAMED = Overload("format-named", (STRING,), optional_of(FORMAT_TYPE), named, is_member=False)

LIBRARY = Library(
    (
        Function("validate", (_VALIDATE,)),
        Function("format.named", (_NAMED,)),
        *(_constant(f"format.{name}", value) for name, value in FORMATS.items()),
    )
)
