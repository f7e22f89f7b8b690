from __future__ import annotations

from typing import Any

import pytest

from moorage.cel.costs import fixed
from moorage.cel.declarations import Argument, Range
from moorage.cel.types import INT, list_of
from moorage.cel.values import Uint
from tests.cel.libraries.calling import call, cost, estimate


@pytest.mark.parametrize(
    ("name", "left", "right", "expected"),
    [
        ("contains", (), (), True),
        ("contains", (), (1,), False),
        ("contains", (1, 2, 3), (3, 2), True),
        ("contains", (1, 2.0, Uint(3)), (1.0, Uint(2), 3), True),
        ("contains", (True,), (1,), False),
        ("equivalent", (), (), True),
        ("equivalent", (1,), (1, 1), True),
        ("equivalent", (1, 2), (1,), False),
        ("equivalent", (1,), (1, 2), False),
        ("intersects", (1,), (), False),
        ("intersects", (1,), (2, 1), True),
        ("intersects", ((1,), (2, 3)), ((1, 2), (2, 3.0)), True),
    ],
)
def test_results(name: str, left: tuple[Any, ...], right: tuple[Any, ...], expected: bool) -> None:
    assert call(f"list_sets_{name}_list", left, right) is expected


@pytest.mark.parametrize(("name", "expected"), [("contains", 7), ("intersects", 7), ("equivalent", 13)])
def test_all_are_compared_with_all(name: str, expected: int) -> None:
    overload = f"list_sets_{name}_list"
    assert cost(overload, (1, 2, 3), (4, 5)) == expected
    assert cost(overload, (), (4, 5)) == 1
    three, two = Argument(list_of(INT), fixed(3)), Argument(list_of(INT), Range(0, 2))
    assert estimate(overload, three, two) == (Range(1, expected), None)
