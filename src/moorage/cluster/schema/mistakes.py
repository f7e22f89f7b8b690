"""Says what is wrong with a document, in the words of Go's JSON decoder.

Values may have a wrong type; fields may be unknown or given twice, of which field validation warns.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from moorage.cluster.base.go_text import json_type
from moorage.cluster.schema import canonical
from moorage.cluster.schema.builtin import embedding_struct
from moorage.cluster.schema.canonical import Malformed
from moorage.cluster.schema.model import ANY, ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, Schema

_LAYOUTS = {"date-time": canonical.SECONDS, "micro-time": canonical.MICROSECONDS}
_GO_TYPES = {STRING: "string", BOOLEAN: "bool", INTEGER: "int64", NUMBER: "float64"}
_OTHER_NAMES = {BOOLEAN: "bool", INTEGER: "number"}  # of kinds that are not called as in schemas
_GO_FORMATS = {"byte": "[]uint8", "int32": "int32"}
_LONGEST_NUMBER = 100
_MOST_WARNINGS = 100
_SPACED_KEY = re.compile(rb'"\s+:')
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
        self.message = ""
        try:
            self._check(schema, document, place)
        except Malformed as error:
            self.message = str(error)

    def _check(self, schema: Schema, value: Any, place: _Place) -> None:
        if value is None:
            return
        if schema.format in ("quantity", "int-or-string", *_LAYOUTS):
            _check_text(schema, value, place)
        elif schema.type == ANY:
            if schema.values is not None:
                _check_either(schema, schema.values, value, place)
        elif problem := _type_problem(schema, value):
            self._remember(_mismatch(problem, _go_type(schema), place))
        elif schema.type == OBJECT:
            self._check_object(schema, value, place)
        elif schema.type == ARRAY and schema.items is not None:
            for index, item in enumerate(value):
                self._check(schema.items, item, place._replace(path=f"{place.path}[{index}]"))
        elif schema.format == "byte":
            try:
                canonical.binary_data(value)
            except Malformed as error:
                self._remember(str(error))

    def _check_object(self, schema: Schema, value: Any, place: _Place) -> None:
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
        self.message = self.message or problem


def _go_type(schema: Schema) -> str:
    """The type's name in Go, as messages give it."""
    if schema.name:
        return schema.name if "." in schema.name or "[" in schema.name else f"v1.{schema.name}"
    if schema.type == ARRAY and schema.items is not None:
        return "[]" + _go_type(schema.items)
    if schema.type == OBJECT:
        return "map[string]" + (_go_type(schema.values) if schema.values is not None else "interface {}")
    return _GO_FORMATS.get(schema.format) or _GO_TYPES.get(schema.type, "interface {}")


def _type_problem(schema: Schema, value: Any) -> str:
    """What stands there instead of the right type; empty if it is right."""
    kind = json_type(value)
    if kind != _OTHER_NAMES.get(schema.type, schema.type):
        return kind
    if schema.type == NUMBER:
        return "" if is_finite(value) else _number(value)
    if schema.type == INTEGER:
        limit = 2**31 if schema.format == "int32" else 2**63
        return "" if isinstance(value, int) and -limit <= value < limit else _number(value)
    return ""


def is_finite(value: int | float) -> bool:
    try:
        return math.isfinite(value)
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
        canonical.quantity(value if isinstance(value, str | int | float) else "")
    elif schema.format == "int-or-string":
        problem = "" if isinstance(value, str) else _type_problem(Schema(INTEGER, "int32"), value)
        if problem:
            raise Malformed(_mismatch(problem, "int32", place))
    elif problem := _type_problem(schema, value):
        raise Malformed(_mismatch(problem, "string", place))
    else:
        canonical.canonical_time(value, _LAYOUTS[schema.format])


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
    return _warnings(unknown=unknown, duplicate=[path for path in duplicates if not _is_below(path, unknown)])


def patch_warnings(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """The same for a patched document: of the patch's own fields it is told first."""
    return _warnings(duplicate=duplicates, unknown=unknown)


def strict_error(warnings: Iterable[str]) -> str:
    """Why a document is refused under strict field validation."""
    return f"strict decoding error: {', '.join(warnings)}"


def _warnings(**fields: Iterable[str]) -> list[str]:
    """About fields of each of these sorts."""
    texts = dict.fromkeys(
        f"{sort} field {json.dumps(path, ensure_ascii=False)}"
        for sort, paths in fields.items()
        for path in paths
    )
    return list(texts)[:_MOST_WARNINGS]


def _is_below(path: str, others: list[str]) -> bool:
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in others)


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, as they stand there."""


def duplicate_fields(body: bytes) -> list[str]:
    """The paths of fields that stand more than once in their object; none if the body is not JSON."""
    try:
        decoded = msgspec.json.decode(body)
        if not _SPACED_KEY.search(body) and _keys(body) == _keys(msgspec.json.encode(decoded)):
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
