from __future__ import annotations

import datetime
import uuid
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

from moorage.api.custom_resources.structural_schemas import SchemaError, struct_schema
from moorage.api.meta import Int32, Int64, Quantity
from tests.api.licenses import LicenseSpec, LicenseStatus, Seat


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Pair(TypedDict):
    left: int


@dataclass
class Point:
    x: int


class Loop(msgspec.Struct):
    next: Loop | None = None


class Row(msgspec.Struct, array_like=True):
    x: int


class Circle(msgspec.Struct, tag_field="shape", tag="circle"):
    radius: float = 1.0


QUANTITY = struct_schema(LicenseSpec)["properties"]["memory"]["pattern"]
INT = {"type": "integer", "format": "int64"}
TEXT = {"type": "string"}
NUMBER = {"type": "number", "format": "double"}
KEEP = {"x-kubernetes-preserve-unknown-fields": True}
INT_OR_STRING = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def field(annotation: Any, default: Any = msgspec.NODEFAULT) -> dict[str, Any]:
    """The schema of one field of this type."""
    given: tuple[Any, ...]
    if isinstance(default, msgspec.Struct):
        given = (msgspec.field(default_factory=lambda: default),)
    else:
        given = () if default is msgspec.NODEFAULT else (default,)
    made = msgspec.defstruct("Made", [("f", annotation, *given)], module=__name__)
    schema: dict[str, Any] = struct_schema(made)["properties"]["f"]
    return schema


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (bool, {"type": "boolean"}),
        (int, INT),
        (Int64, INT),
        (Int32, {"type": "integer", "format": "int32"}),
        (float, NUMBER),
        (str, TEXT),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Any, KEEP),
        (dict, {"type": "object", **KEEP}),
        (dict[str, Any], {"type": "object", **KEEP}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (list[int], {"type": "array", "items": INT}),
        (tuple[str, ...], {"type": "array", "items": TEXT}),
        (tuple[int, int], {"type": "array", "items": INT, "minItems": 2, "maxItems": 2}),
        (frozenset[str], {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}),
        (list[str | None], {"type": "array", "items": {**TEXT, "nullable": True}}),
        (Literal["b", "a"], {**TEXT, "enum": ["a", "b"]}),
        (Literal["a", None], {**TEXT, "enum": ["a", None], "nullable": True}),
        (Level, {**INT, "enum": [1, 2]}),
        (int | str, INT_OR_STRING),
        (Quantity, {**INT_OR_STRING, "pattern": QUANTITY}),
        (int | float, NUMBER),
        (int | None, {**INT, "nullable": True}),
        (Pair, {"type": "object", "properties": {"left": INT}, "required": ["left"]}),
        (
            Circle,
            {
                "type": "object",
                "properties": {"radius": {**NUMBER, "default": 1.0}, "shape": {**TEXT, "enum": ["circle"]}},
                "required": ["shape"],
            },
        ),
        (
            Annotated[int, msgspec.Meta(gt=0, le=9, multiple_of=3)],
            {**INT, "minimum": 0, "exclusiveMinimum": True, "maximum": 9, "multipleOf": 3},
        ),
        (Annotated[float, msgspec.Meta(lt=2)], {**NUMBER, "maximum": 2, "exclusiveMaximum": True}),
        (Annotated[list[int], msgspec.Meta(min_length=1)], {"type": "array", "items": INT, "minItems": 1}),
        (
            Annotated[str, msgspec.Meta(description="Text.", title="T", examples=["x"])],
            {**TEXT, "description": "Text.", "title": "T"},
        ),
        (
            Annotated[str, msgspec.Meta(extra_json_schema={"x-kubernetes-validations": [{"rule": "true"}]})],
            {**TEXT, "x-kubernetes-validations": [{"rule": "true"}]},
        ),
        (Point, {"type": "object", "properties": {"x": INT}, "required": ["x"]}),
        (
            Annotated[int, msgspec.Meta(ge=0)] | Annotated[str, msgspec.Meta(pattern="%$", max_length=4)],
            {**INT_OR_STRING, "minimum": 0, "maxLength": 4, "pattern": "%$"},
        ),
    ],
)
def test_what_types_become(annotation: Any, expected: dict[str, Any]) -> None:
    assert field(annotation) == expected


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (int, 0, {**INT, "default": 0}),
        (bool, False, {"type": "boolean", "default": False}),
        (Level, Level.HIGH, {**INT, "enum": [1, 2], "default": 2}),
        (tuple[int, ...], (1, 2), {"type": "array", "items": INT, "default": [1, 2]}),
        (int | None, None, INT),
        (int | None, 5, {**INT, "nullable": True, "default": 5}),
        (Literal["a"] | None, None, {**TEXT, "enum": ["a"]}),
        (int | msgspec.UnsetType, msgspec.UNSET, INT),
        (Circle, Circle(), field(Circle)),
        (Circle, Circle(2.0), {**field(Circle), "default": {"shape": "circle", "radius": 2.0}}),
        (bytes, b"", {**TEXT, "format": "byte"}),
        (Seat, Seat("me"), {**field(Seat), "default": {"userName": "me"}}),
    ],
)
def test_what_defaults_become(annotation: Any, default: Any, expected: dict[str, Any]) -> None:
    assert field(annotation, default) == expected


def test_empty_collections_are_the_same_as_none_at_all() -> None:
    properties = struct_schema(LicenseSpec)["properties"]
    assert not any("default" in properties[name] for name in ("holders", "tags", "limits", "anything"))


def test_descriptions_are_docstrings_also_those_below_a_field() -> None:
    schema = struct_schema(LicenseSpec)
    assert schema["description"] == "What was bought."
    assert schema["properties"]["seats"] == {
        **INT,
        "minimum": 1,
        "maximum": 1000,
        "description": "How many may use it at once.\n\nAt least one.",
    }
    assert schema["properties"]["holders"]["items"]["description"] == "One place."
    assert "description" not in schema["properties"]["trial"]


def test_what_has_no_default_is_required() -> None:
    assert struct_schema(LicenseSpec)["required"] == ["seats"]
    assert struct_schema(Seat)["required"] == ["userName"]
    assert "required" not in struct_schema(LicenseStatus)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (None, "f: a none cannot be expressed; use a type that JSON has"),
        (Decimal, "f: a decimal cannot be expressed"),
        (datetime.timedelta, "f: a timedelta cannot be expressed"),
        (dict[int, str], "f: the keys are of type int; use str"),
        (dict[str, dict[int, str]], "f[*]: the keys are of type int; use str"),
        (list[bool | str], "f[*]: bool or str: a definition cannot express this choice; use one type"),
        (tuple[int, str], "f: a tuple cannot be expressed"),
        (tuple[()], "f: a tuple cannot be expressed"),
        (set[Level], "f: a set of Level cannot be expressed; use a list"),
        (Literal["a", 1], "f: the values are not all texts or all whole numbers"),
        (Loop, "f.next: Loop contains itself, which a definition cannot express"),
        (Row, "f: Row is array_like, which a definition cannot express"),
        (int | Circle | Row, "all Struct types must be tagged"),
    ],
)
def test_what_cannot_be_expressed(annotation: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        field(annotation)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_type_that_is_not_there() -> None:
    made = msgspec.defstruct("Made", [("f", "Missing")], module=__name__)
    with pytest.raises(SchemaError, match="Missing"):
        struct_schema(made)
