from __future__ import annotations

from typing import Any

import pytest

from moorage.cel.costs import fixed
from moorage.cel.declarations import Argument
from moorage.cel.types import ANY, DYN, STRING, Type, list_of
from moorage.cel.values import Duration, Map, Timestamp, Uint
from tests.cel.libraries.calling import call, check, cost, estimate, fails, known

INFINITY = float("inf")


def formatted(template: str, *values: Any) -> str:
    return str(call("string_format", template, values))


@pytest.mark.parametrize(
    ("template", "value", "expected"),
    [
        ("%s", "text", "text"),
        ("%s", 42, "42"),
        ("%s", Uint(2**64 - 1), "18446744073709551615"),
        ("%s", 64.2, "64.2"),
        ("%s", 1e6, "1e+06"),
        ("%s", INFINITY, "+Inf"),
        ("%s", True, "true"),
        ("%s", None, "null"),
        ("%s", b"bytes", "bytes"),
        ("%s", Type("int"), "int"),
        ("%s", Duration(6347 * 10**9), "6347s"),
        ("%s", Duration(-1_500_000_000), "-1.5s"),
        ("%s", Timestamp(1675467080 * 10**9), "2023-02-03T23:31:20Z"),
        ("%s", [1, "a\n", 2.5, None, True, b"b", []], '[1, "a\\n", 2.500000, null, true, b"b", []]'),
        ("%s", [INFINITY, Duration(1)], '["+Inf", duration("0.000000001s")]'),
        ("%s", [Timestamp(0)], '[timestamp("1970-01-01T00:00:00Z")]'),
        ("%s", ["\x01\x7f\u200b\U000e0001é"], '["\\x01\\x7f\\u200b\\U000e0001é"]'),
        ("%s", {"b": 1, "a": [2]}, '{"a":[2], "b":1}'),
        ("%s", Map([(2, "x"), (True, "y")]), '{2:"x", true:"y"}'),
        ("%.3s", "precision does not matter here", "precision does not matter here"),
        ("%d", -5, "-5"),
        ("%d", Uint(5), "5"),
        ("%f", 1234567.5, "1,234,567.500000"),
        ("%.0f", 2.5, "2"),
        ("%.2f", -0.001, "-0.00"),
        ("%f", -0.0, "0.000000"),
        ("%f", "NaN", "NaN"),
        ("%f", "-Infinity", "-∞"),
        ("%e", 2.71828, "2.718280×10⁰⁰"),
        ("%e", -1.5e-7, "-1.500000×10⁻⁰⁷"),
        ("%e", 1e100, "1.000000×10¹⁰⁰"),
        ("%.1e", 0.0, "0.000000×10⁰⁰"),
        ("%.15e", 1.5, "  1.500000×10⁰⁰"),
        ("%e", INFINITY, "     ∞"),
        ("%b", 5, "101"),
        ("%b", -5, "-101"),
        ("%b", True, "1"),
        ("%x", 26, "1a"),
        ("%X", -26, "-1A"),
        ("%x", "é", "c3a9"),
        ("%X", b"\xff\x00", "FF00"),
        ("%o", Uint(30), "36"),
        ("100%% %s é", "x", "100% x é"),
    ],
)
def test_clauses(template: str, value: Any, expected: str) -> None:
    assert formatted(template, value) == expected


def test_values_that_no_clause_asks_for_are_left_out() -> None:
    assert formatted("%s", "a", "b") == "a"
    assert formatted("") == ""


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("%s %s", ("a",), "index 1 out of range"),
        ("%", ("a",), "unexpected end of string"),
        ("%.", ("a",), "could not find end of precision specifier"),
        ("%.f", (1.5,), "error while converting precision to integer"),
        ("%.99999999999999999999f", (1.5,), "error while converting precision to integer"),
        ("%.99999f", (1.5,), "too many"),
        ("%q", ("a",), 'unrecognized formatting clause "q"'),
        ("%d", ("a",), "decimal clause can only be used on integers, was given string"),
        ("%f", (1,), "fixed-point clause can only be used on doubles, was given int"),
        ("%f", ("1.5",), "fixed-point clause can only be used on doubles, was given string"),
        ("%e", (True,), "scientific clause can only be used on doubles, was given bool"),
        ("%b", (1.5,), "only integers and bools can be formatted as binary, was given double"),
        ("%x", (1.5,), "only integers, byte buffers, and strings can be formatted as hex, was given double"),
        ("%o", (True,), "octal clause can only be used on integers, was given bool"),
        ("%s", (b"\xff",), "could not convert argument"),
    ],
)
def test_errors(template: str, values: tuple[Any, ...], text: str) -> None:
    assert text in fails("string_format", template, values)


def test_opaque_values_have_no_text() -> None:
    quantity = call("string_to_quantity", "1")
    assert "was given kubernetes.Quantity" in fails("string_format", "%s", [quantity])
    assert "no formatting function for kubernetes.Quantity" in fails("string_format", "%s", [[quantity]])
    assert "map key of type" in fails("string_format", "%s", [Map([(1.5, 1)])])


def written_out(*values: Argument) -> Argument:
    return Argument(list_of(DYN), fixed(len(values)), entries=values)


@pytest.mark.parametrize(
    ("template", "values", "complaint"),
    [
        ("%s and %d", (known("a"), known(1)), None),
        ("%s", (known([1, "a"]),), None),
        ("%f", (known("anything"),), None),
        ("%s", (Argument(DYN),), None),
        ("%s", (Argument(ANY),), "was given google.protobuf.Any"),
        ("%s", (Argument(list_of(DYN), entries=(Argument(ANY),)),), "was given google.protobuf.Any"),
        ("%s", (Argument(list_of(ANY)),), None),
        ("%s", (Argument(Type("net.IP")),), "was given net.IP"),
        ("%d", (known("a"),), "was given string"),
        ("%d", (), "index 0 out of range"),
        ("%d", (known(1), known(2)), "too many arguments supplied to string.format (expected 1, got 2)"),
        ("%", (known(1),), "unexpected end of string"),
    ],
)
def test_what_is_written_out_is_checked(
    template: str, values: tuple[Argument, ...], complaint: str | None
) -> None:
    found = check("string_format", known(template), written_out(*values))
    assert found is None if complaint is None else found is not None and complaint in found


def test_what_is_not_written_out_is_not_checked() -> None:
    assert check("string_format", Argument(STRING), written_out(Argument(ANY))) is None
    assert check("string_format", known("%d"), Argument(list_of(STRING))) is None


def test_costs_go_by_the_template_only() -> None:
    assert cost("string_format", "%s" + "x" * 9, ["y" * 100]) == 2
    assert estimate("string_format", known("x" * 11), known(["y"])) == (fixed(2), None)
