from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.managed_fields import without_managed_fields

ENTRY = {
    "manager": "kubelet",
    "operation": "Update",
    "time": "2026-01-31T12:00:00Z",
    "fieldsV1": {"f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}}}}},
}


def pod(*entries: Any, **more: Any) -> dict[str, Any]:
    metadata = {
        "name": "p",
        "labels": {"a": "b"},
        "ownerReferences": [{"name": "o"}],
        "managedFields": entries,
    }
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}]}, **more}


def read_without(document: Any) -> Any:
    return msgspec.json.decode(without_managed_fields(msgspec.json.encode(document)))


@pytest.mark.parametrize("entries", [[], [ENTRY], [ENTRY, ENTRY | {"subresource": "status"}]])
def test_they_are_left_out_where_api_servers_put_them(entries: list[Any]) -> None:
    document = pod(*entries, status={"phase": "Running"})
    found = read_without(document)
    del document["metadata"]["managedFields"]
    assert found == document


@pytest.mark.parametrize(
    "document",
    [
        {"metadata": {"name": "p"}, "spec": {}},
        {"metadata": {"name": "p", "managedFields": [ENTRY], "labels": {}}, "spec": {}},
        {"metadata": {"managedFields": [ENTRY], "ownerReferences": [{"name": "o"}]}, "spec": {}},
        {"metadata": {"name": "p", "managedFields": [ENTRY]}, "status": {}},
        {"metadata": {"name": "p", "managedFields": [ENTRY]}},
        pod(ENTRY | {"fieldsV1": {'k:{"ip":"[::1]"}': {}}}),
        pod(ENTRY | {"fieldsV1": [{}]}),
        {"metadata": {"annotations": {"last": '{"a":1,"managedFields":[{}]},"spec":{}'}}, "spec": {}},
    ],
)
def test_where_there_is_any_doubt_nothing_is_left_out(document: Any) -> None:
    source = msgspec.json.encode(document)
    assert without_managed_fields(source) == source


pieces = st.sampled_from(
    ["managedFields", "spec", "metadata", "]", "[", '"', "},", '"spec":', "name", "k:{}"]
)
texts = st.lists(pieces, max_size=4).map("".join)
documents = st.recursive(
    texts | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=30,
)


def _pruned(value: Any) -> Any:
    """A value without any `managedFields`, at any depth."""
    if isinstance(value, dict):
        return {key: _pruned(item) for key, item in value.items() if key != "managedFields"}
    return [_pruned(item) for item in value] if isinstance(value, list) else value


@given(documents)
def test_nothing_else_is_ever_lost(document: Any) -> None:
    assert _pruned(read_without(document)) == _pruned(document)
