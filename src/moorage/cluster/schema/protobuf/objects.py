"""The bodies of requests: an envelope that says what is in it, and the object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.store import Document
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.model import Schema
from moorage.cluster.schema.protobuf.messages import RAW, TEXT, made_up, message
from moorage.cluster.schema.protobuf.wire import CUT_SHORT, Malformed

PROTOBUF = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\0"
_NO_MAGIC = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
_SHOWN = 30  # bytes of a body that is no envelope
_DELETE_OPTIONS = "DeleteOptions"
_ENVELOPE = made_up("Unknown", typeMeta=RAW, raw=RAW)
_TYPE_META = made_up("TypeMeta", apiVersion=TEXT, kind=TEXT)


class _Envelope(NamedTuple):
    api_version: str
    kind: str
    content: bytes


def read_object(body: bytes, schema: Schema, kind: str, api_version: str) -> Document:
    """The object of a built-in kind in a body. Of another kind it has only apiVersion and kind."""
    try:
        envelope = _open(body)
    except Malformed as problem:
        shown = body[:_SHOWN].hex() + (" ..." if len(body) > _SHOWN else "")
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {problem} ({shown or '<empty>'})"
        ) from None
    document = {"apiVersion": envelope.api_version or api_version, "kind": envelope.kind or kind}
    if document != {"apiVersion": api_version, "kind": kind}:
        return document
    try:
        return document | _content(envelope, schema)
    except Malformed as problem:
        version = api_version.rpartition("/")[2]
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}') from None


def read_delete_options(body: bytes) -> Document:
    """The options in the body of a DELETE. Something of another kind has only its kind."""
    try:
        envelope = _open(body)
        if envelope.kind not in ("", _DELETE_OPTIONS):
            return {"kind": envelope.kind}
        return _content(envelope, schema_of("", "v1", _DELETE_OPTIONS))
    except Malformed as problem:
        raise bad_request(str(problem)) from None


def _open(body: bytes) -> _Envelope:
    if not body:
        raise Malformed("empty data")
    if not body.startswith(_MAGIC):
        raise Malformed(_NO_MAGIC)
    if body == _MAGIC:
        raise Malformed("empty body")
    with _problems_named():
        found = _ENVELOPE.read(body, len(_MAGIC), len(body))
        type_meta = found.get("typeMeta", b"")
        of_type = _TYPE_META.read(type_meta, 0, len(type_meta))
    return _Envelope(of_type.get("apiVersion", ""), of_type.get("kind", ""), found.get("raw", b""))


def _content(envelope: _Envelope, schema: Schema) -> Document:
    with _problems_named():
        return message(schema).read(envelope.content, 0, len(envelope.content))


@contextmanager
def _problems_named() -> Iterator[None]:
    """Has everything that can be wrong with a message be Malformed."""
    try:
        yield
    except IndexError:
        raise Malformed(CUT_SHORT) from None
    except UnicodeDecodeError:
        raise Malformed("proto: invalid UTF-8 in a string") from None
    except RecursionError:
        raise Malformed("exceeded max depth") from None
