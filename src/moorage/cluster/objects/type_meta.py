"""What a body says of itself: its apiVersion and its kind."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.errors import Refusal, bad_request, invalid, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.schema.conform import Undecodable
from moorage.cluster.schema.definitions import Definition

_MOST_SHOWN = 30  # bytes of a body
_JSON_NAMES = {list: "array", dict: "object", str: "string", bool: "bool"}
_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def check_type_meta(definition: Definition, value: Any, body: bytes) -> None:
    """Refuses a body of which nobody can tell what it is. Only custom resources need to say it."""
    if value is not None and not isinstance(value, dict):
        raise _unreadable(definition, value, f"value of type {_STRUCT}", body)
    said: Document = value or {}
    for name in ("apiVersion", "kind"):
        if not isinstance(said.get(name) or "", str):
            raise _unreadable(definition, said[name], f"struct field .{name} of type string", body)
    if not definition.custom:
        return
    if not said.get("kind"):
        shown = body.decode(errors="replace")
        raise _unrecognized(definition, f"Object 'Kind' is missing in '{shown}'", body)
    version = said.get("apiVersion") or ""
    if version != definition.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version"
            f" ({definition.api_version})"
        )


def check_custom_type(definition: Definition, kind: Any, version: Any, document: Document) -> None:
    """Refuses a custom object that is made one of another kind or version."""
    for name, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str):
            problem = _mismatch(value, f"struct field .{name} of type string")
            raise Undecodable(definition.kind, definition.api_version, problem)
    group = version.rpartition("/")[0]
    metadata = document.get("metadata")
    name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
    if version != definition.api_version:
        cause = invalid_value("apiVersion", version, f"must be {definition.api_version}")
        raise invalid(kind, group, name, [cause])
    if kind != definition.kind:
        raise invalid(kind, group, name, [invalid_value("kind", kind, f"must be {definition.kind}")])


def _unreadable(definition: Definition, value: Any, wanted: str, body: bytes) -> Refusal:
    problem = _mismatch(value, wanted)
    return _unrecognized(definition, f"couldn't get version/kind; json parse error: {problem}", body)


def _mismatch(value: Any, wanted: str) -> str:
    return f"json: cannot unmarshal {_JSON_NAMES.get(type(value), 'number')} into Go {wanted}"


def _unrecognized(definition: Definition, why: str, body: bytes) -> Refusal:
    more = " ..." if len(body) > _MOST_SHOWN else ""
    start = body[:_MOST_SHOWN]
    shown = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return bad_request(
        f"the object provided is unrecognized (must be of type {definition.kind}): {why}"
        f" ({shown or '<empty>'}{more})"
    )
