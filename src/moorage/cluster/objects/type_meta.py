"""What a body says of itself: its apiVersion and its kind."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.errors import Refusal, bad_request, invalid, invalid_value
from moorage.cluster.base.go_text import json_type
from moorage.cluster.base.store import Document
from moorage.cluster.schema.conform import Undecodable
from moorage.cluster.schema.definitions import Definition

_MOST_SHOWN = 30  # bytes of a body
_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def check_type_meta(definition: Definition, value: Any, body: bytes) -> None:
    """Refuses a body of which nobody can tell what it is. Only custom resources need to say it."""
    problem = "" if isinstance(value, dict) else _mismatch(value, f"value of type {_STRUCT}")
    problem = problem or _wrong_type(value)
    if problem:
        raise _unrecognized(definition, f"couldn't get version/kind; json parse error: {problem}", body)
    if not definition.custom:
        return
    if not value.get("kind"):
        shown = body.decode(errors="replace")
        raise _unrecognized(definition, f"Object 'Kind' is missing in '{shown}'", body)
    version = value.get("apiVersion") or ""
    if version != definition.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version"
            f" ({definition.api_version})"
        )


def check_kind(definition: Definition, document: Document) -> None:
    """Refuses a document of another kind or version."""
    kind = document.get("kind") or definition.kind
    version = document.get("apiVersion") or definition.api_version
    if (kind, version) == (definition.kind, definition.api_version):
        return
    if definition.custom:
        raise _other_custom_kind(definition, kind, version, document)
    wanted = f"cannot be handled as a {definition.kind}"
    if version != definition.api_version:
        raise bad_request(
            f'{kind} in version "{version}" {wanted}: no kind "{kind}" is registered for version "{version}"'
        )
    raise bad_request(f'{kind} in version "{definition.version}" {wanted}: unknown conversion')


def _other_custom_kind(definition: Definition, kind: Any, version: Any, document: Document) -> Refusal:
    """Nothing custom can be made a thing of another kind or version."""
    if problem := _wrong_type(document):
        return Undecodable(definition.kind, definition.api_version, problem)
    metadata = document.get("metadata")
    name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
    if version != definition.api_version:
        cause = invalid_value("apiVersion", version, f"must be {definition.api_version}")
    else:
        cause = invalid_value("kind", kind, f"must be {definition.kind}")
    return invalid(kind, version.rpartition("/")[0], name, [cause])


def _wrong_type(document: Document) -> str:
    """What is wrong with a version or kind that is no text; empty if nothing is."""
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name) or "", str):
            return _mismatch(document[name], f"struct field .{name} of type string")
    return ""


def _mismatch(value: Any, wanted: str) -> str:
    return f"json: cannot unmarshal {json_type(value)} into Go {wanted}"


def _unrecognized(definition: Definition, why: str, body: bytes) -> Refusal:
    more = " ..." if len(body) > _MOST_SHOWN else ""
    start = body[:_MOST_SHOWN]
    shown = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return bad_request(
        f"the object provided is unrecognized (must be of type {definition.kind}): {why}"
        f" ({shown or '<empty>'}{more})"
    )
