"""The cells of custom resources; every expectation is what kube-apiserver v1.36 shows for the same object."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.serving.tables.custom import custom_columns
from moorage.cluster.serving.tables.durations import seconds_since_epoch
from moorage.cluster.serving.tables.json_path import JSONPath, PathError
from moorage.cluster.serving.tables.rendering import Columns

NOW = seconds_since_epoch("2026-11-15T23:16:00Z") or 0.0

USUAL: dict[str, Any] = {
    "metadata": {"name": "t1", "creationTimestamp": "2026-11-15T23:14:40Z", "labels": {"x.y/z": "lab"}},
    "spec": {
        "s": "text",
        "i": 7,
        "n": 1.5,
        "b": True,
        "d": "2026-11-15T20:00:00Z",
        "list": ["x", "y", "z"],
        "objs": [
            {"name": "a", "v": 1, "alias": "b"},
            {"name": "b", "v": 2, "w": None, "t": True, "alias": "b"},
            {"name": "a)", "v": 3, "t": False, "alias": "z"},
            {"name": "q(", "v": 4, "t": False, "alias": "z"},
        ],
        "m": {"b": 1, "a": [True, None, "é<>&"]},
        "nul": None,
        "f": 1234567.5,
        "x": {"deep": "down"},
        "one": {"o": 5},
        "html": "<a>&",
        "empty": [],
        "big": 1.2345678901234568e22,
    },
    "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
}
ODD: dict[str, Any] = {
    "metadata": {"name": "t3"},
    "spec": {
        "objs": [1, "x", None, {"name": 5}, {"v": "s"}],
        "list": {"a": 1},
        "m": 5,
        "d": "yesterday",
        "i": 1e30,
        "n": 7,
        "f": -2.7,
        "b": "true",
        "s": 5,
    },
    "status": [{"conditions": 5}],
}
EMPTY: dict[str, Any] = {
    "metadata": {"name": "t4"},
    "spec": {
        "d": "",
        "s": "null",
        "objs": [None],
        "list": [None],
        "nul": [None],
        "m": {},
        "i": -0.5,
        "f": 5.0,
    },
}

CELLS: list[tuple[str, str, tuple[Any, Any, Any]]] = [
    ("string", ".spec.s", ("text", "5", "null")),
    ("integer", ".spec.i", (7, -(2**63), 0)),
    ("number", ".spec.n", (1.5, 7, None)),
    ("boolean", ".spec.b", (True, None, None)),
    ("date", ".spec.d", ("3h16m", "<invalid>", "<unknown>")),
    ("string", '.status.conditions[?(@.type=="Ready")].status', ("True", None, None)),
    ("string", ".metadata.labels['x.y/z']", (None, None, None)),
    ("string", r".metadata.labels['x\.y/z']", ("lab", None, None)),
    ("string", r".metadata.labels.x\.y/z", ("lab", None, None)),
    ("string", ".spec.list[*]", ("x", None, "<no value>")),
    ("string", ".spec.list[0]", ("x", None, "<no value>")),
    ("string", ".spec.list[]", ("x", None, "<no value>")),
    ("string", ".spec.list[-1]", ("z", None, "<no value>")),
    ("string", ".spec.list[-9]", (None, None, None)),
    ("string", ".spec.list[9]", (None, None, None)),
    ("string", ".spec.list[1:2]", ("y", None, None)),
    ("string", ".spec.list[0:3:2]", ("x", None, None)),
    ("string", ".spec.list[1,0]", ("y", None, None)),
    ("string", ".spec['s','i']", ("text", "5", "null")),
    ("string", ".spec['s']", ("text", "5", "null")),
    ("string", ".spec.objs[*].name", ("a", "5", None)),
    ("string", ".spec.m", ('{"a":[true,null,"é\\u003c\\u003e\\u0026"],"b":1}', "5", "{}")),
    ("string", ".spec.list", ('["x","y","z"]', '{"a":1}', "[null]")),
    ("string", ".spec.nul", ("<no value>", None, "[null]")),
    ("integer", ".spec.nul", (None, None, None)),
    ("string", ".spec.i", ("7", "1e+30", "-0.5")),
    ("string", ".spec.f", ("1.2345675e+06", "-2.7", "5")),
    ("string", ".spec.b", ("true", "true", None)),
    ("integer", ".spec.s", (None, 5, None)),
    ("integer", ".spec.f", (1234567, -2, 5)),
    ("boolean", ".spec.s", (None, None, None)),
    ("date", ".spec.s", ("<invalid>", None, "<unknown>")),
    ("string", ".spec.objs[?(@.v>1)].name", ("b", None, None)),
    ("string", ".spec.objs[?(@.v>1.5)].name", (None, None, None)),
    ("string", ".spec.objs[?(@.v<=1)].name", ("a", None, None)),
    ("string", ".spec.objs[?(@.w)].name", ("b", None, None)),
    ("string", ".spec.objs[?(@.name=='b')].v", ("2", None, None)),
    ("string", ".spec.objs[?( @.name == 'b' )].name", ("b", None, None)),
    ("string", ".spec.objs[?(@.name!='a')].name", ("b", None, None)),
    ("string", ".spec.objs[?(@.name==@.alias)].name", ("b", None, None)),
    ("string", ".spec.objs[?(@.t==true)].name", ("b", None, None)),
    ("string", '.spec.objs[?(@.name=="a)")].name', ("a)", None, None)),
    ("string", ".spec.objs[?(@.name=='q(')].name", ("q(", None, None)),
    ("string", "..deep", ("down", None, None)),
    ("string", ".spec.one.*", ("5", None, None)),
    ("string", ".spec.list.x", (None, None, None)),
    ("string", ".spec.s[0]", (None, None, None)),
    ("string", ".spec.s[?(@.a=='b')]", (None, None, None)),
    ("string", ".spec.nope.x[0]", (None, None, None)),
    ("string", ".", (None, None, None)),
    ("string", ".spec.html", ("<a>&", None, None)),
    ("string", ".spec.empty[*]", (None, None, None)),
    ("string", ".spec.empty[0]", (None, None, None)),
    ("string", ".spec.empty[?(@.a=='b')]", (None, None, None)),
    ("string", ".spec.big", ("1.2345678901234568e+22", None, None)),
    ("integer", ".spec.big", (-(2**63), None, None)),
]


def one_column(type_: str, path: str) -> Columns:
    return custom_columns([{"name": "x", "type": type_, "jsonPath": path}])


@pytest.mark.parametrize(("type_", "path", "expected"), CELLS, ids=[f"{row[0]} {row[1]}" for row in CELLS])
def test_cells(type_: str, path: str, expected: tuple[Any, Any, Any]) -> None:
    columns = one_column(type_, path)

    found = [columns.cells(document, NOW)[1] for document in (USUAL, ODD, EMPTY)]

    assert found == list(expected)


def test_without_columns_there_is_the_age() -> None:
    columns = custom_columns([])

    assert [(column.name, column.type, column.format) for column in columns.columns] == [
        ("Name", "string", "name"),
        ("Age", "date", ""),
    ]
    assert columns.cells(USUAL, NOW) == ["t1", "80s"]
    assert columns.cells({"metadata": {"name": "t2"}}, NOW) == ["t2", None]


def test_column_definitions() -> None:
    columns = custom_columns(
        [
            {
                "name": "Size",
                "type": "integer",
                "jsonPath": ".spec.i",
                "format": "int32",
                "priority": 1,
                "description": "How many.",
            },
            {"name": "Text", "type": "string", "jsonPath": ".spec.s"},
        ]
    )

    assert columns.definitions[1:] == [
        {"name": "Size", "type": "integer", "format": "int32", "description": "How many.", "priority": 1},
        {
            "name": "Text",
            "type": "string",
            "format": "",
            "description": "Custom resource definition column (in JSONPath format): .spec.s",
            "priority": 0,
        },
    ]


def test_columns_end_before_one_that_cannot_be_read() -> None:
    columns = custom_columns(
        [
            {"name": "s", "type": "string", "jsonPath": ".spec.s"},
            {"name": "bad", "type": "string", "jsonPath": '.spec["x"]'},
            {"name": "t", "type": "string", "jsonPath": ".spec.s"},
        ]
    )

    assert columns.cells(USUAL, NOW) == ["t1", "text"]


@pytest.mark.parametrize(
    "path",
    [
        '.spec["x"]',
        ".spec[x]",
        ".spec[1",
        ".spec[-]",
        ".spec[99999999999999999999]",
        ".spec[?(@.a==1]",
        ".spec[?(@.a=='b]",
        ".spec}.x",
        "spec",
        ".a['b]",
    ],
)
def test_what_is_not_a_path(path: str) -> None:
    with pytest.raises(PathError):
        JSONPath(path)


@settings(max_examples=300, deadline=None)
@given(
    path=st.lists(
        st.sampled_from(
            [
                *".[]()?@*:,'\"\\=<>!-0127",
                "spec",
                "list",
                "objs",
                "..",
                "[?(",
                ")]",
                "@.v",
                "name",
                "[*]",
                "==",
            ]
        ),
        max_size=12,
    ).map("".join),
    type_=st.sampled_from(["string", "integer", "number", "boolean", "date", ""]),
)
def test_no_path_is_too_odd(path: str, type_: str) -> None:
    columns = one_column(type_, path)
    for document in (USUAL, ODD, EMPTY, {}, {"metadata": 5, "spec": "x"}):
        assert len(columns.cells(document, NOW)) == len(columns.columns)
