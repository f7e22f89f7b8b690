"""Reading YAML: what is safe to read, as JSON would say it, and which keys are given twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import yaml

from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.go_text import quoted
from moorage.cluster.schema.mistakes import duplicate_fields

_DEPTH = 200
_EVENTS = 150_000  # a second's work, for which everybody else waits
_TEXT = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"

_decode = msgspec.json.Decoder().decode


class YamlBody(NamedTuple):
    value: Any
    repeated: list[str]
    """What is to be said about keys that stand more than once in their mapping."""


def read_yaml(body: bytes) -> YamlBody:
    """Any value that JSON could say too; bad_request if it is none."""
    if body.startswith(b"{"):
        try:
            value = _decode(body)  # what kubectl applies is JSON, which is far quicker to read
            if not duplicate_fields(body):
                return YamlBody(value, [])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    try:
        text = body.decode()
        _check(text)
        value, repeated = _load(text)
        return YamlBody(_decode(msgspec.json.encode(value)), repeated)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"yaml: {' '.join(str(error).split())}") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise bad_request(f"yaml: cannot be written as JSON: {error}") from None


def repetition_error(repeated: list[str]) -> str:
    """The repeated keys of a body in one text."""
    return "\n  ".join(["yaml: unmarshal errors:", *repeated])


def _check(text: str) -> None:
    """Refuses what the loader would not survive: aliases, which grow without bounds, great depth and size."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if number > _EVENTS:
            raise bad_request("yaml: is too large; send it as JSON")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH:
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


def _load(text: str) -> tuple[Any, list[str]]:
    loader = _JsonLikeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None, []
        repeated = list(dict.fromkeys(_repeated(node)))  # before merge keys are worked into it
        return loader.construct_document(node), repeated
    finally:
        loader.dispose()


def _repeated(node: yaml.Node) -> Iterator[str]:
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)
    elif isinstance(node, yaml.MappingNode):
        yield from _repeated_keys(node, set())


def _repeated_keys(node: yaml.MappingNode, known: set[tuple[str, str]]) -> Iterator[str]:
    for key, value in node.value:
        if key.tag == _MERGE and isinstance(value, yaml.MappingNode):
            yield from _repeated_keys(value, known)
            continue
        yield from _repeated(value)
        if not isinstance(key, yaml.ScalarNode):
            continue
        if (key.tag, key.value) in known:
            shown = quoted(key.value) if key.tag == _TEXT else key.value
            yield f"line {value.start_mark.line + 1}: key {shown} already set in map"
        known.add((key.tag, key.value))
