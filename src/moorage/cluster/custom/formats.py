"""Which texts and numbers have the form that a schema's `format` asks for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from email.utils import parseaddr
from ipaddress import IPv6Address

_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}

_HEX = "0-9a-fA-F"
_UUID = "[{0}]{{8}}-?[{0}]{{4}}-?{1}-?{2}-?[{0}]{{12}}"
_RFC_VARIANT = f"[89abAB][{_HEX}]{{3}}"
_ANY_FOUR = f"[{_HEX}]{{4}}"
_COLOR_PART = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_SHORT_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_CREDIT_CARD = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})",
    re.ASCII,
)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_GO_DURATION = re.compile(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)", re.ASCII)
_LOOSE_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_UNITS = (
    ("ns", "nano"), ("us", "µs", "micro"), ("ms", "milli"), ("s", "sec"), ("m", "min"), ("h", "hr", "hour"),
    ("d", "day"), ("w", "wk", "week"),
)  # fmt: skip
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_BAD_ESCAPE = re.compile(rf"%(?![{_HEX}]{{2}})")
_HOST = re.compile(r"[^\s<>\"\\^`{}|\[\]@]*", re.ASCII)
_ATOM = r"[^\s()<>\[\]:;@\\,.\"]+"
_ADDRESS = re.compile(rf'({_ATOM}(\.{_ATOM})*|"(?:[^"\\]|\\.)*")@({_ATOM}(\.{_ATOM})*|\[[^\]]*\])')


def _matching(form: str) -> Callable[[str], bool]:
    matches = re.compile(form, re.ASCII).fullmatch
    return lambda text: matches(text) is not None


def is_uri(text: str) -> bool:
    """An address with a scheme, or an absolute path."""
    if not text or any(letter < " " or letter == "\x7f" for letter in text):
        return False
    scheme, colon, rest = text.partition(":")
    if text.startswith("/"):
        rest = text
    elif not colon or not _SCHEME.fullmatch(scheme):
        return False
    elif not rest.startswith("/"):
        return True
    path = rest.partition("?")[0]
    if path.startswith("//") and not text.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        path = slash + path
        if not _is_authority(authority):
            return False
    return not _BAD_ESCAPE.search(path)


def _is_authority(authority: str) -> bool:
    host = authority.rpartition("@")[2]
    if host.startswith("["):
        end = host.find("]")
        return end > 0 and _is_port(host[end + 1 :])
    name, colon, port = host.partition(":")
    return _HOST.fullmatch(name) is not None and not _BAD_ESCAPE.search(name) and _is_port(colon + port)


def _is_port(text: str) -> bool:
    return not text or (text.startswith(":") and (text == ":" or (text[1:].isascii() and text[1:].isdigit())))


def _is_email(text: str) -> bool:
    name, address = parseaddr(text)
    bare = text.strip() == address
    bracketed = text.rstrip().endswith(f"<{address}>") and bool(address)
    return (bare or (bracketed and name is not None)) and _ADDRESS.fullmatch(address) is not None


def _is_word(letter: str) -> bool:
    return (letter.isascii() and letter.isalnum()) or unicodedata.category(letter)[0] in "LS"


def _is_letter(letter: str) -> bool:
    return (letter.isascii() and letter.isalpha()) or unicodedata.category(letter)[0] == "L"


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if len(text.encode(errors="replace")) > 255 or any(
        len(label.encode(errors="replace")) > 63 for label in labels
    ):
        return False
    if not all(label and _is_word(label[0]) for label in labels):
        return False
    if len(labels) == 1:
        return all(map(_is_word, text[1:2].removeprefix("-") + text[2:])) and not text.endswith("-")
    *names, top = labels
    return (
        len(top) >= 2
        and all(map(_is_letter, top))
        and all(_is_word(name[-1]) and all(each == "-" or _is_word(each) for each in name) for name in names)
    )


def _is_ipv4_sloppy(text: str) -> bool:
    """Leading zeros are fine, as they were in Go for a long time."""
    parts = text.split(".")
    return len(parts) == 4 and all(
        part.isascii() and part.isdigit() and len(part.lstrip("0")) <= 3 and int(part) <= 255
        for part in parts
    )


def _is_ipv6(text: str) -> bool:
    try:
        return "%" not in text and bool(IPv6Address(text))
    except ValueError:
        return False


def _is_ipv4(text: str) -> bool:
    return _is_ipv4_sloppy(text) or ("." in text and _is_ipv6(text))


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdigit()) or len(length) > 3:
        return False
    return (_is_ipv4_sloppy(address) and int(length) <= 32) or (_is_ipv6(address) and int(length) <= 128)


def _is_mac(text: str) -> bool:
    for separator, digits, lengths in ((":", 2, (6, 8, 20)), ("-", 2, (6, 8, 20)), (".", 4, (3, 4, 10))):
        parts = text.split(separator)
        if len(parts) in lengths:
            return all(re.fullmatch(rf"[{_HEX}]{{{digits}}}", part) for part in parts)
    return False


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text, flags=re.ASCII)
    if not re.fullmatch("[0-9]{9}X|[0-9]{10}", digits):
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
    if not _CREDIT_CARD.fullmatch(digits):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if not found:
        return False
    year, month, day = map(int, found.groups())
    try:
        date(year or 2000, month, day)  # the year 0 is a leap year, and Python has none
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    found = _TIME.fullmatch(rest.partition("t")[0])
    if not found or not _is_date(day):
        return False
    hour, minute, second = found.group(1, 2, 3)
    return hour <= "23" and minute <= "59" and second <= "59"


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    return any(_is_unit(unit.lower()) for _, unit in _LOOSE_DURATION.findall(text))


def _is_unit(unit: str) -> bool:
    return any(unit in names or unit.startswith(names[-1]) for names in _UNITS)


def _sized(form: str, limit: int) -> Callable[[str], bool]:
    matches = _matching(form)
    return lambda text: len(text) <= limit and matches(text)


def _always(text: str) -> bool:
    return True


_TEXT_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching(f"[{_HEX}]{{24}}"),
    "uri": is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _matching(_UUID.format(_HEX, _ANY_FOUR, _ANY_FOUR)),
    "uuid3": _matching(_UUID.format(_HEX, f"3[{_HEX}]{{3}}", _ANY_FOUR)),
    "uuid4": _matching(_UUID.format(_HEX, f"4[{_HEX}]{{3}}", _RFC_VARIANT)),
    "uuid5": _matching(_UUID.format(_HEX, f"5[{_HEX}]{{3}}", _RFC_VARIANT)),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: len(text) == 11 and bool(re.fullmatch(r"\d{3}[- ]?\d{2}[- ]?\d{4}", text, re.ASCII)),
    "hexcolor": _matching(f"#?([{_HEX}]{{3}}|[{_HEX}]{{6}})"),
    "rgbcolor": _matching(rf"rgb\({_COLOR_PART},{_COLOR_PART},{_COLOR_PART}\)"),
    "byte": _matching("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": _always,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": _sized(_SHORT_NAME, 63),
    "k8slongname": _sized(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*", 253),
}


def is_known(kind: str, name: str) -> bool:
    """Whether a format means anything for values of this type; others are ignored."""
    if kind in ("", "string"):
        return name.replace("-", "") in _TEXT_FORMATS
    return name in _NUMBER_FORMATS.get(kind, ())


def has_format(text: str, name: str) -> bool:
    check = _TEXT_FORMATS.get(name.replace("-", ""))
    return check is None or check(text)
