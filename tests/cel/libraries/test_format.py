from __future__ import annotations

import pytest

from moorage.cel.costs import fixed
from moorage.cel.declarations import Argument, Range
from moorage.cel.libraries.format import FORMAT_TYPE, FORMATS
from moorage.cel.types import STRING
from moorage.cel.values import NO_VALUE, Failure, Optional
from tests.cel.libraries.calling import call, cost, estimate, overload_of

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def complaints(name: str, text: str) -> tuple[str, ...]:
    found = call("format-validate", call(f"format.{name}"), text)
    assert isinstance(found, Optional)
    assert found.has_value == bool(found.value)
    return found.value or ()


VALID = {
    "dns1123Label": ["a", "my-name", "1", "a" * 63],
    "dns1123Subdomain": ["a.b", "a" * 253],
    "dns1035Label": ["a", "a-1"],
    "qualifiedName": ["MyName", "example.com/my_name"],
    "dns1123LabelPrefix": ["a-", "a"],
    "dns1123SubdomainPrefix": ["a.-", "a-"],
    "dns1035LabelPrefix": ["a-"],
    "labelValue": ["", "a_B.c", "a" * 63],
    "uri": ["http://x", "/p"],
    "uuid": ["123E4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"],
    "byte": ["aGVsbG8=", "YQ==", "aGVs"],
    "date": ["2020-02-29", "0000-02-29"],
    "datetime": ["2021-01-01T23:59:59Z", "2021-01-01t00:00:00.5+01:00", "2021-01-01T00:00:00x1Zt!"],
}
INVALID = {
    "dns1123Label": ["", "-a", "A", "é", "a\n"],
    "dns1123Subdomain": ["", "a..b", "a" * 254],
    "dns1035Label": ["1", ""],
    "qualifiedName": ["", "a/b/c", "/x", "x/"],
    "dns1123LabelPrefix": ["-", "é-", "Ab-"],
    "dns1123SubdomainPrefix": ["A.-", ""],
    "dns1035LabelPrefix": ["1-a"],
    "labelValue": ["-", "a" * 64],
    "uri": ["x", ""],
    "uuid": ["123e4567", "123e4567-e89b-12d3-a456-426614174000\n"],
    "byte": ["", "a", "a-_b"],
    "date": ["2021-02-29", "2021-1-1", "２021-01-01", "2021-01-01T00:00:00Z"],
    "datetime": ["2021-01-01", "2021-01-01T24:00:00Z", "2021-01-01T00:00:00", "2021-01-01T23:59:60Z"],
}


@pytest.mark.parametrize("name", FORMATS)
def test_validity(name: str) -> None:
    for text in VALID[name]:
        assert complaints(name, text) == ()
    for text in INVALID[name]:
        assert complaints(name, text) != ()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("dns1123Label", "a.b", ("must not contain dots",)),
        ("dns1123Label", "A" * 64, ("must be no more than 63 characters", LABEL)),
        ("dns1123Label", "é" * 32, ("must be no more than 63 characters", LABEL)),
        ("qualifiedName", "/x", ("prefix part must be non-empty",)),
        ("qualifiedName", "x/", ("name part must be non-empty", f"name part {NAME}")),
        ("qualifiedName", "x" * 64, ("name part must be no more than 63 bytes",)),
        ("labelValue", "x" * 64, ("must be no more than 63 bytes",)),
        ("uri", "x", ('parse "x": invalid URI for request',)),
        ("uuid", "x", ("does not match the UUID format",)),
        ("byte", "x", ("invalid base64",)),
        ("date", "x", ("invalid date",)),
        ("datetime", "x", ("invalid datetime",)),
    ],
)
def test_complaints(name: str, text: str, expected: tuple[str, ...]) -> None:
    assert complaints(name, text) == expected


def test_names_of_formats() -> None:
    for name, known_format in FORMATS.items():
        assert call("format-named", name) == Optional(known_format)
        assert call(f"format.{name}") == known_format
    assert call("format-named", "DNS1123Label") is NO_VALUE
    assert len(set(FORMATS.values())) == len(FORMATS)


@pytest.mark.parametrize(
    ("name", "unit"),
    [("dns1123Label", 8), ("labelValue", 10), ("uri", 276), ("uuid", 18), ("date", 18), ("byte", 21)],
)
def test_costs_go_by_the_pattern(name: str, unit: int) -> None:
    assert cost("format-validate", FORMATS[name], "") == unit
    assert cost("format-validate", FORMATS[name], "x" * 10) == 2 * unit


def test_other_costs() -> None:
    validate = overload_of("format-validate").actual_cost
    assert validate is not None
    assert validate([Failure("x"), "text"], Failure("x")) == 1
    assert cost("format-named", "x" * 100) == 1
    arguments = Argument(FORMAT_TYPE), Argument(STRING, Range(0, 64))
    assert estimate("format-validate", *arguments) == (Range(0, 7 * 32), None)
    assert estimate("format.uuid") == (fixed(1), None)
