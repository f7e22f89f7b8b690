"""Parameters for drivers in claims, byte for byte.

Nobody may change them in a claim that is there, and the API server compares bytes. JSON does not show them
all: it leaves out the blanks that a writer left, and writes some characters in another way. Protobuf does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

Document = dict[str, Any]

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_LENGTH_DELIMITED = 2
_SIZES = {1: 8, 5: 4}

# Numbers of fields, from the outermost message to what is looked for.
_RAW = (2,)
_OF_SPEC, _OF_ALLOCATION = (2, 1, 3), (3, 1, 1, 2)
_IN_SPEC, _IN_ALLOCATION = (2, 1, 2, 1), (3, 1, 2, 1)


def in_spec(document: Document) -> bool:
    """Whether the spec of a claim has parameters."""
    return bool(_configurations(document.get("spec")))


def in_allocation(document: Document) -> bool:
    return bool(_configurations((document.get("status") or {}).get("allocation")))


def with_those_of(document: Document, stored: bytes) -> Document:
    """A claim with the parameters of the stored one, which is given in protobuf."""
    [claim] = _found(stored.removeprefix(_MAGIC), _RAW)
    spec = _exact(document.get("spec"), claim, _OF_SPEC, _IN_SPEC)
    status = document.get("status") or {}
    allocation = _exact(status.get("allocation"), claim, _OF_ALLOCATION, _IN_ALLOCATION)
    return {
        **document,
        **({} if spec is None else {"spec": spec}),
        **({} if allocation is None else {"status": {**status, "allocation": allocation}}),
    }


def _configurations(holder: Any) -> list[Document]:
    found: list[Document] = ((holder or {}).get("devices") or {}).get("config") or []
    return found


def _exact(holder: Any, claim: bytes, of: tuple[int, ...], inside: tuple[int, ...]) -> Document | None:
    """A spec or an allocation with the bytes that are stored; None if there are no others."""
    mine, theirs = _configurations(holder), _found(claim, of)
    if not mine or len(mine) != len(theirs):
        return None
    exact = [_with(each, _found(stored, inside)) for each, stored in zip(mine, theirs, strict=True)]
    return {**holder, "devices": {**holder["devices"], "config": exact}}


def _with(configuration: Document, parameters: list[bytes]) -> Document:
    if not parameters:
        return configuration
    opaque = {**configuration["opaque"], "parameters": msgspec.Raw(parameters[-1])}
    return {**configuration, "opaque": opaque}


def _found(message: bytes, path: tuple[int, ...]) -> list[bytes]:
    found = [message]
    for number in path:
        found = [value for each in found for tag, value in _fields(each) if tag == number]
    return found


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that are bytes, by number."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == _LENGTH_DELIMITED:
            size, place = _varint(message, place)
            yield tag >> 3, message[place : place + size]
            place += size
        elif kind in _SIZES:
            place += _SIZES[kind]
        else:
            _, place = _varint(message, place)


def _varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
