"""Header blocks: those written here are read by a plain reader, those that Go's encoder wrote by ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.client.hpack import encoded, length, status_and_wait, text_field
from tests.client.http2_peer import block, fields

NAMES = st.sampled_from([":path", ":method", "accept", "authorization", "impersonate-user", "x" * 200])
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=400)


@given(st.dictionaries(NAMES, VALUES))
def test_fields_are_read_as_they_were_written(given: dict[str, str]) -> None:
    assert fields(encoded(given.items())) == given


@given(VALUES)
def test_a_field_written_in_two_parts(value: str) -> None:
    assert fields(text_field(":path") + length(len(value)) + value.encode()) == {":path": value}


@pytest.mark.parametrize(
    ("written", "status", "wait"),
    [
        ("200e82100300861db2192b1a4f03782d790f26821003", 201, None),
        ("0e82100300861db2192b1a4f03782d790f26821003", 201, None),
        ("88", 200, None),
        ("8d", 404, None),
        ("200e0334303900861db2192b1a4f03782d790f2603343039", 409, 409.0),
        ("200e0335303300861db2192b1a4f03782d790f26820801", 503, 100.0),
        ("0e0334323900861db2192b1a4f03782d790f2688089969b71d79f07f", 429, 1234567890.0),
        ("0e033432390088b0a9b3d2c39525b30137", 429, 7.0),
    ],
)
def test_blocks_of_go(written: str, status: int, wait: float | None) -> None:
    assert status_and_wait(bytes.fromhex(written)) == (status, wait)


@given(st.integers(300, 599), st.integers(0, 10**6))
def test_plain_blocks(status: int, wait: int) -> None:
    assert status_and_wait(block(status, audit_id="x", retry_after=str(wait))) == (status, float(wait))


def test_a_wait_that_is_no_number_does_not_count() -> None:
    assert status_and_wait(block(429, retry_after="Wed, 21 Oct 2026")) == (429, None)


@given(st.binary(max_size=40))
def test_anything_is_read_or_refused(garbage: bytes) -> None:
    try:
        status, _ = status_and_wait(garbage)
    except (ValueError, IndexError):
        return
    assert status > 0


def test_what_needs_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="a table"):
        status_and_wait(b"\xbe")
