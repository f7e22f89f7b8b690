"""Values as the API's messages write them: in the notation of Go, in which they were first worded."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from moorage.api.go_quoting import quoted as quoted

_INT64 = 2**63
_HTML_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def quoted_list(texts: Iterable[str]) -> str:
    """`["a" "b"]`"""
    return f"[{' '.join(map(quoted, texts))}]"


def shown(value: Any) -> str:
    """A value in running text: map[a:1 b:[x y]]."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{shown(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(shown, value)) + "]"
    if isinstance(value, float):
        return number(value)
    return str(value)


def shown_as_source(value: Any) -> str:
    """A value as a piece of source code: map[string]interface {}{"a":1}."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{quoted(key)}:{shown_as_source(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(shown_as_source, value)) + "}"
    return shown(value)


_TYPES = {
    type(None): ("%!s(<nil>)", "null"),
    bool: ("bool", "bool"),
    int: ("int64", "number"),
    float: ("float64", "number"),
    str: ("string", "string"),
    list: ("[]interface {}", "array"),
    dict: ("map[string]interface {}", "object"),
}


def type_name(value: Any) -> str:
    """The type a JSON value is decoded into."""
    return _TYPES.get(type(value), _TYPES[dict])[0]


def json_type(value: Any) -> str:
    """What a JSON decoder calls a value it did not expect."""
    return _TYPES.get(type(value), _TYPES[dict])[1]


def mismatch(value: Any, wanted: str) -> str:
    """What a JSON decoder says of a value that should have been something else."""
    return f"json: cannot unmarshal {json_type(value)} into Go {wanted}"


def is_integer(value: Any) -> bool:
    """Whether a number of a document is kept as an integer of 64 bits; others are floating."""
    return type(value) is int and -_INT64 <= value < _INT64


def as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def number(value: int | float) -> str:
    """A number in the shortest form, with an exponent if it is a large or a very small fraction."""
    return str(value) if is_integer(value) else _float(as_float(value), 1e-4, 1e6, exponent_digits=2)


def by_name(value: Any) -> Any:
    """A value with the fields of objects in the order of their names, which is how messages show them."""
    if isinstance(value, dict):
        return {name: by_name(value[name]) for name in sorted(value)}
    return [by_name(each) for each in value] if isinstance(value, list) else value


def as_json(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{','.join(f'{as_json(name)}:{as_json(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(as_json, value))}]"
    if isinstance(value, float) or (type(value) is int and not is_integer(value)):
        return _float(as_float(value), 1e-6, 1e21, exponent_digits=1)
    return json.dumps(value, ensure_ascii=False).translate(_HTML_ESCAPES)


def _float(value: float, least: float, most: float, exponent_digits: int) -> str:
    """Without an exponent from `least` up to `most`."""
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
