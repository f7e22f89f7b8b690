"""Quantities as expressions reckon with them: exact, and with a memory of how they were stored.

A quantity is stored as 64 bits and a power of ten as long as it fits, and as a number of any length else.
Both are exact, but only the first kind can become an integer: `quantity("100Ti").isInteger()` is false.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar

from moorage.api import int64_quantities
from moorage.api.quantities import QuantityError, parts, wrapped
from moorage.cel.types import Type
from moorage.cel.values import MAX_INT, MIN_INT, EvaluationError

QUANTITY_TYPE = Type("kubernetes.Quantity")

_MOST_DIGITS = 18
_FORM = re.compile(r"[+-]?[0-9]*(?:\.[0-9]*)?[eEinumkKMGTP]*[-+]?[0-9]*")
_FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX_WRONG = "unable to parse quantity's suffix"
_NUMBER_WRONG = "unable to parse numeric part of quantity"


class Quantity:
    """`number` times ten to the power of `scale`."""

    __slots__ = ("is_computed", "is_short", "number", "scale")

    CEL_TYPE: ClassVar[Type] = QUANTITY_TYPE

    def __init__(self, number: int, scale: int, is_short: bool, is_computed: bool = False) -> None:
        self.number = number
        self.scale = scale
        self.is_short = is_short
        """Whether it is stored as 64 bits and a power of ten."""
        self.is_computed = is_computed
        """Whether it is the result of a sum or a difference."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and compare(self, other) == 0

    def __hash__(self) -> int:
        number, scale = self.number, self.scale
        while number and number % 10 == 0:
            number, scale = number // 10, scale + 1
        return hash((number, scale)) if number else 0

    def __repr__(self) -> str:
        return f"Quantity({self.number}e{self.scale})"

    def equals(self, other: object) -> bool:
        """What `==` says with this on its left: it takes neither other values nor a sum on its right."""
        if not isinstance(other, Quantity) or other.is_computed:
            raise EvaluationError("no such overload")
        return compare(self, other) == 0

    def integer(self) -> int | None:
        """None: it is none, or not stored in a way that would tell."""
        if not self.is_short or self.scale < 0:
            return None
        if not self.number:
            return 0
        if self.scale > _MOST_DIGITS:
            return None
        return _in_64_bits(self.number * 10**self.scale)

    def approximation(self) -> float:
        try:
            number = float(self.number)
        except OverflowError:
            number = float("inf") if self.number > 0 else float("-inf")
        return number * _power_of_ten(self.scale) if self.scale else number


@lru_cache(maxsize=4096)
def parse(text: str) -> Quantity:
    try:
        if text != text.strip():
            raise QuantityError
        held = int64_quantities.parse(text)
    except QuantityError:
        raise EvaluationError(_SUFFIX_WRONG if text and _FORM.fullmatch(text) else _FORMAT_WRONG) from None
    if held.is_decimal and not held.number:
        return _long_zero(text)
    return Quantity(held.number, held.exponent, is_short=not held.is_decimal)


def _long_zero(text: str) -> Quantity:
    """Nothing is rounded where there is nothing, so that it keeps its decimals, which sums will have then."""
    _, whole, fraction, base, exponent = parts(text)
    if not whole + fraction:
        raise EvaluationError(_NUMBER_WRONG)
    return Quantity(0, (exponent if base == 10 else 0) - len(fraction), is_short=False)


def compare(left: Quantity, right: Quantity) -> int:
    """-1, 0 or 1; powers of ten are not written out where the lengths of the numbers tell."""
    if (left.number > 0) != (right.number > 0) or not (left.number and right.number):
        return (left.number > right.number) - (left.number < right.number)
    sign = 1 if left.number > 0 else -1
    if left.scale != right.scale:
        longer = _magnitude(left) - _magnitude(right)
        if longer:
            return sign if longer > 0 else -sign
    one, other = _at_same_scale(left, right)
    return (one > other) - (one < other)


def add(left: Quantity, right: Quantity) -> Quantity:
    return _sum(left, right.number, right)


def add_int(left: Quantity, right: int) -> Quantity:
    return add(left, Quantity(right, 0, is_short=True))


def subtract(left: Quantity, right: Quantity) -> Quantity:
    """The negative of the lowest number of 64 bits is that number again, where the result has 64 bits too."""
    if left.is_short and right.is_short:
        short = _sum(left, wrapped(-right.number), right)
        if short.is_short:
            return short
    return _sum(left, -right.number, right)


def subtract_int(left: Quantity, right: int) -> Quantity:
    return subtract(left, Quantity(right, 0, is_short=True))


def _sum(left: Quantity, number: int, right: Quantity) -> Quantity:
    if left.is_short and right.is_short:
        if not number:
            return Quantity(left.number, left.scale, is_short=True, is_computed=True)
        if not left.number:
            return Quantity(number, right.scale, is_short=True, is_computed=True)
    scale = min(left.scale, right.scale)
    one = left.number * 10 ** (left.scale - scale)
    other = number * 10 ** (right.scale - scale)
    is_short = left.is_short and right.is_short and all(map(_fits, (one, other, one + other)))
    return Quantity(one + other, scale, is_short, is_computed=True)


def _at_same_scale(left: Quantity, right: Quantity) -> tuple[int, int]:
    scale = min(left.scale, right.scale)
    return left.number * 10 ** (left.scale - scale), right.number * 10 ** (right.scale - scale)


def _magnitude(quantity: Quantity) -> int:
    """Of how many digits the number has before its point, below zero if it begins with zeros after it."""
    return len(str(abs(quantity.number))) + quantity.scale


def _in_64_bits(number: int) -> int | None:
    return number if _fits(number) else None


def _fits(number: int) -> bool:
    return MIN_INT <= number <= MAX_INT


def _power_of_ten(exponent: int) -> float:
    """As a product of two powers that are in tables, which for large ones is not the nearest number."""
    if exponent < -323:
        return 0.0
    if exponent > 308:
        return float("inf")
    far, near = divmod(abs(exponent), 32)
    if exponent < 0:
        return float(f"1e-{far * 32}") / float(f"1e{near}")
    return float(f"1e{far * 32}") * float(f"1e{near}")
