"""The rules that the schema in a CustomResourceDefinition must keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.go_text import by_name
from moorage.cluster.base.store import Document
from moorage.cluster.custom import structural
from moorage.cluster.custom.internal_form import ROOT_FIELDS, internal_schema, other_than_root_fields
from moorage.cluster.custom.structure_rules import can_be_structural, structure_problems, wrong_type
from moorage.cluster.custom.validation import validate
from moorage.cluster.custom.values import WrongMetadata, prune, read_embedded, validate_embedded
from moorage.cluster.schema.model import ATOMIC, GRANULAR, MAP, SET, Field, Schema

if TYPE_CHECKING:
    from moorage.cluster.custom.rules.default_rules import DefaultRules

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_MAP_TYPES = (ATOMIC, GRANULAR)
_LIST_TYPES = (ATOMIC, SET, MAP)
_LIST_TYPE, _MAP_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_MAP_TYPE, _KEEPS = "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields"
_VALUE = "value"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK = re.compile(r"[\n\r]")
_DEEPEST = 80  # far more than anyone needs, and few enough to be followed by functions that call themselves
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_TOP_LEVEL = {f".properties[{name}]": f"in top-level {name}" for name in structural.META_FIELDS}
_NOT_LOOKED_AT = (".additionalItems", ".patternProperties")


@dataclass(frozen=True)
class _Context:
    """What holds in a part of a schema."""

    forbids_defaults: str = ""
    in_metadata: bool = False

    def inside(self, schema: Document, step: str, *, root: bool) -> _Context:
        """What holds one step further."""
        whole = root or schema.get("x-kubernetes-embedded-resource") is True
        if whole and step in _TOP_LEVEL:
            return _Context(_TOP_LEVEL[step] if root else self.forbids_defaults, in_metadata=True)
        if self.in_metadata and step == ".additionalProperties":
            return _Context("inside additionalProperties applying to object metadata", in_metadata=True)
        return self


def schema_problems(
    schema: Document, path: str, *, has_status: bool, is_stored: bool = False
) -> Iterator[Cause]:
    """The broken rules; where the status has an address of its own, less may stand at the root.

    Of a schema that `is_stored` just so, each rule for objects may cost what it costs.
    """
    if structural.is_deeper_than(schema, _DEEPEST):
        yield invalid_value(path, "", f"must not be nested more than {_DEEPEST} levels deep")
        return
    found = [*_root_problems(schema, path, has_status=has_status)]
    possible = can_be_structural(schema)
    structural_ones: list[Cause] = []
    if possible:
        structural_ones = structure_problems(schema, path) or [*default_problems(schema, path)]
    mistakes = [*_problems(schema, path, _Context(), root=True)]
    found += structural_ones + mistakes
    if possible and not structural_ones and structural.has_rules(schema):
        from moorage.cluster.custom.rules.definition_rules import rule_problems

        found += rule_problems(schema, path, mistakes, is_stored=is_stored)
    if not possible and not found:  # everything else that it cannot have has been told
        found.append(invalid_value(path, "", "OpenAPIV3Schema 'schema' is not supported"))
    yield from found


def _root_problems(schema: Document, path: str, *, has_status: bool) -> Iterator[Cause]:
    with_status = "at the root of the schema if the status subresource is enabled"
    if has_status and schema.get("type", "") not in ("", "object"):
        detail = f'only "object" is allowed as the type {with_status}'
        yield invalid_value(f"{path}.type", schema["type"], detail)
    elif has_status and other_than_root_fields(schema):
        detail = f"only [{' '.join(ROOT_FIELDS)}] fields are allowed {with_status}"
        yield invalid_value(path, internal_schema(schema), detail)
    if schema.get("nullable"):
        yield forbidden_value(f"{path}.nullable", "nullable cannot be true at the root")


def _problems(schema: Document, path: str, context: _Context, *, root: bool = False) -> Iterator[Cause]:
    kind, map_type = schema.get("type", ""), schema.get(_MAP_TYPE)
    if kind and kind not in _TYPES:
        yield unsupported_value(f"{path}.type", kind, _TYPES)
    for name, detail in _forbidden(schema, context):
        yield forbidden_value(f"{path}.{name}", detail)
    for step, inner in structural.inner_schemas(schema):
        if not step.startswith(_NOT_LOOKED_AT):
            yield from _problems(inner, path + step, context.inside(schema, step, root=root))
    if schema.get(_KEEPS) is False:
        yield invalid_value(f"{path}.{_KEEPS}", False, "must be true or undefined")
    if map_type is not None and kind != "object":
        yield wrong_type(schema, path, f"must be object if {_MAP_TYPE} is specified")
    if map_type not in (None, *_MAP_TYPES):
        yield unsupported_value(f"{path}.{_MAP_TYPE}", map_type, _MAP_TYPES)
    yield from _list_type_problems(schema, path)
    for place, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule_problems(schema, rule, f"{path}.x-kubernetes-validations[{place}]")


def _forbidden(schema: Document, context: _Context) -> Iterator[tuple[str, str]]:
    """What may not stand in a schema, and why."""
    if schema.get("default") is not None and context.forbids_defaults:
        yield "default", f"must not be set {context.forbids_defaults}"
    for name in _UNSUPPORTED:
        if schema.get(name) is not None:
            yield name, f"{name} is not supported"
    if schema.get("type") == "null":
        yield "type", "type cannot be set to null, use nullable as an alternative"
    if isinstance(schema.get("items"), list):
        yield "items", "items must be a schema object and not an array"
    if context.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        yield "x-kubernetes-embedded-resource", "must not be used inside of resource meta"
    if schema.get("uniqueItems"):
        why = "since the runtime complexity becomes quadratic"
        yield "uniqueItems", f"uniqueItems cannot be set to true {why}"
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield "additionalProperties", "additionalProperties and properties are mutual exclusive"


def _rule_problems(schema: Document, rule: Document, path: str) -> Iterator[Cause]:
    """The form of a rule in CEL; what it says is looked at when there is nothing else to say."""
    text, message, expression = (rule.get(name) or "" for name in ("rule", "message", "messageExpression"))
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_value(f"{path}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid_value(f"{path}.message", message, "must not contain line breaks")
    elif _LINE_BREAK.search(text.strip()) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    reason, field = rule.get("reason"), rule.get("fieldPath") or ""
    if reason not in (None, *_REASONS):
        yield unsupported_value(f"{path}.reason", reason, _REASONS)
    if field and not field.strip():
        yield invalid_value(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _LINE_BREAK.search(field):
        yield invalid_value(f"{path}.fieldPath", field, "must not contain line breaks")
    try:
        structural.follow(structural.declared_schema(schema), field)
    except structural.PathProblem:
        yield invalid_value(f"{path}.fieldPath", field, "must be a valid path")


# Lists that are sets, or that are merged by keys


def _list_type_problems(schema: Document, path: str) -> Iterator[Cause]:
    list_type, keys = schema.get(_LIST_TYPE), schema.get(_MAP_KEYS) or []
    items = schema.get("items")
    if list_type is not None and schema.get("type") != "array":
        yield wrong_type(schema, path, f"must be array if {_LIST_TYPE} is specified")
    elif list_type == SET and isinstance(items, dict):
        yield from _set_item_problems(items, f"{path}.items")
    if list_type not in (None, *_LIST_TYPES):
        yield unsupported_value(f"{path}.{_LIST_TYPE}", list_type, _LIST_TYPES)
    if keys and list_type != MAP:
        place, detail = f"{path}.{_LIST_TYPE}", f"must be map if {_MAP_KEYS} is non-empty"
        yield required(place, detail) if list_type is None else invalid_value(place, list_type, detail)
    if list_type == MAP and not keys:
        yield required(f"{path}.{_MAP_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if list_type == MAP and items is None:
        yield required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
    if list_type == MAP and isinstance(items, dict):
        yield from _map_item_problems(items, keys, path)
    if list_type in (SET, MAP) and isinstance(items, dict) and items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {list_type}"
        yield forbidden_value(f"{path}.items.nullable", detail)
    if list_type == MAP and isinstance(items, dict):
        yield from _keys_that_may_lack(items, keys, f"{path}.items")


def _set_item_problems(items: Document, path: str) -> Iterator[Cause]:
    detail = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    list_type = items.get(_LIST_TYPE)
    if items.get("type") == "array" and list_type not in (None, ATOMIC):
        yield invalid_value(f"{path}.{_LIST_TYPE}", list_type, detail)
    elif items.get("type") == "object" and items.get(_MAP_TYPE) != ATOMIC:
        yield invalid_value(f"{path}.{_MAP_TYPE}", list_type, detail)


def _map_item_problems(items: Document, keys: list[str], path: str) -> Iterator[Cause]:
    kind, properties = items.get("type", ""), items.get("properties") or {}
    if kind != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield invalid_value(f"{path}.items.type", kind, detail)
        return
    for place, key in enumerate(keys):
        if key not in properties:
            yield invalid_value(f"{path}.{_MAP_KEYS}", keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield invalid_value(f"{path}.items.properties[{key}].type", kind, detail)
        if key in keys[:place]:
            yield invalid_value(f"{path}.{_MAP_KEYS}", keys, "must not contain duplicate entries")


def _keys_that_may_lack(items: Document, keys: list[str], path: str) -> Iterator[Cause]:
    properties, why = items.get("properties") or {}, f"this property is in {_MAP_KEYS}, so it"
    for key in keys:
        if key not in properties:
            continue
        place = f"{path}.properties[{key}]"
        if key not in (items.get("required") or ()) and properties[key].get("default") is None:
            yield required(f"{place}.default", f"{why} must have a default or be a required property")
        if properties[key].get("nullable"):
            yield forbidden_value(f"{place}.nullable", f"{why} cannot be nullable")


# Defaults


def default_problems(schema: Document, path: str) -> Iterator[Cause]:
    """The broken rules; those of metadata have no defaults that count."""
    rules: DefaultRules | None = None
    if structural.has_rules(schema):
        from moorage.cluster.custom.rules.default_rules import DefaultRules

        rules = DefaultRules()
    yield from _default_problems(schema, path, rules, root=True)


def _default_problems(
    schema: Document, path: str, rules: DefaultRules | None, *, root: bool = False
) -> Iterator[Cause]:
    if schema.get("default") is not None:
        yield from _default_problems_here(schema, f"{path}.default", rules)
    whole = root or schema.get("x-kubernetes-embedded-resource") is True
    for step, inner in structural.inner_schemas(schema, structural.DECLARED):
        if rules is not None and rules.is_exhausted:
            return
        if not (whole and step in _TOP_LEVEL):
            yield from _default_problems(inner, path + step, rules)


def _default_problems_here(schema: Document, path: str, rules: DefaultRules | None) -> Iterator[Cause]:
    value = schema["default"]
    shape = structural.declared_schema(schema)
    shape.embedded = schema.get("x-kubernetes-embedded-resource") is True
    holder = Schema(fields={_VALUE: Field(shape)})
    pruned, unknown = prune(holder, {_VALUE: value})
    if unknown:
        yield invalid_value(path, by_name(value), "must not have unknown fields")
    try:
        read_embedded(holder, pruned, "", [])
    except WrongMetadata as error:
        yield invalid_value(path, by_name(value), str(error))
        return
    inside = [
        cause._replace(field=path + cause.field.removeprefix(_VALUE))
        for cause in validate_embedded(holder, pruned)
    ]
    found = inside or validate(shape, value, field=path)
    if not found and rules is not None:
        found = rules.problems(schema, shape, path)
    yield from found
