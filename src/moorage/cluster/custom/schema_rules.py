"""The rules that the schema in a CustomResourceDefinition must keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from moorage.cluster.base.errors import Cause, forbidden_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.default_rules import default_problems
from moorage.cluster.custom.field_paths import PathProblem, follow
from moorage.cluster.custom.internal_form import ROOT_FIELDS, internal_schema, other_than_root_fields
from moorage.cluster.custom.structural import META_FIELDS, declared_schema
from moorage.cluster.custom.structure_rules import is_deeper_than, structure_problems, unsupported_part
from moorage.cluster.custom.wording import Ordered, invalid, unsupported

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK = re.compile(r"[\n\r]")
_DEEPEST = 80  # far more than anyone needs, and few enough to be followed by functions that call themselves
_UNSUPPORTED = ("additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


@dataclass(frozen=True)
class _Context:
    """What holds in a part of a schema."""

    forbids_defaults: str = ""
    in_metadata: bool = False


def schema_problems(schema: Document, path: str, *, has_status: bool) -> Iterator[Cause]:
    """The broken rules; where the status has an address of its own, less may stand at the root."""
    if is_deeper_than(schema, _DEEPEST):
        yield invalid(path, "", f"must not be nested more than {_DEEPEST} levels deep")
        return
    found = [*_root_problems(schema, path, has_status=has_status)]
    unsupported_here = unsupported_part(schema)
    if not unsupported_here:
        found += structure_problems(schema, path) or default_problems(schema, path)
    found += _problems(schema, path, _Context(), root=True)
    if unsupported_here and not found:
        found.append(invalid(path, "", unsupported_here))
    yield from found


def _root_problems(schema: Document, path: str, *, has_status: bool) -> Iterator[Cause]:
    if has_status:
        if schema.get("type", "") not in ("", "object"):
            yield invalid(
                f"{path}.type",
                schema["type"],
                'only "object" is allowed as the type at the root of the schema if the status subresource is '
                "enabled",
            )
        elif other_than_root_fields(schema):
            yield invalid(
                path,
                Ordered(internal_schema(schema)),
                f"only [{' '.join(ROOT_FIELDS)}] fields are allowed at the root of the schema if the status "
                "subresource is enabled",
            )
    if schema.get("nullable"):
        yield forbidden_value(f"{path}.nullable", "nullable cannot be true at the root")


def _problems(schema: Document, path: str, context: _Context, *, root: bool = False) -> Iterator[Cause]:
    yield from _plain_problems(schema, path, context)
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden_value(f"{path}.uniqueItems", detail)
    properties, values = schema.get("properties") or {}, schema.get("additionalProperties")
    if values is not None:
        if properties and values is not True:
            detail = "additionalProperties and properties are mutual exclusive"
            yield forbidden_value(f"{path}.additionalProperties", detail)
        if isinstance(values, dict):
            inner = context
            if context.in_metadata:
                inner = replace(
                    context, forbids_defaults="inside additionalProperties applying to object metadata"
                )
            yield from _problems(values, f"{path}.additionalProperties", inner)
    whole = root or schema.get("x-kubernetes-embedded-resource") is True
    for name, each in properties.items():
        inner = context
        if whole and name in META_FIELDS:
            forbids = f"in top-level {name}" if root else context.forbids_defaults
            inner = _Context(forbids, in_metadata=True)
        yield from _problems(each, f"{path}.properties[{name}]", inner)
    yield from _inner_problems(schema, path, context)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    yield from _map_type_problems(schema, path)
    yield from _list_type_problems(schema, path)
    for place, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule_problems(schema, rule, f"{path}.x-kubernetes-validations[{place}]")


def _inner_problems(schema: Document, path: str, context: _Context) -> Iterator[Cause]:
    if isinstance(schema.get("not"), dict):
        yield from _problems(schema["not"], f"{path}.not", context)
    for name in ("allOf", "oneOf", "anyOf"):
        for place, each in enumerate(schema.get(name) or ()):
            yield from _problems(each, f"{path}.{name}[{place}]", context)
    for name in ("definitions", "dependencies"):
        for key, each in (schema.get(name) or {}).items():
            if isinstance(each, dict):
                yield from _problems(each, f"{path}.{name}[{key}]", context)
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _problems(items, f"{path}.items", context)
    elif isinstance(items, list):
        for place, each in enumerate(items):
            if isinstance(each, dict):
                yield from _problems(each, f"{path}.items[{place}]", context)


def _plain_problems(schema: Document, path: str, context: _Context) -> Iterator[Cause]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield unsupported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and context.forbids_defaults:
        yield forbidden_value(f"{path}.default", f"must not be set {context.forbids_defaults}")
    if schema.get("id"):
        yield forbidden_value(f"{path}.id", "id is not supported")
    for name in _UNSUPPORTED:
        if schema.get(name) is not None:
            yield forbidden_value(f"{path}.{name}", f"{name} is not supported")
    if kind == "null":
        yield forbidden_value(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list):
        yield forbidden_value(f"{path}.items", "items must be a schema object and not an array")
    if context.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        yield forbidden_value(
            f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta"
        )


def _wrong_type(schema: Document, path: str, detail: str) -> Cause:
    kind = schema.get("type", "")
    return invalid(f"{path}.type", kind, detail) if kind else required(f"{path}.type", detail)


def _map_type_problems(schema: Document, path: str) -> Iterator[Cause]:
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is None:
        return
    if schema.get("type") != "object":
        yield _wrong_type(schema, path, "must be object if x-kubernetes-map-type is specified")
    if map_type not in ("atomic", "granular"):
        yield unsupported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))


def _list_type_problems(schema: Document, path: str) -> Iterator[Cause]:
    list_type, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or []
    items = schema.get("items")
    if list_type is not None and schema.get("type") != "array":
        yield _wrong_type(schema, path, "must be array if x-kubernetes-list-type is specified")
    elif list_type == "set" and isinstance(items, dict):
        yield from _set_item_problems(items, f"{path}.items")
    if list_type not in (None, "atomic", "set", "map"):
        yield unsupported(f"{path}.x-kubernetes-list-type", list_type, ("atomic", "set", "map"))
    if keys and list_type != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        place = f"{path}.x-kubernetes-list-type"
        yield required(place, detail) if list_type is None else invalid(place, list_type, detail)
    if list_type == "map":
        yield from _map_key_problems(items, keys, path)
    if list_type in ("set", "map") and isinstance(items, dict):
        if items.get("nullable"):
            detail = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
            yield forbidden_value(f"{path}.items.nullable", detail)
        if list_type == "map":
            yield from _keys_that_may_lack(items, keys, f"{path}.items")


def _set_item_problems(items: Document, path: str) -> Iterator[Cause]:
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    list_type = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        yield invalid(f"{path}.x-kubernetes-list-type", list_type, detail)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(f"{path}.x-kubernetes-map-type", list_type, detail)


def _map_key_problems(items: object, keys: list[str], path: str) -> Iterator[Cause]:
    if not keys:
        yield required(
            f"{path}.x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map"
        )
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    if not isinstance(items, dict):
        return
    kind = items.get("type", "")
    if kind != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", kind, detail)
        return
    properties = items.get("properties") or {}
    for place, key in enumerate(keys):
        if key not in properties:
            yield invalid(
                f"{path}.x-kubernetes-list-map-keys", keys, "entries must all be names of item properties"
            )
        elif properties[key].get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(f"{path}.items.properties[{key}].type", kind, detail)
        if key in keys[:place]:
            yield invalid(f"{path}.x-kubernetes-list-map-keys", keys, "must not contain duplicate entries")


def _keys_that_may_lack(items: Document, keys: list[str], path: str) -> Iterator[Cause]:
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    why = "this property is in x-kubernetes-list-map-keys, so it"
    for key in keys:
        declared = properties.get(key)
        if declared is None:
            continue
        if key not in needed and declared.get("default") is None:
            detail = f"{why} must have a default or be a required property"
            yield required(f"{path}.properties[{key}].default", detail)
        if declared.get("nullable"):
            yield forbidden_value(f"{path}.properties[{key}].nullable", f"{why} cannot be nullable")


def _rule_problems(schema: Document, rule: Document, path: str) -> Iterator[Cause]:
    """The form of a rule in CEL; what it says is not looked at."""
    text, message, expression = (rule.get(name) or "" for name in ("rule", "message", "messageExpression"))
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    elif _LINE_BREAK.search(text.strip()) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        yield required(f"{path}.messageExpression", detail)
    reason, field = rule.get("reason"), rule.get("fieldPath") or ""
    if reason is not None and reason not in _REASONS:
        yield unsupported(f"{path}.reason", reason, _REASONS)
    if field and not field.strip():
        yield invalid(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _LINE_BREAK.search(field):
        yield invalid(f"{path}.fieldPath", field, "must not contain line breaks")
    if field:
        try:
            follow(declared_schema(schema), field)
        except PathProblem:
            yield invalid(f"{path}.fieldPath", field, "must be a valid path")
