"""The schemas in a CustomResourceDefinition: as they are written there, and as trees of shapes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.custom.formats import is_known
from moorage.cluster.custom.patterns import Expression, compiled
from moorage.cluster.schema.model import ABSENT, GRANULAR, STRING, Field, Schema

DECLARED = ("items", "properties")
ALTERNATIVES = ("not", "allOf", "oneOf", "anyOf")
_ALL = (
    "additionalProperties", "additionalItems", "properties", *ALTERNATIVES, "patternProperties",
    "definitions", "dependencies", "items",
)  # fmt: skip
_SINGLE = ("not", "items", "additionalProperties", "additionalItems")
META_FIELDS = ("apiVersion", "kind", "metadata")
INT_OR_STRING = "int-or-string"
_PATH_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'")
_ESCAPES = re.compile(r"\\.")
_ESCAPED = dict(zip("abfnrtv'\\", "\a\b\f\n\r\t\v'\\", strict=True))
_CHECKS = (
    "enum", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "multipleOf", "format",
    "required", "allOf", "anyOf", "oneOf", "not",
)  # fmt: skip


def versions_of(spec: Document) -> list[Document]:
    return spec.get("versions") or []


def open_api_of(version: Document) -> Document | None:
    found: Document | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return found


def inner_schemas(schema: Document, names: tuple[str, ...] = _ALL) -> Iterator[tuple[str, Document]]:
    """The schemas in these fields of a schema, each with the step that leads to it: `.properties[a]`."""
    for name in names:
        value = schema.get(name)
        if isinstance(value, dict) and name in _SINGLE:
            yield f".{name}", value
        elif value and not isinstance(value, bool):
            inside = enumerate(value) if isinstance(value, list) else value.items()
            yield from ((f".{name}[{key}]", each) for key, each in inside if isinstance(each, dict))


def schema_and_inner(schema: Document) -> Iterator[Document]:
    """A schema and all that are inside it, however deep."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed([inner for _, inner in inner_schemas(each)])


def all_schemas(spec: Document) -> Iterator[Document]:
    """Those of all versions, with all that are inside them."""
    for version in versions_of(spec):
        yield from schema_and_inner(open_api_of(version) or {})


def has_rules(schema: Document) -> bool:
    """Whether anything in it has rules for objects, in the Common Expression Language."""
    return any(each.get("x-kubernetes-validations") for each in schema_and_inner(schema))


def is_deeper_than(schema: Document, limit: int) -> bool:
    level = [schema]
    for _ in range(limit):
        level = [inner for each in level for _, inner in inner_schemas(each)]
    return bool(level)


class Rules(dict[str, Any]):
    """The checks of a schema word for word, with those among them that are schemas made ready for use."""

    __slots__ = ("all_of", "any_of", "has_alternatives", "needs", "not_", "one_of", "pattern")

    def __init__(self, checks: Mapping[str, Any]) -> None:
        super().__init__(checks)
        self.all_of, self.any_of, self.one_of = (
            [_declared(each) for each in checks.get(name) or ()] for name in ("allOf", "anyOf", "oneOf")
        )
        self.not_ = _declared(checks["not"]) if "not" in checks else None
        self.has_alternatives = bool(self.all_of or self.any_of or self.one_of or self.not_)
        self.needs: list[str] = checks.get("required") or []
        self.pattern: Expression | None = compiled(checks["pattern"]) if checks.get("pattern") else None


def rules_of(schema: Schema) -> Rules:
    return schema.rules if isinstance(schema.rules, Rules) else _NO_RULES


def to_schema(open_api: Document) -> Schema:
    """The whole shape of the objects: as declared, with what every object has."""
    return _with_metadata(_declared(open_api), root=True)


def declared_schema(open_api: Document) -> Schema:
    """The shape as declared, of an object that keeps its apiVersion, kind and metadata whatever is declared.

    This is what values are pruned, completed and checked by: metadata has rules of its own.
    """
    schema = _declared(open_api)
    schema.embedded = True
    return schema


def _declared(open_api: Document) -> Schema:
    shape, form = open_api.get("type", ""), open_api.get("format", "")
    if open_api.get("x-kubernetes-int-or-string") is True:
        shape, form = "", INT_OR_STRING
    elif not is_known(shape, form):
        form = ""
    checks = {name: open_api[name] for name in _CHECKS if open_api.get(name) is not None}
    items = open_api.get("items")
    return Schema(
        type=shape,
        format=form,
        description=open_api.get("description", ""),
        fields=_fields(open_api),
        values=_values(open_api.get("additionalProperties")),
        items=_element(items) if isinstance(items, dict) else None,
        list_type=open_api.get("x-kubernetes-list-type") or "",
        list_keys=tuple(open_api.get("x-kubernetes-list-map-keys") or ()),
        map_type=open_api.get("x-kubernetes-map-type") or GRANULAR,
        keeps_unknown=open_api.get("x-kubernetes-preserve-unknown-fields") is True,
        embedded=open_api.get("x-kubernetes-embedded-resource") is True,
        nullable=open_api.get("nullable") is True,
        rules=Rules(checks) if checks else {},
    )


def _fields(open_api: Document) -> dict[str, Field]:
    needed = open_api.get("required") or ()
    return {
        name: Field(
            _declared(declared),
            required=name in needed,
            default=ABSENT if declared.get("default") is None else declared["default"],
        )
        for name, declared in (open_api.get("properties") or {}).items()
    }


def _values(declared: Any) -> Schema | None:
    """The shape of a map's values. With `true`, anything goes, but objects among them lose their fields."""
    if isinstance(declared, dict):
        return _element(declared)
    return Schema(nullable=True) if declared is True else None


def _element(declared: Document) -> Schema:
    """The shape of a list's items or a map's values; a default for those that are null is among the rules."""
    schema = _declared(declared)
    if declared.get("default") is not None:
        schema.rules = Rules({**schema.rules, "default": declared["default"]})
    return schema


def _with_metadata(schema: Schema, *, root: bool = False) -> Schema:
    """A copy in which whole objects have the fields that all objects have."""
    fields = {
        name: replace(field, schema=_with_metadata(field.schema)) for name, field in schema.fields.items()
    }
    if root or schema.embedded:
        common = {name: Field(Schema(type=STRING), required=not root) for name in ("apiVersion", "kind")}
        fields = {**common, **fields, "metadata": _metadata(schema.fields.get("metadata"))}
    values = None if schema.values is None else _with_metadata(schema.values)
    items = None if schema.items is None else _with_metadata(schema.items)
    return replace(schema, fields=fields, values=values, items=items)


def _metadata(declared: Field | None) -> Field:
    """The common metadata, with the rules that are declared for it."""
    whole = object_meta_schema()
    if declared is None or not (declared.schema.rules or declared.schema.fields):
        return Field(whole, required=declared is not None and declared.required)
    fields = {**whole.fields}
    for name, own in declared.schema.fields.items():
        if known := fields.get(name):
            fields[name] = replace(known, schema=replace(known.schema, rules=own.schema.rules))
    return Field(replace(whole, rules=declared.schema.rules, fields=fields), required=declared.required)


@lru_cache(maxsize=1)
def object_meta_schema() -> Schema:
    """The shape of `metadata`, the same for all kinds."""
    from moorage.cluster.schema.builtin import schema_of

    return schema_of("", "v1", "ConfigMap").fields["metadata"].schema


def shapes_in(schema: Schema) -> Iterator[Schema]:
    """All shapes inside a shape."""
    for part in (*(field.schema for field in schema.fields.values()), schema.values, schema.items):
        if part is not None:
            yield part
            yield from shapes_in(part)


class PathProblem(Exception):
    """The path leads nowhere; the text says why."""


def follow(schema: Schema, path: str, *, brackets: bool = True) -> tuple[tuple[str, ...], Schema]:
    """The names on a path such as `.spec.replicas`, and where it leads.

    `['name']` may stand for `.name` if brackets are allowed.
    """
    names: list[str] = []
    tokens = iter(_PATH_TOKENS.findall(path))
    for token in tokens:
        if token == ".":
            name = next(tokens, None)
            if name is None:
                raise PathProblem("unexpected end of JSON path")
        elif token == "[":
            if not brackets:
                raise PathProblem("array notation is not allowed")
            quoted = next(tokens, "")
            if len(quoted) < 2 or not (quoted[0] == quoted[-1] == "'"):
                raise PathProblem(f"expected single quoted string but got {quoted}")
            if next(tokens, "") != "]":
                raise PathProblem("unexpected end of JSON path")
            name = _ESCAPES.sub(_meaning, quoted[1:-1])
        else:
            raise PathProblem(f"expected [ or . but got: {token}")
        schema = _child(schema, name)
        names.append(name)
    return tuple(names), schema


def _meaning(escape: re.Match[str]) -> str:
    if escape[0][1] not in _ESCAPED:
        raise PathProblem(f"invalid string literal: invalid escape char {escape[0]}")
    return _ESCAPED[escape[0][1]]


def _child(schema: Schema, name: str) -> Schema:
    if name in schema.fields:
        return schema.fields[name].schema
    if schema.fields or schema.values is None:
        raise PathProblem("does not refer to a valid field")
    return schema.values


_NO_RULES = Rules({})
