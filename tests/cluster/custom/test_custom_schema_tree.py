from __future__ import annotations

from typing import Any

from moorage.cluster.custom.structural import Rules, declared_schema, object_meta_schema, to_schema
from moorage.cluster.schema.model import ABSENT, GRANULAR, MAP, SET


def test_an_object_has_the_fields_all_objects_have() -> None:
    schema = to_schema({"type": "object", "properties": {"spec": {"type": "object"}}})

    assert list(schema.fields) == ["apiVersion", "kind", "spec", "metadata"]
    assert schema.fields["metadata"].schema is object_meta_schema()
    assert "ownerReferences" in schema.fields["metadata"].schema.fields


def test_rules_for_names_are_added_to_the_common_metadata() -> None:
    names = {"name": {"type": "string", "maxLength": 5}}
    schema = to_schema(
        {"type": "object", "properties": {"metadata": {"type": "object", "properties": names}}}
    )
    metadata = schema.fields["metadata"].schema

    assert metadata.fields["name"].schema.rules == {"maxLength": 5}
    assert "labels" in metadata.fields
    assert object_meta_schema().fields["name"].schema.rules == {}


def test_whole_objects_inside_have_those_fields_too() -> None:
    template = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object"}},
    }
    schema = to_schema({"type": "object", "properties": {"template": template}})
    inner = schema.fields["template"].schema

    assert inner.embedded
    assert set(inner.fields) == {"apiVersion", "kind", "metadata", "spec"}
    assert [name for name, field in inner.fields.items() if field.required] == ["apiVersion", "kind"]
    assert not any(field.required for field in schema.fields.values())


def test_what_is_declared() -> None:
    open_api: dict[str, Any] = {
        "type": "object",
        "required": ["b", "a", "undeclared"],
        "properties": {
            "a": {"type": "string", "default": "", "enum": ["", "x"]},
            "b": {"type": "integer", "format": "int32", "nullable": True},
            "c": {"x-kubernetes-int-or-string": True},
            "d": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "e": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
            },
            "f": {"type": "object", "additionalProperties": {"type": "number"}},
            "g": {"type": "object", "x-kubernetes-map-type": "atomic"},
            "h": {"x-kubernetes-preserve-unknown-fields": True},
            "i": {"type": "string", "format": "nobody-knows"},
        },
    }
    schema = declared_schema(open_api)
    fields = schema.fields

    assert schema.rules == {"required": ["b", "a", "undeclared"]}
    assert [name for name, field in fields.items() if field.required] == ["a", "b"]
    assert (fields["a"].default, fields["b"].default) == ("", ABSENT)
    assert (fields["b"].schema.format, fields["b"].schema.nullable) == ("int32", True)
    assert (fields["c"].schema.type, fields["c"].schema.format) == ("", "int-or-string")
    assert fields["d"].schema.list_type == SET
    assert (fields["e"].schema.list_type, fields["e"].schema.list_keys) == (MAP, ("k",))
    assert fields["f"].schema.values is not None and fields["f"].schema.values.type == "number"
    assert (fields["g"].schema.map_type, fields["f"].schema.map_type) == ("atomic", GRANULAR)
    assert fields["h"].schema.keeps_unknown
    assert fields["i"].schema.format == ""


def test_alternatives_are_ready_for_use_and_still_as_they_were_written() -> None:
    any_of = [{"minimum": 1}, {"properties": {"x": {"minLength": 1}}}]
    rules = declared_schema({"anyOf": any_of, "not": {"required": ["y"]}, "pattern": "^a$"}).rules

    assert isinstance(rules, Rules)
    assert rules["anyOf"] == any_of
    assert rules.any_of[1].fields["x"].schema.rules == {"minLength": 1}
    assert rules.not_ is not None and isinstance(rules.not_.rules, Rules) and rules.not_.rules.needs == ["y"]
    assert rules.pattern is not None and not rules.pattern.search("a\n")
