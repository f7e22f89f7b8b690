"""Values as the API's messages write them: in the notation of Go, in which they were first worded."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.quoting import quoted


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
        return repr(value).removesuffix(".0")
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


_GO_TYPES = {
    type(None): "%!s(<nil>)",
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
}
_JSON_TYPES = {
    type(None): "null",
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
}


def type_name(value: Any) -> str:
    """The type a JSON value is decoded into."""
    return _GO_TYPES.get(type(value), "map[string]interface {}")


def json_type(value: Any) -> str:
    """What a JSON decoder calls a value it did not expect."""
    return _JSON_TYPES.get(type(value), "object")
