"""Expected texts are those of Go's formatting."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.custom.validation import shown


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", '"a"'),
        ('a"\\\n\x00\x7f', '"a\\"\\\\\\n\\x00\\x7f"'),
        ("é\u200b\U000e0001", '"é\\u200b\\U000e0001"'),
        (True, "true"),
        (None, "null"),
        (1, "1"),
        (1.0, "1"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (100000.5, "100000.5"),
        (1e6, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (-9223372036854775808, "-9223372036854775808"),
        (9223372036854775808, "9.223372036854776e+18"),
        (12345678901234567890123, "1.2345678901234568e+22"),
        ([1e6, 1e-5, 1.5e-7, 1e21, 2.0], "[1000000,0.00001,1.5e-7,1e+21,2]"),
        ({"b": 1, "a": ["<", None]}, '{"a":["\\u003c",null],"b":1}'),
    ],
)
def test_values_in_messages(value: Any, expected: str) -> None:
    assert shown(value) == expected
