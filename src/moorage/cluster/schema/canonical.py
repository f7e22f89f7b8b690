"""Quantities and binary data in the one form in which an API server writes them."""

from __future__ import annotations

import base64
import re
import string
from functools import lru_cache
from itertools import takewhile

from moorage.api import quantities

_PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
_WRONG_FORM = f"quantities must match the regular expression '{_PATTERN}'"
_WRONG_SUFFIX = "unable to parse quantity's suffix"
_PARTS = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

_DECIMAL_DIGITS = 18  # with more digits a quantity is not kept as it was written
_BINARY_DIGITS = 15
_LONGEST = 2000


class Malformed(ValueError):
    """A text that cannot be read; the message is the API's."""


@lru_cache(maxsize=65536, typed=True)
def quantity(value: str | int | float) -> str:
    """The canonical text of a quantity.

    >>> quantity("0.5"), quantity("1024Mi"), quantity(2)
    ('500m', '1Gi', '2')
    """
    if isinstance(value, bool):
        raise Malformed(_WRONG_FORM)
    text = value.strip() if isinstance(value, str) else _number_text(value)
    parts = _PARTS.fullmatch(text)
    if not text or parts is None:
        raise Malformed(_WRONG_FORM)
    _, whole, fraction, suffix = parts.groups()
    try:
        nanos = quantities.parse(text)
    except quantities.QuantityError:
        raise Malformed(_WRONG_SUFFIX) from None
    if suffix in _BINARY and suffix:
        return text if _stays_binary(whole, fraction, suffix) else _binary(nanos)
    if suffix in _DECIMAL:
        return text if _stays_decimal(whole, fraction, _DECIMAL[suffix]) else _decimal(nanos)
    return text if _stays_decimal(whole, fraction, int(suffix[1:])) else _exponential(nanos)


def _number_text(number: int | float) -> str:
    if isinstance(number, int) and number.bit_length() > _LONGEST:
        raise Malformed(_WRONG_FORM)
    return repr(number)


def _stays_decimal(whole: str, fraction: str | None, exponent: int) -> bool:
    digits = (whole or "0") + (fraction or "")
    scale = exponent - len(fraction or "")
    well_formed = not digits.endswith("000") and digits[0] != "0"
    return len(digits) <= _DECIMAL_DIGITS and scale >= -9 and scale % 3 == 0 and well_formed


def _stays_binary(whole: str, fraction: str | None, suffix: str) -> bool:
    room = _BINARY_DIGITS - len(whole) - 3 * _BINARY.index(suffix) - 1
    return not fraction and room >= 0 and int(whole or "0") % 8 != 0


def _thousands(nanos: int, limit: int) -> tuple[int, int]:
    """The whole number and the exponent of ten, a multiple of three, that make up the amount."""
    exponent = -9
    while exponent < limit and nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return nanos, exponent


def _decimal(nanos: int) -> str:
    if not nanos:
        return "0"
    number, exponent = _thousands(nanos, max(_DECIMAL_SUFFIX))
    return f"{number}{_DECIMAL_SUFFIX[exponent]}"


def _exponential(nanos: int) -> str:
    if not nanos:
        return "0"
    number, exponent = _thousands(nanos, nanos.bit_length())
    return f"{number}e{exponent}" if exponent else str(number)


def _binary(nanos: int) -> str:
    number, rest = divmod(nanos, quantities.NANOS)
    if rest or abs(number) < 1024:
        return _decimal(nanos)
    steps = 0
    while number % 1024 == 0 and steps < len(_BINARY) - 1:
        number //= 1024
        steps += 1
    return f"{number}{_BINARY[steps]}"


_ALPHABET = f"{string.ascii_letters}{string.digits}+/".encode()
_PADDING = ord("=")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", re.ASCII)


def binary_data(text: str) -> str:
    """Base64 without line breaks, and with zeros where the last character has bits to spare."""
    bare = text.replace("\n", "").replace("\r", "")
    good = _BASE64.match(bare)
    if good is None or good.end() < len(bare):
        raise Malformed(f"illegal base64 data at input byte {_bad_byte(text)}")
    return base64.b64encode(base64.b64decode(bare)).decode() if bare.endswith("=") else bare


def _bad_byte(text: str) -> int:
    """Where decoding stops: at a character that does not belong, or at the start of what is cut short."""
    data = text.encode(errors="replace")
    places = [place for place, byte in enumerate(data) if byte not in b"\r\n"]
    good = sum(1 for _ in takewhile(lambda place: data[place] in _ALPHABET, places))
    held = good % 4
    if good == len(places):
        return len(data) - held
    index, *rest = places[good:]
    if data[index] != _PADDING or held < 2:
        return index
    if held == 2:
        if not rest:
            return len(data)
        if data[rest[0]] != _PADDING:
            return rest[0] - 1
        rest = rest[1:]
    return rest[0] if rest else index
