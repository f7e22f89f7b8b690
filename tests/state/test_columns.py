from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.state.columns import Codes, Columns

LARGEST, SMALLEST = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("before", "amount", "after"),
    [
        (1, 2, 3),
        (5, -7, -2),
        (LARGEST, 1, SMALLEST),
        (LARGEST, LARGEST, -2),
        (SMALLEST, -1, LARGEST),
        (SMALLEST, LARGEST, -1),
    ],
)
def test_adding_wraps_around_as_64_bit_numbers_do(before: int, amount: int, after: int) -> None:
    columns = Columns()
    column = columns.create()
    row = columns.append_row()
    column[row] = before
    column.add(row, amount)
    assert column[row] == after
    column.add(row, -amount)
    assert column[row] == before


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_all_columns_follow_the_rows(data: st.DataObject) -> None:
    """Against a list of rows: appending, removing (the last moves into the hole), reordering, growing."""
    columns = Columns()
    kinds: list[tuple[Any, Any]] = [(np.int64, 0), (np.int32, 0), (np.bool_, False), (np.float64, -1.5)]
    made = [(columns.create(dtype, fill), fill) for dtype, fill in kinds]
    rows: list[list[Any]] = []
    for _ in range(data.draw(st.integers(0, 12))):
        action = data.draw(st.sampled_from(["append", "append many", "remove", "reorder", "create"]))
        if action.startswith("append"):
            for _ in range(1 if action == "append" else 60):
                assert columns.append_row() == len(rows)
                rows.append([fill for _, fill in made])
        elif action == "remove" and rows:
            row = data.draw(st.integers(0, len(rows) - 1))
            assert columns.remove_row(row) == len(rows) - 1
            rows[row] = rows[-1]
            rows.pop()
        elif action == "reorder":
            order = data.draw(st.permutations(range(len(rows))))
            columns.reorder(np.array(order, dtype=np.intp))
            rows = [rows[place] for place in order]
        elif action == "create":
            made.append((columns.create(), 0))
            rows = [[*row, 0] for row in rows]
        for row in data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5)) if rows else ():
            made[0][0][row] = rows[row][0] = row * 7 + 1
        assert columns.size == len(rows)
        for place, (column, fill) in enumerate(made):
            assert column.data[: len(rows)].tolist() == [row[place] for row in rows]
            assert (column.data[len(rows) :] == fill).all()


def test_a_column_lives_as_long_as_somebody_holds_it() -> None:
    columns = Columns()
    kept = columns.create()
    columns.create()
    gc.collect()
    assert list(columns) == [kept]


# Codes


def test_code_0_stands_for_none() -> None:
    codes = Codes[str]()
    assert (len(codes), codes.values, codes.get("a")) == (1, [None], 0)
    codes.release(0)
    assert codes.hold("a") == 1


def test_the_code_of_a_value_nobody_has_is_used_again() -> None:
    codes = Codes[str]()
    a, b = codes.hold("a"), codes.hold("b")
    assert codes.hold("a") == a
    codes.release(a)
    assert codes.get("a") == a, "still held once"
    codes.release(a)
    assert (codes.get("a"), codes.values[a]) == (0, None)
    assert codes.hold("c") == a
    assert (codes.get("b"), codes.values[b], len(codes)) == (b, "b", 3)


def test_the_version_changes_with_meanings_only() -> None:
    codes = Codes[str]()
    code = codes.hold("a")
    version = codes.version
    codes.hold("a")
    codes.release(code)
    assert codes.version == version
    codes.release(code)
    assert codes.version != version
    version = codes.version
    codes.hold("b")
    assert codes.version != version


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef"))))
def test_codes_against_a_bag_of_values(steps: list[tuple[bool, str]]) -> None:
    codes = Codes[str]()
    held: list[str] = []
    most = 0
    for hold, value in steps:
        if hold:
            codes.hold(value)
            held.append(value)
        elif value in held:
            codes.release(codes.get(value))
            held.remove(value)
        most = max(most, len(set(held)))
        assert {known for known in "abcdef" if codes.get(known)} == set(held)
        assert all(codes.values[codes.get(known)] == known for known in held)
        assert len(codes) == most + 1, "never more codes than values were held at once"
