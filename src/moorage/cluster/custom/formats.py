"""Which texts and numbers have the form that a schema's `format` asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from email.utils import parseaddr
from ipaddress import IPv6Address

from moorage.api import names
from moorage.cluster.schema.forms import size

_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _matching(form: str, flags: re.RegexFlag = re.ASCII) -> Callable[[str], bool]:
    matches = re.compile(form, flags | re.ASCII).fullmatch
    return lambda text: matches(text) is not None


_HEX = "[0-9a-fA-F]"
_UUID = f"{_HEX}{{{{8}}}}-?{_HEX}{{{{4}}}}-?{{0}}-?{{1}}-?{_HEX}{{{{12}}}}"
_ANY_FOUR = f"{_HEX}{{4}}"
_RFC_VARIANT = f"[89abAB]{_HEX}{{3}}"
_COLOR_PART = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_MAC = "|".join(
    f"({part}{separator}){{{count - 1}}}{part}"
    for part, separator, counts in (
        (f"{_HEX}{{2}}", ":", (6, 8, 20)),
        (f"{_HEX}{{2}}", "-", (6, 8, 20)),
        (f"{_HEX}{{4}}", r"\.", (3, 4, 10)),
    )
    for count in counts
)
_BYTE = "0*(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_ATOM = r"[^\s()<>\[\]:;@\\,.\"]+"
_SECOND = 1_000_000_000
_MOST_DIGITS = 18  # of numbers that fit 64 bits for certain
_UNITS = {
    ("ns", "nano"): 1,
    ("us", "µs", "micro"): 1_000,
    ("ms", "milli"): 1_000_000,
    ("s", "sec"): _SECOND,
    ("m", "min"): 60 * _SECOND,
    ("h", "hr", "hour"): 3600 * _SECOND,
    ("d", "day"): 86_400 * _SECOND,
    ("w", "wk", "week"): 7 * 86_400 * _SECOND,
}
_LOOSE_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)

_has_scheme = _matching(r"[A-Za-z][A-Za-z0-9+.-]*:.*", re.DOTALL)
_is_authority = _matching(
    rf"(.*@)?(\[[^\]@]*\]|([^\s<>\"\\^`{{}}|\[\]@:%]|%{_HEX}{{2}})*)(:[0-9]*)?", re.DOTALL
)
_is_escaped = _matching(rf"([^%]|%{_HEX}{{2}})*")
_is_address = _matching(rf'({_ATOM}(\.{_ATOM})*|"(?:[^"\\]|\\.)*")@({_ATOM}(\.{_ATOM})*|\[[^\]]*\])')
# Leading zeros are fine, as they were in Go for long.
_is_ipv4_sloppy = _matching(rf"{_BYTE}(\.{_BYTE}){{3}}")
_is_date_form = _matching("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_is_time = _matching("([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_is_go_duration = _matching(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_is_card_number = _matching(
    r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35\d{3})\d{11}"
)


def is_uri(text: str) -> bool:
    """An address with a scheme, or an absolute path."""
    if any(letter < " " or letter == "\x7f" for letter in text):
        return False
    if text.startswith("/"):
        return _is_escaped(text.partition("?")[0])
    if not _has_scheme(text):
        return False
    rest = text.partition(":")[2]
    if not rest.startswith("/"):
        return True
    path = rest.partition("?")[0]
    if not path.startswith("//"):
        return _is_escaped(path)
    authority, _, path = path[2:].partition("/")
    return _is_authority(authority) and _is_escaped(path)


def _is_email(text: str) -> bool:
    address = parseaddr(text)[1]
    ends_with_it = text.strip() == address or text.rstrip().endswith(f"<{address}>")
    return ends_with_it and _is_address(address)


def _is_letter(letter: str) -> bool:
    return unicodedata.category(letter)[0] == "L"


def _is_word(letter: str) -> bool:
    return letter in "0123456789" or unicodedata.category(letter)[0] in "LS"


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if size(text) > 255 or any(size(label) > 63 for label in labels):
        return False
    if not all(label and _is_word(label[0]) for label in labels):
        return False
    if len(labels) == 1:
        return all(map(_is_word, text[1:2].removeprefix("-") + text[2:])) and not text.endswith("-")
    *above, top = labels
    return (
        len(top) >= 2
        and all(map(_is_letter, top))
        and all(_is_word(label[-1]) and all(map(_is_word, label.replace("-", ""))) for label in above)
    )


def _is_ipv6(text: str) -> bool:
    try:
        return "%" not in text and bool(IPv6Address(text))
    except ValueError:
        return False


def _is_cidr(text: str) -> bool:
    address, _, length = text.partition("/")
    if not (length.isascii() and length.isdigit()) or len(length) > 3:
        return False
    return (_is_ipv4_sloppy(address) and int(length) <= 32) or (_is_ipv6(address) and int(length) <= 128)


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum((place + 1) * value for place, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return _is_card_number(digits) and sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_date(text: str) -> bool:
    try:
        # The year 0 is a leap year, and Python has none.
        return _is_date_form(text) and bool(date.fromisoformat(re.sub("^0000", "2000", text)))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, time, *_ = [*text.lower().split("t"), ""]
    return _is_date(day) and _is_time(time)


def _is_duration(text: str) -> bool:
    return _is_go_duration(text) or loose_duration(text) is not None


def loose_duration(text: str) -> int | None:
    """In nanoseconds: all that have a unit, with a space before it or not, such as `2 weeks, 3 days`."""
    nanos: int | None = None
    for count, unit in _LOOSE_DURATION.findall(text):
        if len(count) > _MOST_DIGITS:
            return None
        for known, nanos_each in _UNITS.items():
            if unit.lower() in known or unit.lower().startswith(known[-1]):
                nanos = (nanos or 0) + int(count) * nanos_each
    return nanos


_TEXT_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching(f"{_HEX}{{24}}"),
    "uri": is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: _is_ipv4_sloppy(text) or ("." in text and _is_ipv6(text)),
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _matching(_MAC),
    "uuid": _matching(_UUID.format(_ANY_FOUR, _ANY_FOUR)),
    "uuid3": _matching(_UUID.format(f"3{_HEX}{{3}}", _ANY_FOUR)),
    "uuid4": _matching(_UUID.format(f"4{_HEX}{{3}}", _RFC_VARIANT)),
    "uuid5": _matching(_UUID.format(f"5{_HEX}{{3}}", _RFC_VARIANT)),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": _matching(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "hexcolor": _matching(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _matching(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
    "byte": _matching("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: not names.dns_label_problems(text),
    "k8slongname": lambda text: not names.dns_subdomain_problems(text),
}


def is_known(kind: str, name: str) -> bool:
    """Whether a format means anything for values of this type; others are ignored."""
    if kind in ("", "string"):
        return name.replace("-", "") in _TEXT_FORMATS
    return name in _NUMBER_FORMATS.get(kind, ())


def has_format(text: str, name: str) -> bool:
    check = _TEXT_FORMATS.get(name.replace("-", ""))
    return check is None or check(text)
