"""Brings documents into the form that an API server stores: what decoding them into Go structs and encoding
them again makes of them.

Unknown fields and nulls go, zero values go where they mean the same as nothing, fields that are always
written appear, quantities and times become canonical. Each shape is compiled into a function once, on its
first use; a document in which something is wrong is looked at again, slowly, to say what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.cluster.base import errors
from moorage.cluster.schema import canonical
from moorage.cluster.schema.canonical import Malformed
from moorage.cluster.schema.mistakes import Mistakes, is_finite
from moorage.cluster.schema.model import ABSENT, ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, STRING, Field, Schema

Reader = Callable[[Any, list[str]], Any]
"""Gives a value's canonical form; names of unknown fields are added to the list."""


class Conformed(NamedTuple):
    document: Any
    """A tree of its own: nothing in it that can be changed is shared with what was given."""
    unknown: list[str]
    """The paths of unknown fields, such as spec.containers[0].foo."""


class Undecodable(errors.Refusal):
    """A document of which something has a wrong type."""

    def __init__(self, kind: str, api_version: str, problem: str) -> None:
        version = api_version.rpartition("/")[2]
        super().__init__(
            400, "BadRequest", f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'
        )
        self.problem = problem


def conform(schema: Schema, document: Any, *, kind: str, api_version: str) -> Conformed:
    """The document as it would be stored; a wrong type in it refuses the request."""
    document = {} if document is None else document
    unknown: list[str] = []
    try:
        try:
            conformed = _reader(schema)(document, unknown)
        except Malformed:
            problem = Mistakes(schema, document).message
        else:
            return Conformed(conformed, Mistakes(schema, document).unknown if unknown else unknown)
    except RecursionError:
        problem = "exceeded max depth"
    raise Undecodable(kind, api_version, problem)


_readers: dict[Schema, Reader] = {}


def _reader(schema: Schema) -> Reader:
    """The function that reads values of this shape."""
    found = _readers.get(schema)
    if found is None:
        found = _readers[schema] = _make_reader(schema)
    return found


def _make_reader(schema: Schema) -> Reader:
    if schema.type == ARRAY:
        return _list_reader(schema.items or Schema(keeps_unknown=True))
    if schema.values is not None:
        return _either_reader(schema, schema.values) if schema.type == ANY else _map_reader(schema.values)
    if schema.format in _SPECIAL:
        return _SPECIAL[schema.format]
    if schema.type in _PLAIN:
        return _PLAIN[schema.type]
    return _free if schema.type == ANY else _object_reader(schema)


# Objects, lists and maps


def _object_reader(schema: Schema) -> Reader:
    keeps_unknown = schema.keeps_unknown
    # Of each field: the type of which values need no further look, whether zeros stay, and its reader.
    table: dict[str, tuple[type | None, bool, Reader]] = {}
    always: list[tuple[str, Any, Reader | None]] = []

    def read(value: Any, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise Malformed
        result: dict[str, Any] = {}
        for name, item in value.items():
            entry = table.get(name)
            if entry is None:
                if keeps_unknown:
                    result[name] = _free(item, unknown)
                else:
                    unknown.append(name)
                continue
            plain, keeps_zero, read_field = entry
            if type(item) is not plain:
                if item is None:
                    continue
                item = read_field(item, unknown)
            if item or keeps_zero:
                result[name] = item
        for name, default, read_default in always:
            if name not in result:
                result[name] = default if read_default is None else read_default(default, unknown)
        return result

    _readers[schema] = read  # before its fields, which may refer to it
    for name, field in schema.fields.items():
        reader = _reader(field.schema)
        table[name] = (_needs_no_look(field.schema), _keeps_zero(field), reader)
        if field.default is not ABSENT and (field.default or not field.omits_zero):
            scalar = not isinstance(field.default, dict | list)
            always.append((name, field.default, None if scalar else reader))
    return read


def _needs_no_look(schema: Schema) -> type | None:
    if schema.format in _SPECIAL:
        return None
    return {STRING: str, BOOLEAN: bool}.get(schema.type)


def _keeps_zero(field: Field) -> bool:
    is_time = field.schema.format in ("date-time", "micro-time")
    is_empty_null = field.default is None and not field.schema.fields  # an empty object is not none
    return not (field.omits_zero or is_empty_null or is_time)


_STRINGS = {str}


def _list_reader(items: Schema) -> Reader:
    read_item = _reader(items)
    strings = _needs_no_look(items) is str

    def read(value: Any, unknown: list[str]) -> Any:
        if type(value) is not list:
            raise Malformed
        if strings and set(map(type, value)) == _STRINGS:
            return value.copy()
        return [zero(items) if item is None else read_item(item, unknown) for item in value]

    return read


def _map_reader(values: Schema) -> Reader:
    read_value = _reader(values)
    strings = _needs_no_look(values) is str

    def read(value: Any, unknown: list[str]) -> Any:
        if type(value) is not dict:
            raise Malformed
        if strings and set(map(type, value.values())) == _STRINGS:
            return value.copy()
        return {
            name: zero(values) if item is None else read_value(item, unknown) for name, item in value.items()
        }

    return read


def _either_reader(schema: Schema, otherwise: Schema) -> Reader:
    """A schema of a custom resource or what may stand for one. Nobody is told of unknown fields in there."""
    read_object = _reader(otherwise)
    read_list = _list_reader(Schema(STRING) if schema.name.endswith("StringArray") else otherwise)
    or_boolean = schema.name.endswith("OrBool")

    def read(value: Any, unknown: list[str]) -> Any:
        if type(value) is dict:
            return read_object(value, [])
        if or_boolean:
            return _boolean(value, [])
        return read_list(value, []) or None if type(value) is list else None

    return read


def zero(schema: Schema) -> Any:
    """What a null in a list or map of such values becomes."""
    if schema.type == STRING:
        return {"quantity": "0", "date-time": None, "micro-time": None}.get(schema.format, "")
    if schema.type in (INTEGER, NUMBER) or schema.format == "int-or-string":
        return 0
    if schema.type == BOOLEAN:
        return False
    return _reader(schema)({}, []) if schema.fields else None


# Single values


def _of(*types: type, convert: Callable[[Any], Any] | None = None) -> Reader:
    """Reads values of these types, as they are or as `convert` makes them."""

    def read(value: Any, unknown: list[str]) -> Any:
        if type(value) not in types:
            raise Malformed
        return value if convert is None else convert(value)

    return read


def _integer(limit: int) -> Reader:
    def read(value: Any, unknown: list[str]) -> Any:
        if type(value) is not int or not -limit <= value < limit:
            raise Malformed
        return value

    return read


def _finite(value: int | float) -> int | float:
    if not is_finite(value):
        raise Malformed
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value


_boolean = _of(bool)
_int32 = _integer(2**31)


def _int_or_string(value: Any, unknown: list[str]) -> Any:
    return value if type(value) is str else _int32(value, unknown)


def _free(value: Any, unknown: list[str]) -> Any:
    """Any JSON, copied."""
    if type(value) is dict:
        # Most objects in managed fields are empty: a call for each of them would cost more than the rest.
        return {
            name: {} if item == {} else item if type(item) is str else _free(item, unknown)
            for name, item in value.items()
        }
    if type(value) is list:
        return [_free(item, unknown) for item in value]
    return value


_SPECIAL: dict[str, Reader] = {
    "quantity": _of(str, int, float, convert=canonical.quantity),
    "date-time": _of(str, convert=lambda value: canonical.canonical_time(value, canonical.SECONDS)),
    "micro-time": _of(str, convert=lambda value: canonical.canonical_time(value, canonical.MICROSECONDS)),
    "byte": _of(str, convert=canonical.binary_data),
    "int32": _int32,
    "int-or-string": _int_or_string,
}
_PLAIN: dict[str, Reader] = {
    STRING: _of(str),
    BOOLEAN: _boolean,
    INTEGER: _integer(2**63),
    NUMBER: _of(int, float, convert=_finite),
}
