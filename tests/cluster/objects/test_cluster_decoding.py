from __future__ import annotations

import time
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.decoding import read_body, read_json
from moorage.cluster.objects.yaml_bodies import read_yaml


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"a: b\nc: [1, 2.5, true, null]\n", {"a": "b", "c": [1, 2.5, True, None]}),
        (b"when: 2001-01-01\nat: 2001-01-01T00:00:00Z", {"when": "2001-01-01", "at": "2001-01-01T00:00:00Z"}),
        (b'{"a": [1, "x"]}', {"a": [1, "x"]}),
        (b"{a: 1}", {"a": 1}),
        (b"a: &anchor 1", {"a": 1}),
        (b"", None),
    ],
)
def test_yaml_says_what_json_could_say(body: bytes, value: Any) -> None:
    assert read_yaml(body).value == value


@pytest.mark.parametrize(
    "body",
    [
        b"a: &a [x]\nb: *a",
        b"- " * 100_000,
        b"[" * 100_000,
        b"{" * 100_000,
        b"? " * 100_000,
        b"[" + b"a," * 1_000_000,
        b"? [a, b]\n: c",
        b"a: !!python/object/apply:os.abort []",
        b"--- a\n--- b\n",
        b"\xff",
        b"a: \x00",
        b"{]",
    ],
)
def test_yaml_that_is_refused(body: bytes) -> None:
    began = time.perf_counter()
    with pytest.raises(Refusal) as info:
        read_yaml(body)
    assert info.value.code == 400
    assert info.value.message.startswith("yaml: ")
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1,]", b"NaN", b'"\xc3\x28"', b'{"a":' * 100_000, b'"\\ud800"', b"1 2"]
)
def test_json_that_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal) as info:
        read_json(body)
    assert info.value.code == 400


def test_media_types() -> None:
    for content_type in ("", "application/json", "Application/JSON; charset=utf-8"):
        assert read_body(b"[1]", content_type) == [1]
    assert read_body(b"- 1", "application/yaml") == [1]
    with pytest.raises(Refusal) as info:
        read_body(b"[1]", "text/plain")
    assert info.value.code == 415
