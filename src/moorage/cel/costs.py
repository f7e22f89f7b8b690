"""Arithmetic of costs and sizes: what calls cost by their arguments, known or estimated."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from moorage.cel.declarations import Range
from moorage.cel.values import MAX_UINT, Optional

STRING_TRAVERSAL = 0.1
"""Of reading a string once, per code point."""
REGEX_LENGTH = 0.25
"""Of a regular expression, per code point of it, for a string of cost 1."""
SELECT = 1
CREATE_LIST, CREATE_MAP, CREATE_STRUCT = 10, 30, 40


def actual_size(value: Any) -> int:
    """Of a value as costs count it: what has no size counts as 1, whatever it is (a failed argument too)."""
    kind = value.__class__
    if kind is str or kind is tuple or kind is dict or kind is list or kind is bytes:
        return len(value)
    if kind is int or kind is bool or kind is float:
        return 1
    return len(value) if hasattr(value, "__len__") else 1


def wrapped_size(value: Any) -> int:
    """As `actual_size`, but an optional value counts as what is in it."""
    while isinstance(value, Optional) and value.has_value:
        value = value.value
    return actual_size(value)


def traversal_cost(value: Any) -> int:
    """Of visiting everything in a value."""
    if isinstance(value, str):
        return int(
            (len(value) if value.isascii() else len(value.encode(errors="surrogateescape")))
            * STRING_TRAVERSAL
        )
    if isinstance(value, bytes):
        return int(len(value) * STRING_TRAVERSAL)
    if isinstance(value, (tuple, list)):
        return sum(map(traversal_cost, value))
    if isinstance(value, Mapping):
        return sum(traversal_cost(key) + traversal_cost(entry) for key, entry in value.items())
    return 1


def string_cost(size: int) -> int:
    """Of reading a string of this many code points."""
    return ceil(size * STRING_TRAVERSAL)


def regex_cost(string_size: int, pattern_size: int) -> int:
    """Of matching; an empty string costs something too, since the pattern does."""
    return ceil((1.0 + string_size) * STRING_TRAVERSAL) * ceil(pattern_size * REGEX_LENGTH)


def fixed(number: int) -> Range:
    return Range(number, number)


def add(left: Range, right: Range) -> Range:
    return Range(min(left.min + right.min, MAX_UINT), min(left.max + right.max, MAX_UINT))


def multiply(left: Range, right: Range) -> Range:
    return Range(min(left.min * right.min, MAX_UINT), min(left.max * right.max, MAX_UINT))


def scale(size: Range, factor: float) -> Range:
    return Range(_scaled(size.min, factor), _scaled(size.max, factor))


def union(left: Range, right: Range) -> Range:
    return Range(min(left.min, right.min), max(left.max, right.max))


def _scaled(number: int, factor: float) -> int:
    exact = float(number)
    if exact > 0 and factor > 0 and exact > float(MAX_UINT) / factor:
        return MAX_UINT
    product = exact * factor
    return MAX_UINT if product >= 2.0**64 else ceil(product)
