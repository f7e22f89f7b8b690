"""Quantities in the one form in which Kubernetes writes them."""

from __future__ import annotations

import re
from functools import lru_cache

from moorage.api import quantities
from moorage.api.meta import Quantity

_DECIMAL_SUFFIX = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_BINARY_SUFFIX = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+\Z", re.ASCII)

_DECIMAL_DIGITS = 18  # with more digits a quantity is not kept as it was written
_BINARY_DIGITS = 15


@lru_cache(maxsize=65536, typed=True)
def canonical_text(quantity: Quantity) -> str:
    """The canonical text of a quantity; raises QuantityError.

    >>> canonical_text("0.5"), canonical_text("1024Mi"), canonical_text(2)
    ('500m', '1Gi', '2')
    """
    nanos = quantities.parse(quantity)
    if not nanos:
        return "0"
    text = quantity.strip() if isinstance(quantity, str) else repr(quantity)
    _, whole, fraction, base, exponent = quantities.parts(quantity)
    whole = whole.lstrip("0")
    if base == 2:
        return text if _stays_binary(whole, fraction, exponent) else binary_text(nanos)
    if _stays_decimal(whole, fraction, exponent):
        return text
    return _exponential(nanos) if _EXPONENT.search(text) else decimal_text(nanos)


def binary_text(nanos: int) -> str:
    """An amount with a suffix that is a power of 1024, if it is a whole number and large enough for one."""
    number, rest = divmod(nanos, quantities.NANOS)
    if rest or abs(number) < 1024:
        return decimal_text(nanos)
    steps = 0
    while number % 1024 == 0 and steps < len(_BINARY_SUFFIX) - 1:
        number //= 1024
        steps += 1
    return f"{number}{_BINARY_SUFFIX[steps]}"


def decimal_text(nanos: int) -> str:
    """An amount with a suffix that is a power of 1000."""
    number, exponent = _thousands(nanos, max(_DECIMAL_SUFFIX))
    return f"{number}{_DECIMAL_SUFFIX[exponent]}"


def _exponential(nanos: int) -> str:
    number, exponent = _thousands(nanos, nanos.bit_length())
    return f"{number}e{exponent}" if exponent else str(number)


def _thousands(nanos: int, limit: int) -> tuple[int, int]:
    """The whole number and the exponent of ten, a multiple of three, that make up the amount."""
    exponent = -9
    while exponent < limit and nanos % 1000 == 0:
        nanos //= 1000
        exponent += 3
    return nanos, exponent


def _stays_decimal(whole: str, fraction: str, exponent: int) -> bool:
    digits = (whole or "0") + fraction
    scale = exponent - len(fraction)
    well_formed = not digits.endswith("000") and digits[0] != "0"
    return len(digits) <= _DECIMAL_DIGITS and scale >= -9 and scale % 3 == 0 and well_formed


def _stays_binary(whole: str, fraction: str, exponent: int) -> bool:
    room = _BINARY_DIGITS - len(whole) - 3 * exponent // 10 - 1
    return not fraction and room >= 0 and int(whole or "0") % 8 != 0
