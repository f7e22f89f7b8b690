"""The bodies of requests: an envelope that says what is in it, and the object."""

from __future__ import annotations

from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.store import Document
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.canonical import Malformed
from moorage.cluster.schema.conform import Undecodable
from moorage.cluster.schema.model import Schema
from moorage.cluster.schema.protobuf.messages import RAW, TEXT, Message, made_up, message
from moorage.cluster.schema.protobuf.wire import CUT_SHORT

PROTOBUF = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\0"
_NO_MAGIC = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
_SHOWN = 30  # bytes of a body that is no envelope
_DELETE_OPTIONS = "DeleteOptions"
_ENVELOPE = made_up("Unknown", typeMeta=RAW, raw=RAW)
_TYPE_META = made_up("TypeMeta", apiVersion=TEXT, kind=TEXT)


def read_object(body: bytes, schema: Schema, kind: str, api_version: str) -> Document:
    """The object of a built-in kind in a body. Of another kind it has only apiVersion and kind."""
    try:
        type_meta, content = _open(body)
    except Malformed as problem:
        shown = body[:_SHOWN].hex() + (" ..." if len(body) > _SHOWN else "")
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): {problem} ({shown or '<empty>'})"
        ) from None
    document = {"apiVersion": api_version, "kind": kind} | {
        name: value for name, value in type_meta.items() if value
    }
    if document != {"apiVersion": api_version, "kind": kind}:
        return document
    try:
        return document | _read(message(schema), content)
    except Malformed as problem:
        raise Undecodable(kind, api_version, str(problem)) from None


def read_delete_options(body: bytes) -> Document:
    """The options in the body of a DELETE. Something of another kind has only its kind."""
    try:
        type_meta, content = _open(body)
        kind = type_meta.get("kind") or _DELETE_OPTIONS
        if kind != _DELETE_OPTIONS:
            return {"kind": kind}
        return _read(message(schema_of("", "v1", kind)), content)
    except Malformed as problem:
        raise bad_request(str(problem)) from None


def _open(body: bytes) -> tuple[Document, bytes]:
    """What the envelope says about the object, and the object."""
    if not body:
        raise Malformed("empty data")
    if not body.startswith(_MAGIC):
        raise Malformed(_NO_MAGIC)
    if body == _MAGIC:
        raise Malformed("empty body")
    envelope = _read(_ENVELOPE, body.removeprefix(_MAGIC))
    return _read(_TYPE_META, envelope.get("typeMeta", b"")), envelope.get("raw", b"")


def _read(written: Message, data: bytes) -> Document:
    """Has everything that can be wrong with a message be Malformed."""
    try:
        return written.read(data, 0, len(data))
    except IndexError:
        raise Malformed(CUT_SHORT) from None
    except UnicodeDecodeError:
        raise Malformed("proto: invalid UTF-8 in a string") from None
    except OverflowError:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]") from None
    except RecursionError:
        raise Malformed("exceeded max depth") from None
