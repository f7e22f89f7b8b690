"""The shapes of the built-in kinds, from the recorded table of types.

A file of the table holds the types of one Go package: its name, then a block for each type. A block starts
with the type's name; each further line is a field: its name (with `!` if required), its type and what is
special: `~` zero values are left out, `=` what is written for an absent field, `list=` the keys of a list
that is merged by keys, `set`, `atomic`, `granular`, `patch=` the strategy and key of strategic merge patches,
and `in=` the embedded struct that the field belongs to in Go. `tools.record_schema` writes these files.
"""

from __future__ import annotations

import json
from copy import copy
from functools import cache
from pathlib import Path

from moorage.cluster.schema import model
from moorage.cluster.schema.model import ANY, ARRAY, OBJECT, Field, Schema

DATA = Path(__file__).with_name("data")

_SCALARS = {
    "string": Schema(model.STRING),
    "bytes": Schema(model.STRING, "byte"),
    "boolean": Schema(model.BOOLEAN),
    "int32": Schema(model.INTEGER, "int32"),
    "int64": Schema(model.INTEGER, "int64"),
    "double": Schema(model.NUMBER, "double"),
    "quantity": Schema(model.STRING, "quantity"),
    "date-time": Schema(model.STRING, "date-time"),
    "micro-time": Schema(model.STRING, "micro-time"),
    "int-or-string": Schema(ANY, "int-or-string"),
    "any": Schema(ANY, map_type=model.ATOMIC, keeps_unknown=True),
}

EITHER = ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
"""The types that are a schema or something else; in their Schema, `values` is the shape of the schema."""

_embedded: dict[Field, str] = {}
_type_names: dict[Schema, str] = {}
_short_names: dict[Schema, str] = {}
_types: dict[tuple[str, str], Schema] = {}


def schema_of(group: str, version: str, kind: str) -> Schema:
    """The shape of a built-in kind. Raises LookupError for a kind that is not recorded."""
    package = f"{group.partition('.')[0] or 'core'}.{version}"
    for place in (package, f"meta.{version}"):
        head = _blocks(place).get(kind, "").partition("\n")[0]
        if f" kind={group or 'core'}/{version}" in head:
            return _type(place, kind)
    raise LookupError(f"{kind} of {group}/{version} is not a built-in kind")


def embedding_struct(field: Field) -> str:
    """The Go struct inside which a field is declared; empty if it stands in the type itself."""
    return _embedded.get(field, "")


def type_name(schema: Schema) -> str:
    """The whole name of a built-in type, such as io.k8s.api.core.v1.Pod; empty if it is none."""
    return _type_names.get(schema, "")


def type_named(name: str) -> Schema:
    """A built-in type by its package and name, such as core.v1.PodSpec."""
    package, _, short = name.rpartition(".")
    return _type(package, short)


def short_name(schema: Schema) -> str:
    """The package and name of a built-in type, such as core.v1.PodSpec; empty if it is none."""
    return _short_names.get(schema, "")


@cache
def _blocks(package: str) -> dict[str, str]:
    """The blocks of a file by the name of their type, and under "" the whole name of the package."""
    file = DATA / f"{package}.txt"
    if not file.is_file():
        return {}
    name, *blocks = file.read_text().rstrip().split("\n\n")
    return {"": name} | {block.partition("\n")[0].partition(" ")[0]: block for block in blocks}


def _type(package: str, name: str) -> Schema:
    found = _types.get((package, name))
    if found is not None:
        return found
    blocks = _blocks(package)
    head, *lines = blocks[name].split("\n ")
    schema = Schema(OBJECT, name=name, map_type=model.ATOMIC if " atomic" in head else model.GRANULAR)
    _types[package, name] = schema  # before its fields, which may refer to it
    _type_names[schema] = f"{blocks['']}.{name}"
    _short_names[schema] = f"{package}.{name}"
    for line in lines:
        key, *words = line.split(" ")
        schema.fields[key.rstrip("!")] = _field(package, key.endswith("!"), words)
    return schema


def _field(package: str, required: bool, words: list[str]) -> Field:
    expression, *flags = words
    field = Field(_expression(package, expression), required)
    for flag in flags:
        name, separator, value = flag.partition("=")
        if flag == "~":
            field.omits_zero = True
        elif separator and not name:
            field.default = json.loads(value)
        elif name == "list":
            field.schema.list_type = model.MAP
            field.schema.list_keys = tuple(value.split(","))
        elif name == "set":
            field.schema.list_type = model.SET
        elif name in (model.ATOMIC, model.GRANULAR):  # in this place, whatever the type says
            field.schema = copy(field.schema)
            field.schema.map_type = name
        elif name == "patch":
            field.patch_strategy, _, field.patch_key = value.partition(":")
        elif name == "in":
            _embedded[field] = value
    return field


def _expression(package: str, text: str) -> Schema:
    """Reads a type: `[]T` is a list, `{}T` a map; its name in Go may follow in brackets."""
    text, _, go_name = text.rstrip(")").partition("(")
    if text.startswith("[]"):
        items = text[2:]
        if go_name.startswith("[]") and items in _SCALARS:
            items, go_name = f"{items}({go_name[2:].removeprefix('v1.')})", ""
        return Schema(ARRAY, name=go_name, items=_expression(package, items))
    if text.startswith("{}"):
        return Schema(OBJECT, name=go_name, values=_expression(package, text[2:]))
    if text in EITHER:
        return Schema(ANY, name=text, values=_type(package, "JSONSchemaProps"), keeps_unknown=True)
    if text in _SCALARS:
        plain = _SCALARS[text]
        return Schema(plain.type, plain.format, go_name) if go_name else plain
    place, _, name = text.rpartition(".")
    return _type(place or package, name)
