"""The rules for one version of a custom resource, or for what all of them have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base.errors import Cause, duplicate_value, invalid_value, required, too_many
from moorage.cluster.base.go_text import as_json
from moorage.cluster.base.store import Document
from moorage.cluster.custom.schema_rules import schema_problems
from moorage.cluster.custom.structural import PathProblem, declared_schema, follow, open_api_of
from moorage.cluster.schema.forms import size

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES = ("string", "boolean", "integer")
_MOST_SELECTABLE = 8
_LONGEST_WARNING = 256


def version_problems(
    own: Document, version: Document, path: str, *, schema_path: str, is_stored: bool = False
) -> Iterator[Cause]:
    """The problems of what is in `own`, be it of one version or of all; its schema may be stored just so."""
    subresources, schema = version.get("subresources") or {}, open_api_of(own)
    if schema is not None:
        has_status = subresources.get("status") is not None
        where = f"{schema_path}.openAPIV3Schema"
        yield from schema_problems(schema, where, has_status=has_status, is_stored=is_stored)
    scale = (own.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale_problems(scale, f"{path}.subresources.scale")
    for place, column in enumerate(own.get("additionalPrinterColumns") or ()):
        yield from _column_problems(column, f"{path}.additionalPrinterColumns[{place}]")
    whole = open_api_of(version)
    if whole is not None and (selectable := own.get("selectableFields")):
        yield from _selectable_problems(selectable, whole, f"{path}.selectableFields")


def deprecation_problems(version: Document, path: str) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is not None:
        for problem in _warning_problems(warning, deprecated=version.get("deprecated", False)):
            yield Cause("FieldValueInvalid", path, f"Invalid value: {as_json(warning)}: {problem}")


def _warning_problems(warning: str, *, deprecated: bool) -> Iterator[str]:
    if not deprecated:
        yield "can only be set for deprecated versions"
        return
    if size(warning) > _LONGEST_WARNING:
        yield f"must be <= {_LONGEST_WARNING} characters long"
    if not warning:
        yield "must not be an empty string"
    hidden = next((place for place, letter in enumerate(warning) if not letter.isprintable()), None)
    if hidden is not None:
        only = "must only contain printable UTF-8 characters"
        yield f"{only}; non-printable character found at index {size(warning[:hidden])}"


def _column_problems(column: Document, path: str) -> Iterator[Cause]:
    kind, form = column.get("type", ""), column.get("format", "")
    if not column.get("name"):
        yield required(f"{path}.name")
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield required(f"{path}.type", types)
    elif kind not in _COLUMN_TYPES:
        yield invalid_value(f"{path}.type", kind, types)
    if form and form not in _COLUMN_FORMATS:
        yield invalid_value(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
    yield from _path_problems(f"{path}.JSONPath", column.get("jsonPath", ""))


def _path_problems(field: str, path: str, *below: str) -> Iterator[Cause]:
    if not path:
        yield required(field)
    elif not path.startswith("."):
        yield invalid_value(field, path, "must be a simple json path starting with .")
    elif below and not path.startswith(tuple(f"{each}." for each in below)):
        where = f"either {' or '.join(below)}" if len(below) > 1 else below[0]
        yield invalid_value(field, path, f"should be a json path under {where}")


def _scale_problems(scale: Document, path: str) -> Iterator[Cause]:
    yield from _path_problems(f"{path}.specReplicasPath", scale.get("specReplicasPath", ""), ".spec")
    yield from _path_problems(f"{path}.statusReplicasPath", scale.get("statusReplicasPath", ""), ".status")
    if selector := scale.get("labelSelectorPath"):
        yield from _path_problems(f"{path}.labelSelectorPath", selector, ".spec", ".status")


def _selectable_problems(selectable: Iterable[Document], open_api: Document, path: str) -> Iterator[Cause]:
    schema = declared_schema(open_api)
    seen: set[tuple[str, ...]] = set()
    for place, each in enumerate(selectable):
        field, json_path = f"{path}[{place}].jsonPath", each.get("jsonPath", "")
        if not json_path:
            yield required(field)
            continue
        try:
            names, found = follow(schema, json_path, brackets=False)
        except PathProblem as problem:
            yield invalid_value(field, json_path, f"is an invalid path: {problem}")
            continue
        if names[0] == "metadata":
            yield invalid_value(field, json_path, "must not point to fields in metadata")
        if found.type not in _SELECTABLE_TYPES:
            wanted = "must point to a field of type string, boolean or integer"
            also = "Enum string fields and strings with formats are allowed."
            yield invalid_value(field, json_path, f"{wanted}. {also}")
        if names in seen:
            yield duplicate_value(field, json_path)
        seen.add(names)
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)
