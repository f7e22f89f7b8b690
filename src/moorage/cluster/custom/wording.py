"""Values and broken rules as the API server of Kubernetes words them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.quoting import quoted

_HTML_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
MOST_INT = 2**63 - 1
LEAST_INT = -(2**63)


def is_integer(value: Any) -> bool:
    """Whether a number of a document is kept as an integer of 64 bits; others are floating."""
    return type(value) is int and LEAST_INT <= value <= MOST_INT


def number(value: int | float) -> str:
    """A number in the shortest form, with an exponent if it is a large or a very small fraction."""
    if is_integer(value):
        return str(value)
    return _float(as_float(value), 1e-4, 1e6, exponent_digits=2)


def _float(value: float, least: float, most: float, exponent_digits: int) -> str:
    if not value or not math.isfinite(value):
        return {0.0: "0", math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    shortest = Decimal(repr(value)).normalize()
    if least <= abs(value) < most:
        return format(shortest, "f")
    digits = "".join(map(str, shortest.as_tuple().digits))
    exponent = shortest.adjusted()
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    sign = "-" if value < 0 else ""
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):0{exponent_digits}}"


def as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def shown(value: Any) -> str:
    """A value as it stands in messages: texts in quotes, numbers plain, everything else as JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int | float):
        return number(value)
    return value.text if isinstance(value, Ordered) else as_json(value)


def as_json(value: Any) -> str:
    """With the fields of objects in the order of their names."""
    return _json(value, sort=True)


class Ordered:
    """A value whose fields are to be shown in the order they have."""

    def __init__(self, value: Any) -> None:
        self.text = _json(value, sort=False)


def _json(value: Any, *, sort: bool) -> str:
    if isinstance(value, dict):
        names = sorted(value) if sort else value
        inner = ",".join(f"{_json(name, sort=sort)}:{_json(value[name], sort=sort)}" for name in names)
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{','.join(_json(each, sort=sort) for each in value)}]"
    if isinstance(value, float) or (type(value) is int and not is_integer(value)):
        return _float(as_float(value), 1e-6, 1e21, exponent_digits=1)
    return json.dumps(value, ensure_ascii=False).translate(_HTML_ESCAPES)


def invalid(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def wrong_type(field: str, value: Any, detail: str) -> Cause:
    return Cause("FieldValueTypeInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def unsupported(field: str, value: Any, supported: Iterable[str]) -> Cause:
    known = ", ".join(quoted(each) for each in supported)
    return Cause(
        "FieldValueNotSupported", field, f"Unsupported value: {shown(value)}: supported values: {known}"
    )


def duplicate(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def too_many(field: str, found: int, limit: int) -> Cause:
    items = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", field, f"Too many: {found}: must have at most {limit} {items}")
