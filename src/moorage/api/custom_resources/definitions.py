"""The CustomResourceDefinition that makes an API server serve the objects of a Python class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints
from urllib.parse import urlsplit

from moorage.api.custom_resources.structural_schemas import Schema, SchemaError, struct_schema
from moorage.api.meta import Object, PrinterColumn
from moorage.api.names import dns_subdomain_problems

APPROVAL = "api-approved.kubernetes.io"

_LABEL = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_LABEL = 63
_COLUMN_EXAMPLE = 'PrinterColumn("Seats", "integer", ".spec.seats")'
_COLUMN_TYPES = get_args(get_type_hints(PrinterColumn)["type"])


class DefinitionError(ValueError):
    """A class that describes no custom resource; the text is one line that names it and says what to do."""


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes community, so that its definitions need an approval."""
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def custom_resource_definition(kind: type[Object], *, api_approved: str = "") -> dict[str, Any]:
    """The definition of the resource that a class describes; raises DefinitionError.

    The class variables of `Object` say where the objects live and what `kubectl get` shows. The fields are
    the schema (see `structural_schemas`); one called `status` makes it a subresource. `api_approved` is the
    address of the review that a group such as `x.k8s.io` needs.
    """
    problem = next(_problems(kind), None)
    if problem is not None:
        raise DefinitionError(f"{kind.__qualname__}: {problem}")
    approved = api_approved or kind.api_approved
    if approved and not _is_approval(approved):
        raise DefinitionError(
            f"{kind.__qualname__}: {approved!r} is no approval; "
            "give the URL of the review, or a text that begins with `unapproved`"
        )
    try:
        schema = _root_schema(kind)
    except SchemaError as error:
        raise DefinitionError(f"{kind.__qualname__}: {error}") from None
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.resource}.{kind.group}",
            **({"annotations": {APPROVAL: approved}} if approved else {}),
        },
        "spec": {
            "group": kind.group,
            "names": _names(kind),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(kind, schema)],
        },
    }


def _names(kind: type[Object]) -> dict[str, Any]:
    names: dict[str, Any] = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.resource,
        "singular": kind.kind.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _version(kind: type[Object], schema: Schema) -> dict[str, Any]:
    version: dict[str, Any] = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if "status" in schema["properties"]:
        version["subresources"] = {"status": {}}
    if kind.printer_columns:
        version["additionalPrinterColumns"] = [_column(column) for column in kind.printer_columns]
    return version


def _column(column: PrinterColumn) -> dict[str, Any]:
    found: dict[str, Any] = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
    optional = {"description": column.description, "format": column.format, "priority": column.priority}
    return found | {key: value for key, value in optional.items() if value}


def _root_schema(kind: type[Object]) -> Schema:
    schema = struct_schema(kind)
    schema["properties"] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        **schema["properties"],
        "metadata": {"type": "object"},
    }
    return schema


def _problems(kind: type[Object]) -> Iterator[str]:
    for variable, example in (("group", "shop.example.com"), ("resource", "licenses"), ("kind", "License")):
        if not _is_text(getattr(kind, variable)):
            yield f'the class variable `{variable}` is missing; write {variable} = "{example}"'
    if problems := dns_subdomain_problems(kind.group):
        yield f"group {kind.group!r}: {problems[0]}"
    if "." not in kind.group:
        yield f"group {kind.group!r}: should be a domain with at least one dot, such as shop.example.com"
    for variable in ("version", "resource"):
        if not _is_label(value := getattr(kind, variable)):
            yield f"{variable} {value!r}: use lower-case letters, digits and dashes, a letter first"
    if not _is_label(kind.kind.lower()) or not kind.kind[0].isupper():
        yield f"kind {kind.kind!r}: use a word such as License"
    for variable in ("short_names", "categories"):
        names = getattr(kind, variable)
        if not isinstance(names, tuple | list) or not all(map(_is_label, names)):
            yield f'{variable} {names!r}: give a tuple of lower-case words, such as ("lic",)'
    namespaced: Any = kind.namespaced
    if not isinstance(namespaced, bool):
        yield f"namespaced {namespaced!r}: write True or False"
    columns: Any = kind.printer_columns
    if not isinstance(columns, tuple | list) or isinstance(columns, PrinterColumn):
        yield f"printer_columns {columns!r}: give a tuple, such as ({_COLUMN_EXAMPLE},)"
    for column in columns:
        yield from _column_problems(column)


def _column_problems(column: Any) -> Iterator[str]:
    if not isinstance(column, PrinterColumn) or not _is_text(column.name):
        yield f"printer_columns: {column!r}: write {_COLUMN_EXAMPLE}"
    elif column.type not in _COLUMN_TYPES:
        yield f"printer column {column.name}: type {column.type!r}: use one of {', '.join(_COLUMN_TYPES)}"
    elif not _is_text(column.json_path) or not column.json_path.startswith("."):
        yield f"printer column {column.name}: path {column.json_path!r}: begin with a dot, as in .spec.seats"
    elif type(column.priority) is not int:
        yield f"printer column {column.name}: priority {column.priority!r}: use a whole number"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_LABEL and _LABEL.fullmatch(value) is not None


def _is_approval(text: Any) -> bool:
    if not _is_text(text):
        return False
    if text.startswith("unapproved"):
        return True
    try:
        found = urlsplit(text)
    except ValueError:
        return False
    return bool(found.scheme and found.netloc)
