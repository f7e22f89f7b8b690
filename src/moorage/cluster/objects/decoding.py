"""From the body of a request to a document of the right shape."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from moorage.cluster.access.write_options import Options
from moorage.cluster.base.errors import bad_request, unsupported_media_type
from moorage.cluster.base.store import Document
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.objects.type_meta import check_kind, check_type_meta
from moorage.cluster.schema.conform import Conformed, Undecodable, conform
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.mistakes import duplicate_fields, strict_error, strict_warnings
from moorage.cluster.schema.protobuf import objects as protobuf

JSON = "application/json"
YAML = "application/yaml"
MEDIA_TYPES = (JSON, YAML, protobuf.PROTOBUF)

_YAML_DEPTH = 200
_YAML_EVENTS = 150_000  # a second's work, for which everybody else waits

_decode = msgspec.json.Decoder().decode


def read_json(body: bytes) -> Any:
    """Any JSON value; bad_request if it is none."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"json parse error: {error}") from None


def read_yaml(body: bytes) -> Any:
    """Any value that JSON could say too."""
    if body.startswith(b"{"):
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return _decode(body)  # what kubectl applies is JSON, which is far quicker to read
    try:
        text = body.decode()
        _check_yaml(text)
        value = yaml.load(text, Loader=_JsonLikeLoader)
        return _decode(msgspec.json.encode(value))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"yaml: {' '.join(str(error).split())}") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise bad_request(f"yaml: cannot be written as JSON: {error}") from None


def _check_yaml(text: str) -> None:
    """Refuses what the loader would not survive: aliases, which grow without bounds, great depth and size."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if number > _YAML_EVENTS:
            raise bad_request("yaml: is too large; send it as JSON")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _YAML_DEPTH:
                raise bad_request("yaml: is nested too deeply")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            raise bad_request("yaml: aliases are not supported; write the value out")


class _JsonLikeLoader(yaml.CSafeLoader):
    """Leaves dates as texts, as JSON has them."""


_JsonLikeLoader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_body(body: bytes, content_type: str) -> Any:
    """The value in a body that can be read without knowing what it is; without a media type that is JSON."""
    if _is_json(content_type):
        return read_json(body)
    if media_type(content_type) == YAML:
        return read_yaml(body)
    raise unsupported_media_type(MEDIA_TYPES)


def read_object(definition: Definition, body: bytes, content_type: str, options: Options) -> Document:
    """A document of the definition's kind; what does not belong in it is dropped, warned of or refused."""
    if media_type(content_type) == protobuf.PROTOBUF and not definition.custom:
        value = protobuf.read_object(body, definition.schema, definition.kind, definition.api_version)
        return shape(definition, value, options)
    value = read_body(body, content_type)
    check_type_meta(definition, value, body)
    repeated = duplicate_fields(body) if options.validation != "Ignore" and _is_json(content_type) else []
    return shape(definition, value, options, repeated)


def read_delete_options(body: bytes, content_type: str) -> Any:
    """What a DELETE says in its body, if it has one."""
    if not body:
        return None
    if media_type(content_type) == protobuf.PROTOBUF:
        return protobuf.read_delete_options(body)
    return read_body(body, content_type)


def shape(definition: Definition, value: Any, options: Options, repeated: Sequence[str] = ()) -> Document:
    """A decoded value as a document of the definition's kind."""
    conformed = conformed_value(definition, value)
    if (conformed.unknown or repeated) and options.validation != "Ignore":
        complain(definition, strict_warnings(conformed.unknown, repeated), options)
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
