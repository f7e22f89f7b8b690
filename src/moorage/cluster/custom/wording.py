"""Values and broken rules as the API server of Kubernetes words them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from moorage.cluster.errors import Cause

_ESCAPES = {
    '"': '\\"', "\\": "\\\\",
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
}  # fmt: skip
_HTML_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
MOST_INT = 2**63 - 1
LEAST_INT = -(2**63)


def is_integer(value: Any) -> bool:
    """Whether a number of a document is kept as an integer of 64 bits; others are floating."""
    return type(value) is int and LEAST_INT <= value <= MOST_INT


def quoted(text: str) -> str:
    """A text in double quotes, with what cannot be printed escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(_escaped(letter) for letter in text)}"'


def _escaped(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def number(value: int | float) -> str:
    """A number in the shortest form, with an exponent only if it is very large or very small."""
    if is_integer(value):
        return str(value)
    value = as_float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    digits = repr(value)
    if 1e-4 <= abs(value) < 1e21:
        plain = format(Decimal(digits), "f")
        return plain[:-2] if plain.endswith(".0") else plain
    mantissa, _, exponent = digits.partition("e")
    return f"{mantissa.removesuffix('.0')}e{exponent}" if exponent else format(Decimal(digits), "f")


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
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.translate(_HTML_ESCAPES)


class Ordered:
    """A value whose fields are to be shown in the order they have."""

    def __init__(self, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self.text = text.translate(_HTML_ESCAPES)


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
