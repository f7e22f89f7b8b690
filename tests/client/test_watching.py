"""Records of a watch, however they are cut."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.client.errors import ApiError, Gone
from moorage.client.resources import Resource
from moorage.client.watching import Change, Lines, change_of

PODS = Resource.of(Pod)


def test_lines_cut_at_every_place() -> None:
    lines = [b'{"a": "1"}', "zwölf".encode(), b"x"]
    stream = b"\n".join(lines) + b"\n"
    for first in range(len(stream) + 1):
        for second in range(first, len(stream) + 1):
            splitter = Lines()
            chunks = (stream[:first], stream[first:second], stream[second:])
            assert [line for chunk in chunks for line in splitter.feed(chunk)] == lines


def test_empty_lines_and_an_unfinished_one_are_left_out() -> None:
    splitter = Lines()
    assert list(splitter.feed(b"\n\na\n\nb\nunfinished")) == [b"a", b"b"]


def test_long_line_in_many_chunks() -> None:
    splitter = Lines()
    for _ in range(1000):
        assert list(splitter.feed(b"x" * 1000)) == []
    assert list(splitter.feed(b"\n")) == [b"x" * 1_000_000]


def event(type: str, **object: object) -> bytes:
    return json.dumps({"type": type, "object": object}).encode()


def test_object() -> None:
    meta = {"namespace": "a", "name": "b", "resourceVersion": "7", "uid": "u"}
    change = change_of(PODS, event("ADDED", metadata=meta, spec={"nodeName": "n"}, other=[1]))
    assert isinstance(change.object, Pod)
    assert (change.type, change.resource_version, change.key) == ("ADDED", "7", "a/b")
    assert change.object.spec.node_name == "n" and change.object.raw["other"] == [1]


def test_bookmark_is_a_version_only() -> None:
    line = event(
        "BOOKMARK", kind="Pod", metadata={"resourceVersion": "9", "creationTimestamp": None}, spec={}
    )
    assert change_of(PODS, line) == Change("BOOKMARK", None, "9")


def test_object_that_cannot_be_decoded_is_named(caplog: pytest.LogCaptureFixture) -> None:
    meta = {"namespace": "a", "name": "b", "resourceVersion": "7"}
    with caplog.at_level(logging.WARNING):
        change = change_of(PODS, event("DELETED", metadata=meta, spec={"nodeName": [1]}))
    assert change == Change("DELETED", None, "7", "a/b")
    assert "left out of pods" in caplog.text and "Pod a/b" in caplog.text


def test_errors_are_raised() -> None:
    with pytest.raises(Gone, match="too old"):
        change_of(PODS, event("ERROR", kind="Status", code=410, reason="Expired", message="too old"))
    with pytest.raises(ApiError, match="no such luck") as caught:
        change_of(PODS, event("ERROR", kind="Status", code=500, message="no such luck"))
    assert caught.value.code == 500


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b'{"type": "ADDED"}', b'{"type": "BOOKMARK", "object": 1}', b"\xff"]
)
def test_nonsense_is_an_error_that_names_the_watch(line: bytes) -> None:
    with pytest.raises(ApiError, match="watch of nodes: a record cannot be read"):
        change_of(Resource.of(Node), line)


@pytest.mark.parametrize(
    "line", [event("NEWS", metadata={"name": "p", "namespace": "n"}), event("ADDED", spec={}), b"null"]
)
def test_what_no_api_server_says_ends_the_watch(line: bytes) -> None:
    with pytest.raises(ApiError, match="a record cannot be read"):
        change_of(PODS, line)


@given(
    st.sampled_from(["ADDED", "MODIFIED", "DELETED"]),
    st.dictionaries(st.text(max_size=5), st.text(max_size=10), max_size=3),
    st.sampled_from(["", '{"type":"ADDED","object":{}}', "}}", '"', "\\\\"]),
    st.booleans(),
)
def test_lines_say_the_same_however_they_are_written(
    kind: str, labels: dict[str, str], odd: str, more: bool
) -> None:
    """As API servers write them, and with spaces or with fields that nobody expects."""
    metadata = {"name": "b", "namespace": "a", "resourceVersion": "7", "labels": labels}
    document = {"metadata": metadata, "spec": {"schedulerName": odd}}
    event = {"type": kind, "object": document} | ({"more": {"object": document}} if more else {})
    lines = [json.dumps(event, separators=(",", ":")).encode(), json.dumps(event).encode()]
    usual, spaced = (change_of(PODS, line) for line in lines)
    for change in (usual, spaced):
        assert (change.type, change.key, change.resource_version) == (kind, "a/b", "7")
        assert change.object is not None and change.object.raw == document
        assert change.object.spec.scheduler_name == odd and change.object.labels == labels


@pytest.mark.parametrize("cut", [1, 2, 5, 40])
def test_a_line_that_is_cut_short_is_not_believed(cut: int) -> None:
    line = b'{"type":"MODIFIED","object":{"metadata":{"name":"b","namespace":"a"},"spec":{}}}'
    with pytest.raises(ApiError, match="cannot be read"):
        change_of(PODS, line[:-cut])
