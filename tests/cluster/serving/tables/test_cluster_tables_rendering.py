from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Stored
from moorage.cluster.serving.tables.builtin import PLAIN, columns_of
from moorage.cluster.serving.tables.rendering import include_object, table

NOW = 1_000.0
METADATA = {"name": "default", "namespace": "n", "creationTimestamp": "1970-01-01T00:00:00Z"}
ACCOUNT = Stored("n", "default", {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": METADATA}, 1)
PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": METADATA}
ACCOUNTS = columns_of("serviceaccounts")


def test_a_table_of_a_list() -> None:
    shown = table(ACCOUNTS, [ACCOUNT], now=NOW, list_metadata={"resourceVersion": "7"})

    assert shown == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "7"},
        "columnDefinitions": [
            {"name": "Name", "type": "string", "format": "name", "description": "", "priority": 0},
            {"name": "Age", "type": "string", "format": "", "description": "", "priority": 0},
        ],
        "rows": [{"cells": ["default", "16m"], "object": PARTIAL}],
    }


def test_only_the_first_event_of_a_watch_names_the_columns() -> None:
    shown = table(ACCOUNTS, [ACCOUNT], now=NOW, list_metadata={}, with_columns=False)

    assert shown["columnDefinitions"] is None
    assert shown["rows"] == [{"cells": ["default", "16m"], "object": PARTIAL}]


def test_what_comes_with_a_row() -> None:
    def shown(include: Any, item: Stored = ACCOUNT) -> Any:
        return table(ACCOUNTS, [item], now=NOW, include_object=include, list_metadata={})["rows"][0]["object"]

    assert shown("None") is None
    assert shown("Metadata") == PARTIAL
    assert shown("Object") == ACCOUNT.document
    bookmark = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    assert shown("None", Stored("", "", {"metadata": bookmark}, 9)) == {**PARTIAL, "metadata": bookmark}


def test_bookmarks_are_rows() -> None:
    bookmark = Stored("", "", {"metadata": {"resourceVersion": "9"}}, 9)

    rows = table(ACCOUNTS, [bookmark], now=NOW, include_object="None", list_metadata={})["rows"]

    assert rows == [{"cells": ["", "<unknown>"], "object": None}]


def test_rows_of_ended_pods_have_conditions() -> None:
    pod = Stored("n", "p", {"metadata": METADATA, "status": {"phase": "Failed"}}, 1)

    row = table(columns_of("pods"), [pod], now=NOW, list_metadata={})["rows"][0]

    assert list(row) == ["cells", "conditions", "object"]
    assert row["conditions"][0]["reason"] == "Failed"


def test_kinds_without_columns_of_their_own() -> None:
    assert columns_of("limitranges") is PLAIN
    assert columns_of("clusterroles.rbac.authorization.k8s.io") is PLAIN
    assert PLAIN.cells({}, NOW) == ["", "0001-01-01T00:00:00Z"]


def test_include_object() -> None:
    assert [include_object(text) for text in ("", "Metadata", "Object", "None")] == [
        "Metadata",
        "Metadata",
        "Object",
        "None",
    ]
    with pytest.raises(Refusal) as refusal:
        include_object("Foo")
    assert refusal.value.code == 400
    assert refusal.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "Foo": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )
