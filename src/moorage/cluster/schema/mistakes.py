"""Says what is wrong with a document, in the words of Go's JSON decoder.

Values may have a wrong type; fields may be unknown or given twice, of which field validation warns.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from moorage.cluster.schema import canonical_times as times
from moorage.cluster.schema.builtin import embedding_struct
from moorage.cluster.schema.canonical import Malformed, binary_data, quantity
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Schema

_LAYOUTS = {"date-time": times.SECONDS, "micro-time": times.MICROSECONDS}
_GO_TYPES = {STRING: "string", BOOLEAN: "bool", INTEGER: "int64", NUMBER: "float64"}
_GO_FORMATS = {"byte": "[]uint8", "int32": "int32"}
_LONGEST_NUMBER = 100
_MOST_WARNINGS = 100
_MISMATCH = re.compile(r"json: cannot unmarshal (\w+)( \S+)? into Go (?:struct field \S+|value) of type (.+)")
_CONVERTED_KINDS = {"string": "string", "bool": "bool", "array": "slice", "object": "map"}


class _Place(NamedTuple):
    """Where the decoder is: the struct it fills, the names of the fields that led there, and the path."""

    struct: str
    fields: tuple[str, ...]
    path: str


_TOP = _Place("", (), "")


class Mistakes:
    """Everything that is wrong with a document of this shape.

    Decoding goes on after a value of a wrong type, and the first of those is reported, but it stops at a text
    that cannot be read, and that is reported then.
    """

    def __init__(self, schema: Schema, document: Any, place: _Place = _TOP) -> None:
        self.unknown: list[str] = []
        self._first = ""
        self._fatal = ""
        try:
            self._check(schema, document, place)
        except Malformed as error:
            self._fatal = str(error)

    @property
    def message(self) -> str:
        return self._fatal or self._first

    def _check(self, schema: Schema, value: Any, place: _Place) -> None:
        if value is None:
            return
        if schema.format in ("quantity", "int-or-string", *_LAYOUTS):
            _check_text(schema, value, place)
        elif schema.type == ARRAY and schema.items is not None:
            self._check_list(schema, schema.items, value, place)
        elif schema.type == OBJECT:
            self._check_object(schema, value, place)
        elif schema.type == ANY and schema.values is not None:
            _check_either(schema, schema.values, value, place)
        elif schema.type == ANY:
            return
        elif problem := _scalar_problem(schema, value):
            self._remember(_mismatch(problem, go_type(schema), place))
        elif schema.format == "byte":
            try:
                binary_data(value)
            except Malformed as error:
                self._remember(str(error))

    def _check_list(self, schema: Schema, items: Schema, value: Any, place: _Place) -> None:
        if not isinstance(value, list):
            self._remember(_mismatch(kind_of(value), go_type(schema), place))
            return
        for index, item in enumerate(value):
            self._check(items, item, place._replace(path=f"{place.path}[{index}]"))

    def _check_object(self, schema: Schema, value: Any, place: _Place) -> None:
        if not isinstance(value, dict):
            self._remember(_mismatch(kind_of(value), go_type(schema), place))
            return
        for name, item in value.items():
            path = f"{place.path}.{name}" if place.path else str(name)
            if schema.values is not None:
                self._check(schema.values, item, place._replace(path=path))
                continue
            field = schema.fields.get(name)
            if field is not None:
                inside = embedding_struct(field)
                fields = (*place.fields, *inside.split("."), name) if inside else (*place.fields, name)
                self._check(field.schema, item, _Place(schema.name, fields, path))
            elif not schema.keeps_unknown:
                self.unknown.append(path)

    def _remember(self, problem: str) -> None:
        self._first = self._first or problem


def go_type(schema: Schema) -> str:
    """The type's name in Go, as messages give it."""
    if schema.name:
        return schema.name if "." in schema.name or "[" in schema.name else f"v1.{schema.name}"
    if schema.type == ARRAY and schema.items is not None:
        return "[]" + go_type(schema.items)
    if schema.type == OBJECT:
        return "map[string]" + (go_type(schema.values) if schema.values is not None else "interface {}")
    return _GO_FORMATS.get(schema.format) or _GO_TYPES.get(schema.type, "interface {}")


def kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _scalar_problem(schema: Schema, value: Any) -> str:
    """What stands there instead of the right type; empty if it is right."""
    kind = kind_of(value)
    if schema.type in (STRING, BOOLEAN):
        return "" if kind == {STRING: "string", BOOLEAN: "bool"}[schema.type] else kind
    if kind != "number":
        return kind
    if schema.type == NUMBER:
        return "" if _is_finite(value) else _number(value)
    limit = 2**31 if schema.format == "int32" else 2**63
    return "" if isinstance(value, int) and -limit <= value < limit else _number(value)


def _is_finite(value: int | float) -> bool:
    try:
        return float("-inf") < float(value) < float("inf")
    except OverflowError:
        return False


def _number(value: int | float) -> str:
    if isinstance(value, int) and value.bit_length() > 3 * _LONGEST_NUMBER:
        return "number"  # too long to be shown
    return f"number {value!r}"


def _check_either(schema: Schema, otherwise: Schema, value: Any, place: _Place) -> None:
    """What is inside is decoded by itself: a mistake ends everything, and what is unknown is not reported."""
    if schema.name.endswith("OrBool") and not isinstance(value, dict | bool):
        raise Malformed("boolean or JSON schema expected")
    shape = otherwise
    if isinstance(value, list):
        shape = Schema(ARRAY, items=Schema(STRING) if schema.name.endswith("StringArray") else otherwise)
    if isinstance(value, list | dict) and (message := Mistakes(shape, value, place).message):
        raise Malformed(message)


def _check_text(schema: Schema, value: Any, place: _Place) -> None:
    """Values with a syntax of their own; a mistake in one ends everything."""
    if schema.format == "quantity":
        quantity(value if isinstance(value, str | int | float) else "")
    elif schema.format == "int-or-string":
        problem = "" if isinstance(value, str) else _scalar_problem(Schema(INTEGER, "int32"), value)
        if problem:
            raise Malformed(_mismatch(problem, "int32", place))
    elif not isinstance(value, str):
        raise Malformed(_mismatch(kind_of(value), "string", place))
    else:
        times.canonical_time(value, _LAYOUTS[schema.format])


def _mismatch(found: str, wanted: str, place: _Place) -> str:
    if not place.fields:
        return f"json: cannot unmarshal {found} into Go value of type {wanted}"
    where = ".".join((place.struct, *place.fields))
    return f"json: cannot unmarshal {found} into Go struct field {where} of type {wanted}"


def conversion_problem(problem: str) -> str:
    """The problem of decoding a document in the words for one that a patch was merged into.

    The original converts those, and the same mistakes have other names.
    """
    if problem.startswith("illegal base64 data"):
        return f"error decoding from json: {problem}"
    found = _MISMATCH.fullmatch(problem)
    if found is None:
        return problem
    given, literal, wanted = found.groups()
    kind = _CONVERTED_KINDS.get(given) or ("float64" if "." in (literal or "") else "int64")
    if wanted.startswith("[]"):
        return f"cannot restore slice from {kind}"
    if wanted.startswith("map["):
        return f"cannot restore map from {kind}"
    if "." in wanted:
        return f"cannot restore struct from: {kind}"
    if given == "number" and wanted != "bool":
        return f"cannot convert {kind} to {wanted}"
    return f"unrecognized type: {wanted}"


# Fields that are unknown or given twice


def strict_warnings(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """What is wrong with a document's fields, one text for each."""
    unknown = list(unknown)
    others = [path for path in duplicates if not _is_below(path, unknown)]
    return _warnings(_about("unknown", unknown) + _about("duplicate", others))


def patch_warnings(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """The same for a patched document: of the patch's own fields it is told first."""
    return _warnings(_about("duplicate", duplicates) + _about("unknown", unknown))


def strict_error(warnings: Iterable[str]) -> str:
    """Why a document is refused under strict field validation."""
    return f"strict decoding error: {', '.join(warnings)}"


def _about(what: str, paths: Iterable[str]) -> list[str]:
    return [f"{what} field {json.dumps(path, ensure_ascii=False)}" for path in paths]


def _warnings(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))[:_MOST_WARNINGS]


def _is_below(path: str, others: list[str]) -> bool:
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in others)


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, as they stand there."""


def duplicate_fields(body: bytes) -> list[str]:
    """The paths of fields that stand more than once in their object; none if the body is not JSON."""
    try:
        if _keys(body) == _keys(msgspec.json.encode(msgspec.json.decode(body))):
            return []
        return list(dict.fromkeys(_doubled(json.loads(body, object_pairs_hook=_Pairs), "")))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []


def _keys(body: bytes) -> int:
    """How many keys there are, as long as none stands before its colon with a space."""
    return body.count(b'":') - body.count(b'\\":')


def _doubled(value: Any, path: str) -> Iterable[str]:
    if isinstance(value, _Pairs):
        times = Counter(name for name, _ in value)
        for name, item in dict(value).items():
            below = f"{path}.{name}" if path else name
            yield from _doubled(item, below)
            if times[name] > 1:
                yield below
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _doubled(item, f"{path}[{index}]")
