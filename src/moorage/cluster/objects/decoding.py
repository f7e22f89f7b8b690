"""From the body of a request to a document of the right shape, and from there to the form that is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.cluster.access.write_options import Options
from moorage.cluster.base.errors import Refusal, bad_request, invalid, invalid_value, unsupported_media_type
from moorage.cluster.base.go_text import mismatch
from moorage.cluster.base.store import Document
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.kinds.events import core_to_new, new_to_core
from moorage.cluster.objects.yaml_bodies import read_yaml, repetition_error
from moorage.cluster.schema.conform import Conformed, Undecodable, conform
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.mistakes import duplicate_fields, strict_error, strict_warnings
from moorage.cluster.schema.protobuf import objects as protobuf

JSON = "application/json"
YAML = "application/yaml"
MEDIA_TYPES = (JSON, YAML, protobuf.PROTOBUF)

_decode = msgspec.json.Decoder().decode
_NEW_EVENTS = "events.k8s.io"
_MOST_SHOWN = 30  # bytes of a body
_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def read_json(body: bytes) -> Any:
    """Any JSON value; bad_request if it is none."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"json parse error: {error}") from None


def read_body(body: bytes, content_type: str) -> Any:
    """The value in a body that can be read without knowing what it is; without a media type that is JSON."""
    if _is_json(content_type):
        return read_json(body)
    if media_type(content_type) == YAML:
        return read_yaml(body).value
    raise unsupported_media_type(MEDIA_TYPES)


def read_object(definition: Definition, body: bytes, content_type: str, options: Options) -> Document:
    """A document of the definition's kind; what does not belong in it is dropped, warned of or refused."""
    if media_type(content_type) == protobuf.PROTOBUF and not definition.custom:
        value = protobuf.read_object(body, definition.schema, definition.kind, definition.api_version)
        return shape(definition, value, options)
    if media_type(content_type) == YAML:
        value, repeated = read_yaml(body)
        check_type_meta(definition, value, body)
        return shape(definition, value, options, repeated_keys=repeated)
    value = read_body(body, content_type)
    check_type_meta(definition, value, body)
    repeated = duplicate_fields(body) if options.validation != "Ignore" else []
    return shape(definition, value, options, repeated)


def read_delete_options(body: bytes, content_type: str) -> Any:
    """What a DELETE says in its body, if it has one."""
    if not body:
        return None
    if media_type(content_type) == protobuf.PROTOBUF:
        return protobuf.read_delete_options(body)
    return read_body(body, content_type)


def shape(
    definition: Definition,
    value: Any,
    options: Options,
    repeated: Sequence[str] = (),
    repeated_keys: list[str] | None = None,
) -> Document:
    """A decoded value as a document of the definition's kind.

    What was given twice comes as the paths of fields from JSON, and as remarks on keys from YAML.
    """
    conformed = conformed_value(definition, value)
    if (conformed.unknown or repeated or repeated_keys) and options.validation != "Ignore":
        mistakes = strict_warnings(conformed.unknown, repeated)
        if repeated_keys:
            is_strict = options.validation == "Strict"
            mistakes = ([repetition_error(repeated_keys)] if is_strict else repeated_keys) + mistakes
        complain(definition, mistakes, options)
    shaped: Document = conformed.document
    return shaped


def conformed_value(definition: Definition, value: Document) -> Conformed:
    """A decoded value in the shape of the definition's kind, and what did not fit in."""
    check_kind(definition, value)
    kind, api_version, metadata = definition.kind, definition.api_version, value.get("metadata")
    rest = {name: part for name, part in value.items() if name not in ("apiVersion", "kind", "metadata")}
    head = {"apiVersion": api_version, "kind": kind, "metadata": {} if metadata is None else metadata}
    if isinstance(definition.strategy, CustomStrategy):
        return definition.strategy.conform(head | rest)
    return conform(definition.schema, head | rest, kind=kind, api_version=api_version)


def complain(definition: Definition, mistakes: list[str], options: Options) -> None:
    """Warns of fields that are unknown or given twice, or refuses them, as the client wishes."""
    if options.validation == "Strict":
        raise Undecodable(definition.kind, definition.api_version, strict_error(mistakes))
    options.warnings += mistakes


def _is_json(content_type: str) -> bool:
    return media_type(content_type) in ("", JSON)


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def check_type_meta(definition: Definition, value: Any, body: bytes) -> None:
    """Refuses a body of which nobody can tell what it is. Only custom resources need to say it."""
    problem = "" if isinstance(value, dict) else mismatch(value, f"value of type {_STRUCT}")
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
            return mismatch(document[name], f"struct field .{name} of type string")
    return ""


def _unrecognized(definition: Definition, why: str, body: bytes) -> Refusal:
    more = " ..." if len(body) > _MOST_SHOWN else ""
    start = body[:_MOST_SHOWN]
    shown = start.decode(errors="replace") if body.startswith(b"{") else start.hex()
    return bad_request(
        f"the object provided is unrecognized (must be of type {definition.kind}): {why}"
        f" ({shown or '<empty>'}{more})"
    )


def is_stored_form(definition: Definition, document: Document) -> bool:
    """Whether the definition shows the document just as it is stored."""
    return bool(document["apiVersion"] == definition.api_version)


def from_stored(definition: Definition, document: Document) -> Document:
    """The document as the definition's version shows it."""
    if is_stored_form(definition, document):
        return document
    if definition.group == _NEW_EVENTS and not definition.custom:
        return core_to_new(document)
    strategy = definition.strategy
    return (
        strategy.in_this_version([document])[0]
        if isinstance(strategy, CustomStrategy)
        else strategy.shown(document)
    )


def before_write(definition: Definition, document: Document) -> Document:
    """The stored document as one that is written under the definition's version compares with it."""
    is_event = definition.group == _NEW_EVENTS and not definition.custom
    return document if is_event else from_stored(definition, document)


def to_stored(definition: Definition, document: Document) -> Document:
    """The document as it is stored. Custom objects get their form when they are in order."""
    if definition.group == _NEW_EVENTS and not definition.custom:
        return new_to_core(document)
    return document
