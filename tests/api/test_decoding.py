from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
import pytest

from moorage.api.decoding import DecodeError, decode, from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.quantities import parse
from moorage.api.workloads import Service

Document: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str | int, ...]

DOCUMENT: Document = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web"},
        "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}],
    },
    "spec": {
        "schedulerName": "special",
        "priority": 5,
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "ports": [{"hostPort": 80, "protocol": "UDP"}],
            }
        ],
        "nodeSelector": {"disk": "ssd"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
                    ]
                }
            }
        },
        "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "d"}}],
    },
    "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]},
}


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """Every place inside a document, maps and lists included."""
    items: Iterator[tuple[str | int, Any]]
    if isinstance(value, dict):
        items = iter(value.items())
    elif isinstance(value, list):
        items = iter(enumerate(value))
    else:
        return
    for name, item in items:
        yield (*at, name)
        yield from paths(item, (*at, name))


def at(document: Document, path: Path) -> Any:
    found: Any = document
    for name in path:
        found = found[name]
    return found


FIELDS = [path for path in paths(DOCUMENT) if isinstance(path[-1], str)]
MAPS = [(), *(path for path in paths(DOCUMENT) if isinstance(at(DOCUMENT, path), dict))]
STRUCTS = [path for path in MAPS if path[-1:] not in [("labels",), ("requests",), ("nodeSelector",)]]


def same(one: Pod, other: Pod) -> bool:
    return (one.metadata, one.spec, one.status) == (other.metadata, other.spec, other.status)


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize("path", FIELDS, ids=repr)
def test_null_reads_as_absent(path: Path) -> None:
    with_null, without = copy.deepcopy(DOCUMENT), copy.deepcopy(DOCUMENT)
    at(with_null, path[:-1])[path[-1]] = None
    del at(without, path[:-1])[path[-1]]
    expected = decode(Pod, encoded(without))
    decoded = decode(Pod, encoded(with_null))
    assert same(decoded, expected)
    assert decoded.raw == with_null
    from_yaml = from_document(Pod, with_null)
    assert same(from_yaml, expected)
    assert from_yaml.raw is with_null


@pytest.mark.parametrize("path", STRUCTS, ids=repr)
def test_unknown_fields_are_ignored_and_still_in_raw(path: Path) -> None:
    document = copy.deepcopy(DOCUMENT)
    at(document, path)["notModelled"] = {"deep": [1, None, {"x": 2.5}]}
    decoded = decode(Pod, encoded(document))
    assert same(decoded, decode(Pod, encoded(DOCUMENT)))
    assert decoded.raw == document
    assert at(decoded.raw, path)["notModelled"] == {"deep": [1, None, {"x": 2.5}]}


def test_unknown_fields_survive_beside_a_null() -> None:
    document = DOCUMENT | {"notModelled": [1, None], "status": None}
    decoded = decode(Pod, encoded(document))
    assert decoded.status.phase == ""
    assert decoded.raw == document


def test_both_ways_of_reading_agree() -> None:
    assert same(decode(Pod, encoded(DOCUMENT)), from_document(Pod, DOCUMENT))


def test_raw_is_decoded_on_first_use() -> None:
    decoded = decode(Pod, encoded(DOCUMENT))
    assert "raw" not in vars(decoded)
    raw = decoded.raw
    assert raw == DOCUMENT
    assert decoded.raw is raw


def test_raw_of_a_document_is_that_document() -> None:
    document = {"metadata": {"name": "web"}, "notModelled": 1}
    assert from_document(Pod, document).raw is document


@pytest.mark.parametrize(
    ("path", "wrong", "where"),
    [
        (("metadata",), [], "$.metadata"),
        (("metadata", "labels"), "app=web", "$.metadata.labels"),
        (("metadata", "labels", "app"), 5, "$.metadata.labels[...]"),
        (("metadata", "labels", "app"), True, "$.metadata.labels[...]"),
        (("metadata", "labels", "app"), 1.5, "$.metadata.labels[...]"),
        (("metadata", "labels", "app"), ["web"], "$.metadata.labels[...]"),
        (("metadata", "labels", "app"), {"a": "b"}, "$.metadata.labels[...]"),
        (("spec",), "text", "$.spec"),
        (("spec", "priority"), "5", "$.spec.priority"),
        (("spec", "priority"), 5.5, "$.spec.priority"),
        (("spec", "containers"), {}, "$.spec.containers"),
        (("spec", "containers", 0), "c", "$.spec.containers[0]"),
        (("spec", "containers", 0, "ports", 0, "hostPort"), "80", "$.spec.containers[0].ports[0].hostPort"),
        (
            ("spec", "containers", 0, "resources", "requests", "cpu"),
            True,
            "$.spec.containers[0].resources.requests[...]",
        ),
        (
            ("spec", "containers", 0, "resources", "requests", "cpu"),
            ["1"],
            "$.spec.containers[0].resources.requests[...]",
        ),
        (("spec", "nodeSelector", "disk"), 1, "$.spec.nodeSelector[...]"),
        (("spec", "tolerations", 0, "tolerationSeconds"), "5", "$.spec.tolerations[0].tolerationSeconds"),
        (
            (
                *("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
                *("nodeSelectorTerms", 0, "matchExpressions", 0, "values"),
            ),
            "b",
            "nodeSelectorTerms[0].matchExpressions[0].values",
        ),
        (("status", "phase"), 1, "$.status.phase"),
    ],
)
def test_a_wrong_type_names_the_object_and_the_field(path: Path, wrong: Any, where: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    at(document, path[:-1])[path[-1]] = wrong
    named = "Pod: " if path == ("metadata",) else "Pod shop/web: "
    with pytest.raises(DecodeError) as from_bytes:
        decode(Pod, encoded(document))
    with pytest.raises(DecodeError) as from_yaml:
        from_document(Pod, document)
    for text in (str(from_bytes.value), str(from_yaml.value)):
        assert text.startswith(named)
        assert f"{where}`" in text
        assert "\n" not in text


def test_the_path_is_right_beside_nulls() -> None:
    document = {
        "metadata": {"name": "n"},
        "spec": {"unschedulable": None, "taints": [{"key": None}, {"key": 1}]},
    }
    with pytest.raises(
        DecodeError, match=r"^Node n: Expected `str`, got `int` - at `\$\.spec\.taints\[1\]\.key`$"
    ):
        decode(Node, encoded(document))


def test_the_name_in_an_error_is_short_and_on_one_line() -> None:
    document = {"metadata": {"name": "two\nlines" * 10_000, "namespace": 5}}
    with pytest.raises(DecodeError) as raised:
        decode(Pod, encoded(document))
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500
    assert "$.metadata.namespace" in str(raised.value)


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b" ",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"5",
        b'{"metadata": {"name": "a"}} trailing',
        b'{"metadata": {"name": 5}, malformed',
        b'{"metadata": {"name": "\xff"}}',
        b'{"spec": {"overhead": {"cpu": 1e400}}}',
        b'{"notModelled": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=lambda source: repr(source[:40]),
)
def test_what_is_no_object(source: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^Pod: ") as raised:
        decode(Pod, source)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("document", [{"metadata": {"labels": {1: "a"}}}, {True: "on"}, {"spec": {5: 6}}])
def test_keys_that_are_no_texts(document: dict[Any, Any]) -> None:
    with pytest.raises(DecodeError, match=r"^Pod: .*`key`"):
        from_document(Pod, document)


def test_numbers_are_quantities() -> None:
    amounts = (
        b'{"cpu": 2, "memory": 1e3, "ephemeral-storage": 0.1, "example.com/a": 18446744073709551616, "b": -1}'
    )
    decoded = decode(Node, b'{"status": {"allocatable": ' + amounts + b"}}").status.allocatable
    assert {name: parse(amount) for name, amount in decoded.items()} == {
        "cpu": 2 * 10**9,
        "memory": 10**12,
        "ephemeral-storage": 10**8,
        "example.com/a": 2**64 * 10**9,
        "b": -(10**9),
    }


def test_long_label_values() -> None:
    long = "v" * 65536
    decoded = decode(Pod, encoded({"metadata": {"labels": {"key": long}, "annotations": {long: long}}}))
    assert decoded.labels == {"key": long}
    assert decoded.annotations == {long: long}
    assert decoded.raw["metadata"]["labels"]["key"] == long


def test_texts_are_unicode() -> None:
    source = '{"metadata": {"name": "a", "annotations": {"ключ": "值 \\u00e9 \\ud83d\\ude00"}}}'.encode()
    assert decode(Pod, source).annotations == {"ключ": "值 é 😀"}


def test_an_empty_object_has_every_default() -> None:
    decoded = decode(Pod, b"{}")
    assert same(decoded, Pod())
    assert decoded.raw == {}


def test_an_empty_map_is_not_an_absent_one() -> None:
    assert decode(Pod, b'{"spec": {"nodeSelector": {}}}').spec.node_selector == {}
    assert decode(Pod, b'{"spec": {"nodeSelector": null}}').spec.node_selector is None
    assert decode(Pod, b'{"spec": {}}').spec.node_selector is None
    assert decode(Service, b'{"spec": {"selector": {}}}').spec.selector == {}
    assert decode(Service, b'{"spec": {}}').spec.selector is None


def test_the_source_is_not_part_of_the_object() -> None:
    decoded = decode(Pod, encoded(DOCUMENT))
    assert "_source" not in msgspec.json.decode(msgspec.json.encode(decoded))
