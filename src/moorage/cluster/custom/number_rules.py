"""The rules for numbers, with the limits that integers and floats have in the original."""

from __future__ import annotations

import math

from moorage.cluster.base.errors import invalid_value
from moorage.cluster.base.go_text import as_float, is_integer, number
from moorage.cluster.custom.problems import Problems
from moorage.cluster.schema.model import INTEGER, NUMBER, Schema

NUMBERS = (INTEGER, NUMBER)
_LARGEST_FLOAT32 = 3.4028235677973366e38
_LIMIT = 2.0**63  # of integers
_LIMITS = (("multipleOf", "MultipleOf"), ("minimum", "Minimum boundary"), ("maximum", "Maximum boundary"))


def is_whole(value: float) -> bool:
    """Whether a number counts as an integer, give or take the last digit."""
    if not abs(value) < 2**53:
        return False
    truncated = float(int(value))
    if value == truncated:
        return True
    return bool(truncated) and abs(value - truncated) / (abs(value) + abs(truncated)) < 1e-9


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
    for name, what in _LIMITS if schema.rules else ():
        limit = schema.rules.get(name)
        if limit is None:
            continue
        whole = in_range(limit, what) and is_integer(value)
        left, right = (value, _truncated(limit)) if whole else (as_float(value), as_float(limit))
        if name == "multipleOf":
            _check_multiple(left, right, path, problems)
        else:
            exclusive = schema.rules.get(f"exclusive{name.capitalize()}") is True
            if problem := _bound_problem(name, left, right, exclusive):
                problems.invalid(path, left, problem)


def _fits(value: int | float, kind: str, form: str) -> bool:
    if kind == INTEGER:
        if not is_integer(value):
            floating = as_float(value)
            if not floating.is_integer() or not -_LIMIT <= floating < _LIMIT:
                return False
        return form != "int32" or -(2**31) <= value < 2**31
    return form != "float" or abs(as_float(value)) < _LARGEST_FLOAT32


def _truncated(limit: int | float) -> int:
    """A limit as an integer of 64 bits; those that are too large all become the least one, as in Go."""
    return int(limit) if -_LIMIT <= as_float(limit) < _LIMIT else -(2**63)


def _check_multiple(value: int | float, factor: int | float, path: str, problems: Problems) -> None:
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number(factor)}"
        problems.add(path, invalid_value("", factor, text))
        return
    if isinstance(value, int):
        fits = value % int(factor) == 0
    else:
        quotient = 1 / factor * value if factor < 1 else value / factor
        fits = math.isfinite(quotient) and is_whole(quotient)
    if not fits:
        problems.invalid(path, value, f"should be a multiple of {number(factor)}")


def _bound_problem(name: str, value: int | float, bound: int | float, exclusive: bool) -> str:
    than, beyond = ("greater", value < bound) if name == "minimum" else ("less", value > bound)
    if not beyond and not (exclusive and value == bound):
        return ""
    return f"should be {than} than{'' if exclusive else ' or equal to'} {number(bound)}"
