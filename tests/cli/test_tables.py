"""Tables: they fit the terminal or are folded row by row, and in a pipe every row is one whole line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cli.tables import folded, table_lines
from moorage.plugins.catalog import CATALOG, CONTRIB
from tests.cli.running import node, on_terminal, pod, run_alone, write

WIDTHS = (60, 80, 120, 200)
PODS = [f"pod-with-a-rather-long-name-{i}" for i in range(3)]

words = st.text("abcdefghij-/", min_size=1, max_size=12)
texts = st.lists(words, max_size=12).map(" ".join)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    tainted = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    nodes = [node("node-a"), node("node-b-with-a-long-name.example.com"), node("node-c", spec=tainted)]
    write(tmp_path / "cluster.yaml", *nodes)
    write(tmp_path / "pod.yaml", pod("web"))
    write(tmp_path / "pods.yaml", *(pod(name) for name in PODS), pod("big", "64"))
    return tmp_path


def commands(folder: Path) -> dict[tuple[str, ...], list[str]]:
    """Commands that print tables, and the names in them."""
    nodes = ["node-a", "node-b-with-a-long-name.example.com", "node-c"]
    return {
        ("plugins",): [*CATALOG, "in-tree", "preEnqueue", "score"],
        ("evaluate", "--cluster", str(folder / "cluster.yaml"), "--pod", str(folder / "pod.yaml")): [
            *nodes,
            "default/web",
        ],
        ("simulate", str(folder / "cluster.yaml"), str(folder / "pods.yaml"), "--show-placements"): [
            *(f"default/{name}" for name in PODS),
            *nodes[:2],
        ],
    }


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_terminal_is_never_too_narrow(columns: int, cluster: Path) -> None:
    for args, names in commands(cluster).items():
        lines = on_terminal(*args, columns=columns).replace("\r", "\n").splitlines()
        assert max(map(len, lines)) <= columns, args
        told = {word for line in lines for word in line.split()}
        for name in names:
            assert any(name in word for word in told), f"{name} is cut by {args}"


def test_in_a_pipe_every_row_is_one_line_without_trailing_blanks(cluster: Path) -> None:
    for args, names in commands(cluster).items():
        text = run_alone(*args).stdout
        assert all(line == line.rstrip() for line in text.splitlines()), args
        assert all(name in text for name in names)
    _, *rows = run_alone("plugins").stdout.splitlines()
    assert [row.split()[0] for row in rows if not row.startswith(" ")] == [*CATALOG, *CONTRIB]


def test_a_table_that_fits() -> None:
    lines = list(table_lines(("NAME", "SIZE"), [("a", "1"), ("long-name", "")], 80))
    assert lines == ["NAME       SIZE", "a          1", "long-name"]


def test_the_last_column_is_folded_between_words() -> None:
    rows = [("a", "one two three four five six seven eight nine ten")]
    lines = list(table_lines(("NAME", "TEXT"), rows, 40, notes=["so it is"]))
    assert lines == [
        "NAME  TEXT",
        "a     one two three four five six seven",
        "      eight nine ten",
        "    so it is",
    ]


def test_where_that_is_not_enough_it_goes_below_and_then_rows_become_lines() -> None:
    rows = [("a" * 20, "source", "filter, score, reserve"), ("b", "", "bind")]
    headings, notes = ("NAME", "SOURCE", "POINTS"), ["does something", ""]
    assert list(table_lines(headings, rows, 35, notes=notes)) == [
        "NAME                  SOURCE",
        f"{'a' * 20}  source",
        "    POINTS: filter, score, reserve",
        "    does something",
        "b",
        "    POINTS: bind",
    ]
    assert list(table_lines(headings, rows, 27, notes=notes)) == [
        f"NAME: {'a' * 20}",
        "  SOURCE: source",
        "  POINTS: filter, score,",
        "    reserve",
        "  does something",
        "NAME: b",
        "  POINTS: bind",
    ]


def test_wide_letters_take_two_columns() -> None:
    assert list(table_lines(("N", "M"), [("港", "x"), ("ab", "y")], None)) == ["N   M", "港  x", "ab  y"]


@given(st.lists(st.tuples(words, words, texts), min_size=1, max_size=4), st.integers(20, 90))
def test_nothing_is_lost_and_only_words_that_are_too_long_stick_out(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    lines = list(table_lines(("FIRST", "SECOND", "THIRD"), rows, width))
    told = " ".join(lines).split()
    for row in rows:
        for word in " ".join(row).split():
            assert word in told
    assert all(len(line) <= max(width, 4 + 12 + len("SECOND: ")) for line in lines)
    assert all(line == line.rstrip() for line in lines)


def test_text_without_a_terminal_stays_a_line() -> None:
    assert list(folded("a b c", None, first="  ")) == ["  a b c"]
    assert list(folded("aa bb cc", 5, first="")) == ["aa bb", "  cc"]
