"""The rules for numbers, with the limits that integers and floats have in the original."""

from __future__ import annotations

import math

from moorage.cluster.custom.problems import Problems
from moorage.cluster.custom.wording import as_float, is_integer, number
from moorage.cluster.schema.model import Schema

NUMBERS = ("integer", "number")
_LARGEST_FLOAT32 = 3.4028235677973366e38


def is_whole(value: float) -> bool:
    """Whether a number counts as an integer, give or take the last digit."""
    if not abs(value) < 2**53:
        return False
    truncated = float(int(value))
    if value == truncated:
        return True
    if not truncated:
        return False
    return abs(value - truncated) / (abs(value) + abs(truncated)) < 1e-9


def check_number(schema: Schema, value: int | float, path: str, problems: Problems) -> None:
    kind = schema.type if schema.type in NUMBERS else ""
    form = schema.format if kind else ""

    def in_range(given: int | float, what: str) -> bool:
        if _fits(given, kind, form):
            return True
        how = f"with format {form}" if form else "(default format)"
        problems.general(f"{what} value must be of type {kind} {how} in {path}")
        return False

    in_range(value, "Checked")
    rules = schema.rules
    if not rules:
        return
    for name, check in (("multipleOf", _multiple), ("minimum", _minimum), ("maximum", _maximum)):
        bound = rules.get(name)
        if bound is None:
            continue
        what = "MultipleOf" if name == "multipleOf" else f"{name.capitalize()} boundary"
        exclusive = rules.get(f"exclusive{name.capitalize()}") is True
        if in_range(bound, what) and is_integer(value):
            check(problems, path, value, _truncated(bound), exclusive)
        else:
            check(problems, path, as_float(value), as_float(bound), exclusive)


def _fits(value: int | float, kind: str, form: str) -> bool:
    if kind == "integer":
        if not is_integer(value):
            floating = as_float(value)
            if not floating.is_integer() or not -(2.0**63) <= floating < 2.0**63 or abs(floating) >= 1e21:
                return False
        return form != "int32" or -(2**31) <= value < 2**31
    return form != "float" or abs(as_float(value)) < _LARGEST_FLOAT32


def _truncated(bound: int | float) -> int:
    """A bound as an integer of 64 bits; those that are too large all become the least one, as in Go."""
    floating = as_float(bound)
    if not -(2.0**63) <= floating < 2.0**63:
        return -(2**63)
    return int(bound)


def _multiple(problems: Problems, path: str, value: int | float, factor: int | float, _: bool) -> None:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
        problems.invalid(path, factor, text)
        return
    if isinstance(value, int):
        fits = value % int(factor) == 0
    else:
        quotient = 1 / factor * value if factor < 1 else value / factor
        fits = math.isfinite(quotient) and is_whole(quotient)
    if not fits:
        problems.invalid(path, value, f"{path} in body should be a multiple of {number(factor)}")


def _minimum(problems: Problems, path: str, value: int | float, bound: int | float, exclusive: bool) -> None:
    if value < bound or (exclusive and value == bound):
        how = "" if exclusive else " or equal to"
        problems.invalid(path, value, f"{path} in body should be greater than{how} {number(bound)}")


def _maximum(problems: Problems, path: str, value: int | float, bound: int | float, exclusive: bool) -> None:
    if value > bound or (exclusive and value == bound):
        how = "" if exclusive else " or equal to"
        problems.invalid(path, value, f"{path} in body should be less than{how} {number(bound)}")
