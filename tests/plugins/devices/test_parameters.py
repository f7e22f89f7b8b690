"""Parameters of drivers are written as they are stored, whatever JSON makes of them."""

from __future__ import annotations

import msgspec
import pytest

from moorage.plugins.devices import parameters

STORED = b'{ "b": "<\\u00e9>",\n "a": 1.50 }'


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(number: int) -> bytes:
    head = b""
    while number >= 0x80:
        head += bytes([number & 0x7F | 0x80])
        number >>= 7
    return head + bytes([number])


def nested(value: bytes, *path: int) -> bytes:
    for number in reversed(path):
        value = field(number, value)
    return value


def opaque(driver: bytes, raw: bytes) -> bytes:
    return nested(field(1, driver) + nested(raw, 2, 1), 1)


SPEC = nested(
    field(3, field(1, b"r") + field(2, opaque(b"d", STORED))) + field(3, field(2, opaque(b"d", b"[ ]"))), 2, 1
)
ALLOCATION = nested(field(2, field(1, b"FromClaim") + field(3, opaque(b"d", STORED))), 3, 1, 1)
NUMBERS = b"\x38\x96\x01" + b"\x41" + bytes(8) + b"\x4d" + bytes(4)
"""Fields of metadata that are no bytes."""
ENVELOPE = field(1, field(1, b"resource.k8s.io/v1"))


def stored(*parts: bytes) -> bytes:
    return b"k8s\x00" + ENVELOPE + field(2, field(1, field(1, b"c") + NUMBERS) + b"".join(parts))


def configuration(parameters: object) -> dict[str, object]:
    return {"opaque": {"driver": "d", "parameters": parameters}}


def claim(spec: list[object], allocated: list[object] | None = None) -> dict[str, object]:
    allocation = None if allocated is None else {"devices": {"results": [], "config": allocated}}
    return {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [], "config": spec}},
        "status": {"reservedFor": []} | ({} if allocation is None else {"allocation": allocation}),
    }


SHOWN = msgspec.json.decode(STORED)


def test_the_spec() -> None:
    exact = parameters.with_those_of(
        claim([configuration(SHOWN), configuration([])]), stored(SPEC, ALLOCATION)
    )
    written = msgspec.json.encode(exact)
    assert STORED in written and b"[ ]" in written
    assert msgspec.json.decode(written) == claim([configuration(SHOWN), configuration([])])


def test_the_allocation() -> None:
    exact = parameters.with_those_of(claim([], [configuration(SHOWN)]), stored(SPEC, ALLOCATION))
    assert msgspec.json.encode(exact["status"]).count(STORED) == 1


@pytest.mark.parametrize("parts", [(), (SPEC,), (ALLOCATION,)])
def test_what_is_not_stored_stays_as_it_is(parts: tuple[bytes, ...]) -> None:
    document = claim([configuration({"only": "mine"})], [configuration(1), configuration(2)])
    assert msgspec.json.encode(parameters.with_those_of(document, stored(*parts))) == msgspec.json.encode(
        document
    )


def test_who_has_any() -> None:
    assert parameters.in_spec(claim([configuration(1)])) and not parameters.in_spec(claim([]))
    assert parameters.in_allocation(claim([], [configuration(1)]))
    assert not parameters.in_allocation(claim([configuration(1)])) and not parameters.in_allocation({})
