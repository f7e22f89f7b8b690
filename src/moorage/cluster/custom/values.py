"""What a schema makes of a custom object: unknown fields go, defaults come, objects in it get metadata."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from moorage.cluster.base.errors import Cause, Refusal, invalid_value, required
from moorage.cluster.base.go_text import by_name
from moorage.cluster.base.store import Document
from moorage.cluster.custom.structural import META_FIELDS, object_meta_schema
from moorage.cluster.kinds.metadata import validate_metadata
from moorage.cluster.schema.conform import Conformed, conform
from moorage.cluster.schema.forms import dns_1035_label_problems, path_segment_problems
from moorage.cluster.schema.model import ABSENT, Field, Schema

_EXACT_FLOATS = float(2**53)
_NOTHING = Schema()
_TYPE_FIELDS = ("apiVersion", "kind")


def parts(schema: Schema, value: Any, path: str) -> Iterator[tuple[Schema, Any, str]]:
    """What is directly inside a value, as far as the schema knows it, with its shape and its path."""
    if type(value) is dict:
        for name, inner in value.items():
            field = schema.fields.get(name)
            if field is not None:
                yield field.schema, inner, f"{path}.{name}" if path else name
            elif schema.values is not None:
                yield schema.values, inner, f"{path}[{name}]"
    elif type(value) is list and schema.items is not None:
        for place, inner in enumerate(value):
            yield schema.items, inner, f"{path}[{place}]"


def prune(schema: Schema, document: Document) -> tuple[Document, list[str]]:
    """A copy without the fields the schema does not know, and where those were, in order.

    Nulls go too where a value may not be null and no default takes their place.
    """
    unknown: list[str] = []
    pruned = _known_fields(schema, document, "", unknown, keeps=schema.keeps_unknown)
    return pruned, sorted(unknown)


def plain_copy(value: Any) -> Any:
    """A deep copy in which whole numbers are integers, as they are when JSON is read back."""
    if type(value) is dict:
        return {name: plain_copy(part) for name, part in value.items()}
    if type(value) is list:
        return [plain_copy(part) for part in value]
    if type(value) is float and value.is_integer() and -_EXACT_FLOATS < value < _EXACT_FLOATS:
        return int(value)
    return value


def _known(schema: Schema, value: Any, path: str, unknown: list[str], *, keeps: bool = False) -> Any:
    """With `keeps`, as for the items of a list that keeps unknown fields, an object keeps its own too."""
    if type(value) is dict:
        return _known_fields(schema, value, path, unknown, keeps=keeps or schema.keeps_unknown)
    if type(value) is list:
        items, keeps = schema.items or _NOTHING, keeps or schema.keeps_unknown
        return [
            _known(items, each, f"{path}[{place}]", unknown, keeps=keeps) for place, each in enumerate(value)
        ]
    return plain_copy(value)


def _known_fields(schema: Schema, found: Document, path: str, unknown: list[str], *, keeps: bool) -> Document:
    prefix = f"{path}." if path else ""
    kept: Document = {}
    for name, value in found.items():
        field = schema.fields.get(name)
        shape = field.schema if field is not None else schema.values
        if schema.embedded and name in META_FIELDS:
            kept[name] = plain_copy(value)
        elif shape is not None:
            if value is not None or not _goes(field, shape):
                kept[name] = _known(shape, value, prefix + name, unknown)
        elif keeps:
            kept[name] = plain_copy(value)
        elif path or name not in META_FIELDS:
            unknown.append(prefix + name)
    return kept


def _goes(field: Field | None, shape: Schema) -> bool:
    """Whether a null is dropped: it may not be there, and nothing takes its place."""
    if shape.nullable:
        return False
    return field.default is ABSENT if field is not None else "default" not in shape.rules


def default(schema: Schema, value: Any) -> None:
    """Puts defaults where nothing is, or null where that is not allowed; in place."""
    if type(value) is dict:
        for name, field in schema.fields.items():
            absent = name not in value or (value[name] is None and not field.schema.nullable)
            if absent and field.default is not ABSENT:
                value[name] = deepcopy(field.default)
            if name in value:
                default(field.schema, value[name])
        if schema.values is not None:
            _default_each(schema.values, value, [name for name in value if name not in schema.fields])
    elif type(value) is list and schema.items is not None:
        _default_each(schema.items, value, range(len(value)))


def _default_each(shape: Schema, found: Any, places: Any) -> None:
    """The same for the values of a map, or the items of a list."""
    replaced = None if shape.nullable else shape.rules.get("default")
    for place in places:
        if found[place] is None and replaced is not None:
            found[place] = deepcopy(replaced)
        default(shape, found[place])


class WrongMetadata(Exception):
    """Metadata that cannot be read; the text says why."""


def read_metadata(metadata: Any) -> Conformed:
    """Metadata in its canonical form, and the paths of unknown fields in it."""
    ordered = dict(sorted(metadata.items())) if isinstance(metadata, dict) else metadata
    try:
        return conform(object_meta_schema(), ordered, kind="", api_version="")
    except Refusal as refusal:
        raise WrongMetadata(refusal.message.partition(": ")[2]) from None


def read_embedded(schema: Schema, value: Any, path: str, unknown: list[str]) -> None:
    """Brings the metadata of objects inside the value into its canonical form, in place."""
    for found, place in _whole_objects(schema, value, path):
        for name in _TYPE_FIELDS:
            if name in found and not isinstance(found[name], str):
                raise _wrong(f"{place}.{name}", found[name], "must be a string")
        if "metadata" in found:
            try:
                metadata = read_metadata(found["metadata"])
            except WrongMetadata as error:
                raise _wrong(f"{place}.metadata", found["metadata"], str(error)) from None
            found["metadata"] = metadata.document
            unknown += (f"{place}.metadata.{name}" for name in metadata.unknown)


def _wrong(field: str, value: Any, why: str) -> WrongMetadata:
    return WrongMetadata(str(invalid_value(field, by_name(value), why)))


def validate_embedded(schema: Schema, value: Any, path: str = "") -> Iterator[Cause]:
    """The rules that the metadata of objects inside the value breaks."""
    for found, place in _whole_objects(schema, value, path):
        yield from _type_problems(found, place)
        if isinstance(metadata := found.get("metadata"), dict):
            named = {**metadata, "name": metadata.get("name") or "unnamed"}
            namespaced = bool(named.get("namespace"))
            for cause in validate_metadata(
                {"metadata": named}, namespaced=namespaced, name_rule=path_segment_problems
            ):
                yield cause._replace(field=f"{place}.{cause.field}")


def _whole_objects(schema: Schema, value: Any, path: str) -> Iterator[tuple[Document, str]]:
    """The objects inside a value that have metadata of their own."""
    if schema.embedded and isinstance(value, dict):
        value = {name: inner for name, inner in value.items() if name not in META_FIELDS}
    for shape, inner, place in parts(schema, value, path):
        if shape.embedded and isinstance(inner, dict):
            yield inner, place
        yield from _whole_objects(shape, inner, place)


def kind_problems(field: str, kind: str) -> Iterator[Cause]:
    if problems := dns_1035_label_problems(kind.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid_value(field, kind, detail)


def _type_problems(found: Document, path: str) -> Iterator[Cause]:
    for name in _TYPE_FIELDS:
        if name not in found:
            yield required(f"{path}.{name}")
        elif not found[name]:
            yield invalid_value(f"{path}.{name}", "", "must not be empty")
    version = found.get("apiVersion", "")
    if version.count("/") > 1:
        yield invalid_value(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    if found.get("kind"):
        yield from kind_problems(f"{path}.kind", found["kind"])
