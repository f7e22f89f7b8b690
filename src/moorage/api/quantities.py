"""Resource quantities, exact to the nano.

A quantity is a Python int that counts nanos. Only :func:`value` and :func:`milli` round, and both round up.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from moorage.api.meta import Quantity

NANOS = 10**9
NANOS_PER_MILLI = 10**6
MAX_INT64 = 2**63 - 1

_FORM = re.compile(r"([+-]?)([0-9]*)(?:(\.)([0-9]*))?(|[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MAX_EXPONENT = 400
_MAX_DIGITS = 1000


class QuantityError(ValueError):
    """A text that is not a quantity."""


@lru_cache(maxsize=65536, typed=True)  # untyped, True would find the entry of 1.0
def parse(quantity: Quantity) -> int:
    """The number of nanos in `quantity`, rounded away from zero to a whole nano.

    >>> parse("100m")
    100000000
    """
    sign, whole, fraction, base, exponent = parts(quantity)
    digits = int(whole + fraction or "0")
    if base == 2:
        nanos = _divide_up((digits << exponent) * NANOS, 10 ** len(fraction))
        nanos = min(nanos, MAX_INT64 * NANOS)
    else:
        shift = exponent + 9 - len(fraction)
        nanos = digits * 10**shift if shift >= 0 else _divide_up(digits, 10**-shift)
    return -nanos if sign == "-" else nanos


class Parts(NamedTuple):
    """A quantity as it is written: sign, digits before and after the point, and the suffix as a power."""

    sign: str
    whole: str
    fraction: str
    base: int
    exponent: int


def parts(quantity: Quantity) -> Parts:
    text = quantity.strip() if isinstance(quantity, str) else _number_text(quantity)
    form = _FORM.fullmatch(text)
    if form is None or not text:
        raise QuantityError(
            f"{_shown(text)} is not a quantity: use a number with one of the suffixes "
            "n u m k M G T P E, Ki Mi Gi Ti Pi Ei or an exponent such as e3"
        )
    sign, whole, _, fraction, suffix = form.groups()
    fraction = fraction or ""
    if len(whole) + len(fraction) > _MAX_DIGITS:
        raise QuantityError(f"{_shown(text)} is not a quantity: it has more than {_MAX_DIGITS} digits")
    if suffix in _BINARY:
        return Parts(sign, whole, fraction, 2, _BINARY[suffix])
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(f"{_shown(text)} is not a quantity: its exponent is out of range")
    return Parts(sign, whole, fraction, 10, exponent)


def value(nanos: int) -> int:
    """Whole units, rounded up; however many there are."""
    return -(-nanos // NANOS)


def milli(nanos: int) -> int:
    """Thousandths, rounded up; however many there are."""
    return -(-nanos // NANOS_PER_MILLI)


def parse_quantity(quantity: Quantity) -> Fraction:
    """The exact value of a quantity: a text with a suffix such as `1500m` or `1Gi`, or a number.

        parse_quantity("1500m") == Fraction(3, 2)
        parse_quantity("1Gi") == 1024**3

    For whole units or thousandths, rounded up as a scheduler rounds them, use `quantity_value` and
    `quantity_milli_value`; for several resources at once `parse_resources`. Raises QuantityError, a
    ValueError, for anything else.
    """
    return Fraction(_nanos(quantity), NANOS)


def quantity_value(quantity: Quantity) -> int:
    """A quantity in whole units, rounded up, as Go's `Quantity.Value()`: bytes of memory, for example.

    quantity_value("1.5Gi") == 1610612736
    """
    return value(_nanos(quantity))


def quantity_milli_value(quantity: Quantity) -> int:
    """A quantity in thousandths, rounded up, as Go's `Quantity.MilliValue()`: millicores, for example.

    quantity_milli_value("1.5") == 1500
    """
    return milli(_nanos(quantity))


def _nanos(quantity: Quantity) -> int:
    """What authors give may be of any type; only texts and numbers have a place in the cache."""
    if not isinstance(quantity, str | int | float):
        raise QuantityError(
            f"{_shown(repr(quantity))} is not a quantity: use a number or a text such as 500m"
        )
    return parse(quantity)


def wrapped(number: int) -> int:
    """What 64-bit arithmetic makes of a number: beyond either end of the range it goes on at the other."""
    return (number + 2**63) % 2**64 - 2**63


def _divide_up(amount: int, by: int) -> int:
    return -(-amount // by)


def _number_text(number: int | float) -> str:
    if isinstance(number, bool):
        raise QuantityError(f"{number} is not a quantity: use a number or a text such as 500m")
    return repr(number)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
