"""From Python types to the structural schemas of custom resources.

What the types of a Struct say becomes what the API server checks: a field without a default is required, a
default is filled in, constraints of `msgspec.Meta` are validated, docstrings (below a field, too) are
descriptions. `X | None = None` is an optional field; `X | None` without a default, or with another one, takes
an explicit null, too. Further properties of a schema, such as `x-kubernetes-validations`, are given with
`Meta(extra_json_schema=...)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from inspect import cleandoc
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from moorage.api.custom_resources.field_docs import field_docs

Schema: TypeAlias = dict[str, Any]
_Fielded = inspect.StructType | inspect.DataclassType | inspect.TypedDictType
_Collection = inspect.ListType | inspect.VarTupleType | inspect.SetType | inspect.FrozenSetType

_INT32, _INT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
_PRESERVED: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
_UNKNOWN_TO_DEFINITIONS = ("examples",)
_TEXTS: dict[type[inspect.Type], str] = {
    inspect.BytesType: "byte",
    inspect.ByteArrayType: "byte",
    inspect.DateTimeType: "date-time",
    inspect.DateType: "date",
    inspect.UUIDType: "uuid",
}
_PLAIN = (inspect.BoolType, inspect.IntType, inspect.FloatType, inspect.StrType)


class SchemaError(ValueError):
    """A type that a structural schema cannot express; the text is one line that names the field."""


def struct_schema(kind: type[msgspec.Struct]) -> Schema:
    """The schema of a Struct; raises SchemaError."""
    try:
        found = inspect.type_info(kind)
    except (TypeError, NameError, AttributeError) as error:
        raise SchemaError(" ".join(str(error).split())) from None
    assert isinstance(found, inspect.StructType)
    return _object(found, "", ())


def _schema(shape: inspect.Type, path: str, parents: tuple[object, ...]) -> Schema:
    match shape:
        case inspect.Metadata():
            more = shape.extra_json_schema or {}
            added = {key: value for key, value in more.items() if key not in _UNKNOWN_TO_DEFINITIONS}
            return _schema(shape.type, path, parents) | added
        case inspect.AnyType() | inspect.RawType():
            return dict(_PRESERVED)
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.IntType():
            return {"type": "integer", **_integer_limits(shape)}
        case inspect.FloatType():
            return {"type": "number", "format": "double", **_limits(shape)}
        case inspect.StrType():
            return {"type": "string", **_text_limits(shape)}
        case inspect.EnumType():
            return _choice([member.value for member in shape.cls], path)
        case inspect.LiteralType():
            return _choice(shape.values, path)
        case inspect.UnionType():
            return _union(shape, path, parents)
        case inspect.DictType():
            return _map(shape, path, parents)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return _array(shape, path, parents)
        case inspect.TupleType(item_types=(first, *others)) if all(item == first for item in others):
            size = len(shape.item_types)
            items = _schema(first, f"{path}[*]", parents)
            return {"type": "array", "items": items, "minItems": size, "maxItems": size}
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType():
            return _object(shape, path, parents)
    if shape.__class__ in _TEXTS:
        return {"type": "string", "format": _TEXTS[shape.__class__]}
    raise _refused(path, f"a {_name(shape)} cannot be expressed; use a type that JSON has")


def _object(shape: _Fielded, path: str, parents: tuple[object, ...]) -> Schema:
    if shape.cls in parents:
        raise _refused(path, f"{shape.cls.__name__} contains itself, which a definition cannot express")
    if isinstance(shape, inspect.StructType) and shape.array_like:
        raise _refused(path, f"{shape.cls.__name__} is array_like, which a definition cannot express")
    texts = field_docs(shape.cls)
    properties: Schema = {}
    required: list[str] = []
    for field in shape.fields:
        at = f"{path}.{field.encode_name}" if path else field.encode_name
        properties[field.encode_name] = _field(field, at, (*parents, shape.cls), texts.get(field.name, ""))
        if field.required:
            required.append(field.encode_name)
    if isinstance(shape, inspect.StructType) and shape.tag_field is not None:
        properties[shape.tag_field] = _choice([shape.tag], path)
        required.append(shape.tag_field)
    schema: Schema = {"type": "object", "properties": properties, **_described(_own_doc(shape))}
    return schema | {"required": required} if required else schema


def _field(field: inspect.Field, path: str, parents: tuple[object, ...], text: str) -> Schema:
    schema = _schema(field.type, path, parents)
    described = isinstance(field.type, inspect.Metadata) and "description" in (
        field.type.extra_json_schema or {}
    )
    if not described:
        schema |= _described(text)
    if field.required:
        return schema
    if field.default is None:
        return _without_null(schema)
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    return schema if _is_empty(default) else schema | {"default": _encoded(default, path)}


def _is_empty(default: Any) -> bool:
    """Whether an absent field says the same."""
    if default is msgspec.NODEFAULT or default is msgspec.UNSET:
        return True
    if isinstance(default, msgspec.Struct):
        try:
            return bool(msgspec.to_builtins(default) == msgspec.to_builtins(default.__class__()))
        except TypeError:
            return False
    return isinstance(default, dict | list | tuple | set | frozenset | bytes | bytearray) and not default


def _encoded(default: Any, path: str) -> Any:
    try:
        return msgspec.json.decode(msgspec.json.encode(default))
    except (TypeError, ValueError) as error:
        raise _refused(path, f"the default cannot be written as JSON: {error}") from None


def _union(union: inspect.UnionType, path: str, parents: tuple[object, ...]) -> Schema:
    types = [shape for shape in union.types if not isinstance(shape, inspect.NoneType)]
    null = {"nullable": True} if len(types) < len(union.types) else {}
    if len(types) == 1:
        return _schema(types[0], path, parents) | null
    classes = {_bare(shape).__class__ for shape in types}
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    if classes == {inspect.IntType, inspect.StrType}:
        return either | _limits_of_all(types) | null
    if classes == {inspect.IntType, inspect.FloatType, inspect.StrType}:
        return either | {"pattern": _QUANTITY} | _limits_of_all(types) | null
    if classes == {inspect.IntType, inspect.FloatType}:
        return {"type": "number", "format": "double"} | null
    names = " or ".join(_name(shape) for shape in types)
    raise _refused(path, f"{names}: a definition cannot express this choice; use one type")


def _map(shape: inspect.DictType, path: str, parents: tuple[object, ...]) -> Schema:
    if not isinstance(_bare(shape.key_type), inspect.StrType | inspect.AnyType):
        raise _refused(path, f"the keys are of type {_name(shape.key_type)}; use str")
    limits = _given(minProperties=shape.min_length, maxProperties=shape.max_length)
    if isinstance(_bare(shape.value_type), inspect.AnyType | inspect.RawType):
        return {"type": "object", **_PRESERVED, **limits}
    values = _schema(shape.value_type, f"{path}[*]", parents)
    return {"type": "object", "additionalProperties": values, **limits}


def _array(shape: _Collection, path: str, parents: tuple[object, ...]) -> Schema:
    schema: Schema = {
        "type": "array",
        "items": _schema(shape.item_type, f"{path}[*]", parents),
        **_given(minItems=shape.min_length, maxItems=shape.max_length),
    }
    if isinstance(shape, inspect.SetType | inspect.FrozenSetType):
        if not isinstance(_bare(shape.item_type), _PLAIN):
            raise _refused(path, f"a set of {_name(shape.item_type)} cannot be expressed; use a list")
        schema["x-kubernetes-list-type"] = "set"
    return schema


def _choice(values: Sequence[Any], path: str) -> Schema:
    given = [value for value in values if value is not None]
    types = {type(value) for value in given}
    null: Schema = {"nullable": True} if len(given) < len(values) else {}
    listed = sorted(given) if len(types) == 1 else given
    if types == {str}:
        return {"type": "string", "enum": [*listed, *([None] if null else [])], **null}
    if types == {int}:
        return {"type": "integer", "format": "int64", "enum": [*listed, *([None] if null else [])], **null}
    raise _refused(path, "the values are not all texts or all whole numbers, which a definition demands")


def _without_null(schema: Schema) -> Schema:
    kept = {key: value for key, value in schema.items() if key != "nullable"}
    if "enum" in kept:
        kept["enum"] = [value for value in kept["enum"] if value is not None]
    return kept


def _integer_limits(shape: inspect.IntType) -> Schema:
    """The format, and the bounds that it does not say already."""
    if (shape.ge, shape.le) == _INT32:
        return {"format": "int32"}
    limits = _limits(shape)
    for key, bound in zip(("minimum", "maximum"), _INT64, strict=True):
        if limits.get(key) == bound:
            del limits[key]
    return {"format": "int64", **limits}


def _limits(shape: inspect.IntType | inspect.FloatType) -> Schema:
    limits = _given(minimum=shape.ge, maximum=shape.le, multipleOf=shape.multiple_of)
    if shape.gt is not None:
        limits |= {"minimum": shape.gt, "exclusiveMinimum": True}
    if shape.lt is not None:
        limits |= {"maximum": shape.lt, "exclusiveMaximum": True}
    return limits


def _text_limits(shape: inspect.StrType) -> Schema:
    return _given(minLength=shape.min_length, maxLength=shape.max_length, pattern=shape.pattern)


def _limits_of_all(shapes: Sequence[inspect.Type]) -> Schema:
    """Those of numbers hold for numbers only, and those of texts for texts."""
    limits: Schema = {}
    for shape in map(_bare, shapes):
        if isinstance(shape, inspect.StrType):
            limits |= _text_limits(shape)
        elif isinstance(shape, inspect.IntType | inspect.FloatType):
            limits |= _limits(shape)
    return limits


def _given(**properties: Any) -> Schema:
    return {name: value for name, value in properties.items() if value is not None}


def _own_doc(shape: _Fielded) -> str:
    text = shape.cls.__doc__ or ""
    # A dataclass without a docstring is given its signature as one.
    is_signature = isinstance(shape, inspect.DataclassType) and text.startswith(f"{shape.cls.__name__}(")
    return "" if is_signature else text


def _described(text: str) -> Schema:
    """A description whose paragraphs are one line each; a Struct's own docstring only, no inherited one."""
    paragraphs = re.split(r"\n\s*\n", cleandoc(text))
    joined = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs).strip()
    return {"description": joined} if joined else {}


def _bare(shape: inspect.Type) -> inspect.Type:
    return shape.type if isinstance(shape, inspect.Metadata) else shape


def _name(shape: inspect.Type) -> str:
    bare = _bare(shape)
    named = getattr(bare, "cls", None)
    return str(named.__name__) if named is not None else bare.__class__.__name__.removesuffix("Type").lower()


def _refused(path: str, why: str) -> SchemaError:
    return SchemaError(f"{path}: {why}" if path else why)
