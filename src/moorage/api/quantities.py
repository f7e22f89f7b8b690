"""Resource quantities, exact to the nano.

A quantity is a Python int that counts nanos. Only :func:`value` and :func:`milli` round, and both round up.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
    digits = int(whole + fraction or "0")
    if suffix in _BINARY:
        nanos = _divide_up((digits << _BINARY[suffix]) * NANOS, 10 ** len(fraction))
        nanos = min(nanos, MAX_INT64 * NANOS)
    else:
        exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        if abs(exponent) > _MAX_EXPONENT:
            raise QuantityError(f"{_shown(text)} is not a quantity: its exponent is out of range")
        shift = exponent + 9 - len(fraction)
        nanos = digits * 10**shift if shift >= 0 else _divide_up(digits, 10**-shift)
    return -nanos if sign == "-" else nanos


def value(nanos: int) -> int:
    """Whole units, rounded up."""
    return -(-nanos // NANOS)


def milli(nanos: int) -> int:
    """Thousandths, rounded up."""
    return -(-nanos // NANOS_PER_MILLI)


def _divide_up(amount: int, by: int) -> int:
    return -(-amount // by)


def _number_text(number: int | float) -> str:
    if isinstance(number, bool):
        raise QuantityError(f"{number} is not a quantity: use a number or a text such as 500m")
    return repr(number)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
