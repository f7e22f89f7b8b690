"""Quantities as the 64-bit numbers that kube-scheduler computes with, overflow included.

An amount that fits 64 bits is what :mod:`moorage.api.quantities` says. One that does not comes out as in
kube-scheduler, which depends on how it holds the amount: as a 64-bit number times a power of ten, which loses
its high bits or becomes 0, or as a decimal of any size, which loses its high bits.
"""

from __future__ import annotations

from functools import lru_cache

from moorage.api import quantities
from moorage.api.meta import Quantity
from moorage.api.quantities import MAX_INT64, wrapped

WHOLE = 0
MILLI = -3
_NANO = -9

_MOST_DIGITS = 18
"""Decimal numbers with more digits are not held as 64-bit numbers, even where they would fit."""
_MOST_BINARY_DIGITS = 14
_WRAPPING_SHIFTS = (1, 2, 3, 6, 9)
"""Multiplying by these powers of ten loses high bits; by any other, too large a product becomes 0."""


def _power(exponent: int) -> int:
    """Of ten."""
    power: int = 10**exponent
    return power


class HeldQuantity(int):
    """A quantity in nanos that knows how kube-scheduler holds it. Sums of such know it too."""

    number: int
    exponent: int
    is_decimal: bool

    def __new__(cls, number: int, exponent: int, is_decimal: bool) -> HeldQuantity:
        held = super().__new__(cls, number * _power(exponent - _NANO))
        held.number = number
        held.exponent = exponent
        held.is_decimal = is_decimal
        return held

    def __add__(self, other: int) -> HeldQuantity:
        if not isinstance(other, HeldQuantity):
            return NotImplemented
        if not self.is_decimal and not other.is_decimal and not (self.number and other.number):
            return self if self.number else other
        exponent = min(self.exponent, other.exponent)
        first = self.number * _power(self.exponent - exponent)
        second = other.number * _power(other.exponent - exponent)
        too_large = max(abs(first), abs(second), abs(first + second)) > MAX_INT64
        return HeldQuantity(first + second, exponent, self.is_decimal or other.is_decimal or too_large)

    def compared_with(self, other: int) -> HeldQuantity:
        """The same amount after a comparison, which makes it a decimal where the other is one."""
        if self.is_decimal or not isinstance(other, HeldQuantity) or not other.is_decimal:
            return self
        return HeldQuantity(self.number, self.exponent, is_decimal=True)

    def in_units(self, exponent: int) -> int:
        """The amount in units of a power of ten, in 64 bits."""
        return self._of_decimal(exponent) if self.is_decimal else self._of_number(exponent)

    def _of_number(self, exponent: int) -> int:
        shift = self.exponent - exponent
        if shift < 0:
            away_from_zero = -(-abs(self.number) // _power(-shift))
            return away_from_zero if self.number > 0 else -away_from_zero
        product = self.number * _power(shift)
        if abs(product) <= MAX_INT64:
            return product
        return wrapped(product) if shift in _WRAPPING_SHIFTS else 0

    def _of_decimal(self, exponent: int) -> int:
        shift = self.exponent - exponent
        if shift >= 0:
            factor = _power(shift)
            return wrapped(self.number * (factor if factor <= MAX_INT64 else -(2**63)))
        divisor = _power(-shift)
        if self.number < 0 and divisor <= MAX_INT64:
            # Truncated toward zero, and then one is added where something was cut off.
            number = wrapped(self.number)
            whole = abs(number) // divisor
            return (whole if number > 0 else -whole) + (number % divisor != 0)
        return wrapped(-(-self.number // divisor))


@lru_cache(maxsize=4096, typed=True)
def parse(quantity: Quantity) -> HeldQuantity:
    """A quantity with the way it is held; raises QuantityError."""
    sign, whole, fraction, base, exponent = quantities.parts(quantity)
    digits = (whole.lstrip("0") or "0") + fraction
    number = int(digits) * (-1 if sign == "-" else 1)
    if base == 10 and len(digits) <= _MOST_DIGITS and exponent - len(fraction) >= _NANO:
        return HeldQuantity(number, exponent - len(fraction), is_decimal=False)
    if base == 2 and not fraction and len(digits) + exponent * 3 // 10 <= _MOST_BINARY_DIGITS:
        return HeldQuantity(number << exponent, WHOLE, is_decimal=False)
    nanos = quantities.parse(quantity)
    if base == 2 and abs(nanos) == MAX_INT64 * quantities.NANOS:
        return HeldQuantity(nanos // quantities.NANOS, WHOLE, is_decimal=True)
    return HeldQuantity(nanos, _NANO, is_decimal=True)


def whole(quantity: Quantity) -> int:
    """Whole units of one quantity, rounded up, in 64 bits; raises QuantityError."""
    nanos = quantities.parse(quantity)
    if 0 <= nanos <= MAX_INT64 * quantities.NANOS:
        return quantities.value(nanos)
    return parse(quantity).in_units(WHOLE)
