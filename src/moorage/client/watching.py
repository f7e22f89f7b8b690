"""The stream of a watch: records, and what they say."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, cast, get_args

import msgspec

from moorage.api.decoding import DecodeError, decode
from moorage.api.managed_fields import without_managed_fields
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.errors import ApiError, error_of
from moorage.client.resources import Resource

T = TypeVar("T", bound=Object)

ChangeType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
_CHANGE_TYPES = frozenset(get_args(ChangeType))

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One thing a watch tells. `object` is None for a bookmark, and for an object that cannot be decoded."""

    type: ChangeType
    object: T | None
    resource_version: str
    key: str = ""


class Lines:
    """Puts chunks of bytes together to lines, however they are cut."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        first, *others = chunk.split(b"\n")
        self._begun.append(first)
        for following in others:
            line = b"".join(self._begun)
            self._begun = [following]
            if line:
                yield line


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _MetaOnly(msgspec.Struct):
    class Meta(msgspec.Struct, rename="camel"):
        name: str = ""
        namespace: str = ""
        resource_version: str = ""

    metadata: Meta


_BEGINNINGS: tuple[tuple[bytes, ChangeType], ...] = (
    (b'{"type":"MODIFIED","object":', "MODIFIED"),
    (b'{"type":"ADDED","object":', "ADDED"),
)
_read_event = msgspec.json.Decoder(_Event).decode
_read_meta = msgspec.json.Decoder(_MetaOnly).decode


def change_of(resource: Resource[T], line: bytes) -> Change[T]:
    """What one line of a watch says; an ERROR event is raised."""
    for beginning, usual in _BEGINNINGS:
        if line.startswith(beginning) and line.endswith(b"}"):
            # As API servers write it: what is between is the object, or it cannot be decoded.
            try:
                whole = decode(resource.type, line[len(beginning) : -1])
            except DecodeError:
                break
            if whole.metadata.name:
                return Change(usual, whole, whole.metadata.resource_version, whole.key)
            break
    try:
        event = _read_event(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ApiError(0, "", f"watch of {resource}: a record cannot be read: {error}") from None
    source = bytes(event.object)
    if event.type == "ERROR":
        raise error_of(source, doing=f"watch of {resource}")
    if event.type not in _CHANGE_TYPES:
        raise ApiError(0, "", f"watch of {resource}: a record cannot be read: its type is {event.type!r}")
    kind = cast(ChangeType, event.type)
    if kind != "BOOKMARK":
        found = decoded_or_none(resource, source)
        if found is not None and not found.metadata.name:
            raise ApiError(0, "", f"watch of {resource}: a record cannot be read: its object has no name")
        if found is not None:
            return Change(kind, found, found.metadata.resource_version, found.key)
    try:
        meta = _read_meta(source).metadata
    except msgspec.DecodeError as error:
        raise ApiError(0, "", f"watch of {resource}: a record cannot be read: {error}") from None
    key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
    return Change(kind, None, meta.resource_version, key)


def decoded_or_none(resource: Resource[T], source: bytes) -> T | None:
    """An object, or None and a line in the log: one bad object must not hide all the others."""
    if resource.type is Pod:
        source = without_managed_fields(source)
    try:
        return decode(resource.type, source)
    except DecodeError as error:
        log.warning("left out of %s, for it cannot be decoded: %s", resource, error)
        return None
