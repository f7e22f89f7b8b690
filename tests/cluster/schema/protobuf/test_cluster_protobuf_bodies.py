"""Bodies that no encoder of Kubernetes would write; refusals are those of kube-apiserver v1.36.4."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.access.users import User
from moorage.cluster.access.write_options import Options
from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.decoding import read_delete_options
from moorage.cluster.objects.decoding import read_object as read_any
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.conform import conform
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.model import OBJECT, Schema
from moorage.cluster.schema.protobuf.objects import PROTOBUF, read_object

RECORDED = [json.loads(line) for line in Path(__file__).with_name("messages.jsonl").read_text().splitlines()]


def piece(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


def envelope(api_version: str, kind: str, content: bytes) -> bytes:
    type_meta = piece(1, api_version.encode()) + piece(2, kind.encode())
    return b"k8s\0" + piece(1, type_meta) + piece(2, content)


def config_map(body: bytes) -> Any:
    return read_object(body, schema_of("", "v1", "ConfigMap"), "ConfigMap", "v1")


def core(kind: str, content: bytes) -> Any:
    document = read_object(envelope("v1", kind, content), schema_of("", "v1", kind), kind, "v1")
    return {name: part for name, part in document.items() if name not in ("apiVersion", "kind")}


NAMED = piece(1, piece(1, b"ok"))

UNRECOGNIZED = {
    b"": "empty data (<empty>)",
    b"hello": "provided data does not appear to be a protobuf message,"
    " expected prefix [107 56 115 0] (68656c6c6f)",
    b"k8s\0": "empty body (6b387300)",
    b"k8s\0\xff\xff\xff": "unexpected EOF (6b387300ffffff)",
    b"k8s\0\x0a\x20abc": "unexpected EOF (6b3873000a20616263)",
    b"k8s\0\x0a" + b"\xff" * 30: f"proto: integer overflow (6b3873000a{'ff' * 25} ...)",
}
UNREADABLE = {
    b"\x0a\x10ab": "unexpected EOF",
    b"\x0a" + b"\xff" * 11: "proto: integer overflow",
    b"\x0a" + b"\xff" * 9 + b"\x01": "proto: negative length found during unmarshaling",
    b"\x00\x01": "proto: ConfigMap: illegal tag 0 (wire type 0)",
    b"\x0c": "proto: ConfigMap: wiretype end group for non-group",
    b"\x7e\x01": "proto: illegal wireType 6",
    b"\x10\x01": "proto: wrong wireType = 0 for field Data",
}


class TestRefusals:
    @pytest.mark.parametrize(("body", "problem"), UNRECOGNIZED.items())
    def test_of_what_is_no_envelope(self, body: bytes, problem: str) -> None:
        with pytest.raises(Refusal) as refused:
            config_map(body)
        assert refused.value.code == 400
        assert refused.value.message == (
            f"the object provided is unrecognized (must be of type ConfigMap): {problem}"
        )

    @pytest.mark.parametrize(("content", "problem"), UNREADABLE.items())
    def test_of_what_is_in_it(self, content: bytes, problem: str) -> None:
        with pytest.raises(Refusal) as refused:
            config_map(envelope("v1", "ConfigMap", content))
        assert refused.value.code == 400
        assert refused.value.message == (
            f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {problem}'
        )

    @pytest.mark.parametrize(
        ("kind", "content"),
        [
            ("ConfigMap", piece(2, piece(1, b"a") + piece(2, b"\xff\xfe"))),
            ("Pod", piece(2, b"\xa0\x01\x01" + b"\x28\x80")),
            ("Pod", piece(1, piece(8, b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))),
            ("Pod", piece(1, piece(17, piece(7, piece(1, b"{no json"))))),
            ("Pod", piece(1, piece(17, piece(7, piece(1, b'"\xff"'))))),
        ],
        ids=["not UTF-8", "cut short", "no moment", "no JSON", "not UTF-8 in JSON"],
    )
    def test_of_values_that_cannot_be(self, kind: str, content: bytes) -> None:
        with pytest.raises(Refusal) as refused:
            core(kind, content)
        assert refused.value.code == 400

    def test_of_numbers_that_json_does_not_have(self) -> None:
        schema = piece(1, b"\x49" + b"\x00" * 6 + b"\xf0\x7f")  # maximum: infinity
        content = piece(2, piece(7, piece(4, schema)))
        with pytest.raises(Refusal, match="unsupported value"):
            extension(content)

    def test_of_endless_depth(self) -> None:
        content = b""
        for _ in range(5000):
            content = piece(28, content)  # not
        with pytest.raises(Refusal, match="exceeded max depth"):
            extension(piece(2, piece(7, piece(4, piece(1, content)))))


def extension(content: bytes) -> Any:
    kind, api_version = "CustomResourceDefinition", "apiextensions.k8s.io/v1"
    schema = schema_of("apiextensions.k8s.io", "v1", kind)
    return read_object(envelope(api_version, kind, content), schema, kind, api_version)


class TestValues:
    def test_what_the_envelope_leaves_out_is_what_is_asked_for(self) -> None:
        assert config_map(b"k8s\0" + piece(2, NAMED)) == {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "ok"},
        }

    @pytest.mark.parametrize(("api_version", "kind"), [("v1", "Secret"), ("v2", "ConfigMap")])
    def test_another_kind_is_not_looked_into(self, api_version: str, kind: str) -> None:
        found = config_map(envelope(api_version, kind, b"\xff"))
        assert found == {"apiVersion": api_version, "kind": kind}

    def test_unknown_fields_and_groups_are_skipped(self) -> None:
        group = b"\x7b" + b"\x08\x01" + piece(3, b"x") + b"\x7b\x7c" + b"\x7c"
        others = b"\x78\x96\x01" + piece(15, b"abc") + b"\x79" + b"x" * 8 + b"\x7d" + b"x" * 4
        assert core("ConfigMap", group + others + NAMED) == {"metadata": {"name": "ok"}}

    def test_a_message_that_comes_in_parts_is_put_together(self) -> None:
        parts = NAMED + piece(1, piece(3, b"default"))
        assert core("ConfigMap", parts) == {"metadata": {"name": "ok", "namespace": "default"}}

    def test_numbers_may_be_packed(self) -> None:
        groups = b"\x20\x05" + piece(4, b"\x06\x80\x01") + b"\x20" + varint(2**64 - 7)
        assert core("Pod", piece(2, piece(14, groups))) == {
            "spec": {"securityContext": {"supplementalGroups": [5, 6, 128, -7]}}
        }

    def test_numbers_of_32_bits_keep_what_fits(self) -> None:
        priorities = [
            core("Pod", piece(2, b"\xc8\x01" + varint(number)))["spec"]["priority"]
            for number in (2**64 - 1, 2**64 - 2**31, 2**32 - 1, 2**31, 2**32 + 7)
        ]
        assert priorities == [-1, -(2**31), -1, -(2**31), 7]

    def test_no_moment_is_nothing(self) -> None:
        assert core("Pod", piece(1, piece(1, b"ok") + piece(8, b""))) == {"metadata": {"name": "ok"}}

    def test_an_entry_without_value(self) -> None:
        schema = schema_of("", "v1", "ConfigMap")
        document = core("ConfigMap", piece(2, piece(1, b"a")))
        assert conform(schema, document, kind="ConfigMap", api_version="v1").document["data"] == {"a": ""}


class TestDeleteOptions:
    def test_of_kubernetes_clients(self) -> None:
        content = b"\x08\x00" + piece(2, piece(1, b"u-1")) + piece(4, b"Foreground") + piece(5, b"All")
        found = read_delete_options(envelope("apps/v1", "DeleteOptions", content), PROTOBUF)
        assert found == {
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "u-1"},
            "propagationPolicy": "Foreground",
            "dryRun": ["All"],
        }

    def test_of_another_kind(self) -> None:
        body = envelope("v1", "ConfigMap", b"\xff")
        assert read_delete_options(body, PROTOBUF) == {"kind": "ConfigMap"}

    def test_that_cannot_be_read(self) -> None:
        with pytest.raises(Refusal) as refused:
            read_delete_options(envelope("v1", "DeleteOptions", b"\x0a\x10"), PROTOBUF)
        assert refused.value.message == "proto: wrong wireType = 2 for field GracePeriodSeconds"

    def test_of_an_empty_body(self) -> None:
        assert read_delete_options(b"", PROTOBUF) is None


class TestDecoding:
    def test_of_a_built_in_object(self) -> None:
        definition = Definition("", "v1", "configmaps", "ConfigMap", True, schema_of("", "v1", "ConfigMap"))
        body = envelope("v1", "ConfigMap", NAMED + piece(3, piece(1, b"raw") + piece(2, b"\0\xff")))
        assert read_any(definition, body, PROTOBUF, Options(User("ann"))) == {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "ok"},
            "binaryData": {"raw": "AP8="},
        }

    def test_custom_resources_have_no_messages(self) -> None:
        definition = Definition("x.io", "v1", "ports", "Port", True, Schema(OBJECT), custom=True)
        with pytest.raises(Refusal) as refused:
            read_any(definition, envelope("x.io/v1", "Port", b""), PROTOBUF, Options(User("ann")))
        assert refused.value.code == 415
        assert refused.value.message == (
            "the body of the request was in an unknown format - accepted media types include:"
            " application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )


def read_anyhow(recorded: Any, body: bytes) -> None:
    group, kind = recorded["group"], recorded["kind"]
    schema = schema_of(group, "v1", kind)
    api_version = f"{group}/v1" if group else "v1"
    try:
        document = read_object(body, schema, kind, api_version)
        conform(schema, document, kind=kind, api_version=api_version)
    except Refusal as refusal:
        assert refusal.code == 400


@settings(max_examples=150, deadline=None)
@given(recorded=st.sampled_from(RECORDED), noise=st.binary(max_size=200), enveloped=st.booleans())
def test_noise_is_refused_or_read(recorded: Any, noise: bytes, enveloped: bool) -> None:
    group, kind = recorded["group"], recorded["kind"]
    read_anyhow(recorded, envelope(f"{group}/v1" if group else "v1", kind, noise) if enveloped else noise)


@settings(max_examples=150, deadline=None)
@given(recorded=st.sampled_from(RECORDED), data=st.data())
def test_damaged_messages_are_refused_or_read(recorded: Any, data: st.DataObject) -> None:
    body = bytearray(base64.b64decode(recorded["protobuf"]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body)))
        body[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    read_anyhow(recorded, bytes(body))
