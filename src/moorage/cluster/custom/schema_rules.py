"""The rules that the schema in a CustomResourceDefinition must keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.custom.default_rules import default_problems
from moorage.cluster.custom.field_paths import PathProblem, follow
from moorage.cluster.custom.internal_form import ROOT_FIELDS, internal_schema, other_than_root_fields
from moorage.cluster.custom.list_rules import list_type_problems
from moorage.cluster.custom.open_api import inner_schemas, is_deeper_than
from moorage.cluster.custom.structural import META_FIELDS, declared_schema
from moorage.cluster.custom.structure_rules import structure_problems, unsupported_part, wrong_type

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_MAP_TYPES = ("atomic", "granular")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK = re.compile(r"[\n\r]")
_DEEPEST = 80  # far more than anyone needs, and few enough to be followed by functions that call themselves
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_TOP_LEVEL = {f".properties[{name}]": f"in top-level {name}" for name in META_FIELDS}
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


def schema_problems(schema: Document, path: str, *, has_status: bool) -> Iterator[Cause]:
    """The broken rules; where the status has an address of its own, less may stand at the root."""
    if is_deeper_than(schema, _DEEPEST):
        yield invalid_value(path, "", f"must not be nested more than {_DEEPEST} levels deep")
        return
    found = [*_root_problems(schema, path, has_status=has_status)]
    unsupported_here = unsupported_part(schema)
    if not unsupported_here:
        found += structure_problems(schema, path) or default_problems(schema, path)
    found += _problems(schema, path, _Context(), root=True)
    if unsupported_here and not found:
        found.append(invalid_value(path, "", unsupported_here))
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
    kind, map_type = schema.get("type", ""), schema.get("x-kubernetes-map-type")
    if kind and kind not in _TYPES:
        yield unsupported_value(f"{path}.type", kind, _TYPES)
    for name, detail in _forbidden(schema, context):
        yield forbidden_value(f"{path}.{name}", detail)
    for step, inner in inner_schemas(schema):
        if not step.startswith(_NOT_LOOKED_AT):
            yield from _problems(inner, path + step, context.inside(schema, step, root=root))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid_value(
            f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"
        )
    if map_type is not None and kind != "object":
        yield wrong_type(schema, path, "must be object if x-kubernetes-map-type is specified")
    if map_type not in (None, *_MAP_TYPES):
        yield unsupported_value(f"{path}.x-kubernetes-map-type", map_type, _MAP_TYPES)
    yield from list_type_problems(schema, path)
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
        yield (
            "uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield "additionalProperties", "additionalProperties and properties are mutual exclusive"


def _rule_problems(schema: Document, rule: Document, path: str) -> Iterator[Cause]:
    """The form of a rule in CEL; what it says is not looked at."""
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
        detail = "messageExpression must be non-empty if specified"
        yield required(f"{path}.messageExpression", detail)
    reason, field = rule.get("reason"), rule.get("fieldPath") or ""
    if reason not in (None, *_REASONS):
        yield unsupported_value(f"{path}.reason", reason, _REASONS)
    if field and not field.strip():
        yield invalid_value(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _LINE_BREAK.search(field):
        yield invalid_value(f"{path}.fieldPath", field, "must not contain line breaks")
    try:
        follow(declared_schema(schema), field)
    except PathProblem:
        yield invalid_value(f"{path}.fieldPath", field, "must be a valid path")
