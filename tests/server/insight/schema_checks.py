"""Whether a document is as a schema says; of JSON Schema, what the API's description uses."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "null": (type(None),),
}
_KNOWN = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "$ref"}
_SAID = {"description", "default", "minimum", "maximum"}


def problems(document: Any, schema: Schema, schemas: dict[str, Schema], where: str = "$") -> list[str]:
    """What is wrong, with the place."""
    assert schema.keys() <= _KNOWN | _SAID, f"{where}: {schema.keys()}"
    if "$ref" in schema:
        return problems(document, schemas[schema["$ref"].rpartition("/")[2]], schemas, where)
    if "anyOf" in schema:
        tries = [problems(document, each, schemas, where) for each in schema["anyOf"]]
        return [] if [] in tries else min(tries, key=len)
    expected = schema["type"]
    is_that = isinstance(document, _TYPES[expected])
    if not is_that or (isinstance(document, bool) and expected != "boolean"):
        return [f"{where}: {document!r} is no {expected}"[:300]]
    if "enum" in schema and document not in schema["enum"]:
        return [f"{where}: {document!r} is none of {schema['enum']}"]
    found: list[str] = []
    if expected == "array":
        for place, item in enumerate(document):
            found += problems(item, schema["items"], schemas, f"{where}[{place}]")
    if expected == "object":
        fields: dict[str, Schema] = schema.get("properties", {})
        found += [f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in document]
        others = schema.get("additionalProperties", True)
        for name, value in document.items():
            if name in fields:
                found += problems(value, fields[name], schemas, f"{where}.{name}")
            elif others is False:
                found.append(f"{where}.{name} is not described")
            elif isinstance(others, dict):
                found += problems(value, others, schemas, f"{where}.{name}")
    return found
