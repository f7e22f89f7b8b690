"""The rules for one version of a custom resource, or for what all of them have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base.errors import Cause, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.field_paths import PathProblem, follow
from moorage.cluster.custom.schema_rules import schema_problems
from moorage.cluster.custom.structural import declared_schema
from moorage.cluster.custom.wording import Ordered, duplicate, invalid, too_many

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_SELECTABLE = 8
_LONGEST_WARNING = 256


def version_problems(
    own: Document, version: Document, path: str, *, in_version: bool = False
) -> Iterator[Cause]:
    """The problems of what is in `own`, be it of one version or of all."""
    schema = (own.get("schema") or {}).get("openAPIV3Schema")
    if schema is not None:
        place = f"{path}.schema" if in_version else f"{path}.validation"
        has_status = (version.get("subresources") or {}).get("status") is not None
        yield from schema_problems(schema, f"{place}.openAPIV3Schema", has_status=has_status)
    scale = (own.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale_problems(scale, f"{path}.subresources.scale")
    for index, column in enumerate(own.get("additionalPrinterColumns") or ()):
        yield from _column_problems(column, f"{path}.additionalPrinterColumns[{index}]")
    selectable = own.get("selectableFields") or ()
    if selectable and (schema := (version.get("schema") or {}).get("openAPIV3Schema")) is not None:
        yield from _selectable_problems(selectable, schema, f"{path}.selectableFields")


def deprecation_problems(version: Document, path: str) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    problems = []
    if not version.get("deprecated"):
        problems.append("can only be set for deprecated versions")
    else:
        if len(warning.encode(errors="replace")) > _LONGEST_WARNING:
            problems.append("must be <= 256 characters long")
        if not warning:
            problems.append("must not be an empty string")
        for letter in warning:
            if not letter.isprintable():
                at = len(warning[: warning.index(letter)].encode(errors="replace"))
                problems.append(
                    "must only contain printable UTF-8 characters; "
                    f"non-printable character found at index {at}"
                )
                break
    yield from (invalid(path, Ordered(warning), problem) for problem in problems)


def _column_problems(column: Document, path: str) -> Iterator[Cause]:
    kind, form, json_path = column.get("type", ""), column.get("format", ""), column.get("jsonPath", "")
    if not column.get("name"):
        yield required(f"{path}.name")
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield required(f"{path}.type", types)
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", kind, types)
    if form and form not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
    yield from _path_problems(f"{path}.JSONPath", json_path)


def _path_problems(field: str, path: str, below: tuple[str, ...] = (), where: str = "") -> Iterator[Cause]:
    if not path:
        yield required(field)
    elif not path.startswith("."):
        yield invalid(field, path, "must be a simple json path starting with .")
    elif below and not path.startswith(below):
        yield invalid(field, path, f"should be a json path under {where}")


def _scale_problems(scale: Document, path: str) -> Iterator[Cause]:
    wanted, present = scale.get("specReplicasPath", ""), scale.get("statusReplicasPath", "")
    selector = scale.get("labelSelectorPath")
    yield from _path_problems(f"{path}.specReplicasPath", wanted, (".spec.",), ".spec")
    yield from _path_problems(f"{path}.statusReplicasPath", present, (".status.",), ".status")
    if selector:
        either = (".spec.", ".status.")
        yield from _path_problems(f"{path}.labelSelectorPath", selector, either, "either .spec or .status")


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
            yield invalid(field, json_path, f"is an invalid path: {problem}")
            continue
        if names[0] == "metadata":
            yield invalid(field, json_path, "must not point to fields in metadata")
        if found is None or found.type not in ("string", "boolean", "integer"):
            yield invalid(
                field,
                json_path,
                "must point to a field of type string, boolean or integer. Enum string fields and strings "
                "with formats are allowed.",
            )
        if names in seen:
            yield duplicate(field, json_path)
        seen.add(names)
    if len(seen) > _MOST_SELECTABLE:
        yield too_many(path, len(seen), _MOST_SELECTABLE)
