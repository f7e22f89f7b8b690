"""What expressions mean, edge by edge."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cel.environment import Environment
from moorage.cel.libraries.catalog import KUBERNETES
from moorage.cel.syntax.macros import BINDINGS as BINDING_MACROS
from moorage.cel.syntax.macros import MACROS
from moorage.cel.syntax.source import CompileError
from moorage.cel.types import DYN, INT, Type, list_of, map_of
from moorage.cel.values import Duration, EvaluationError, Map, Timestamp, Uint

VARIABLES = {"n": INT, "d": DYN, "ages": map_of(Type("string"), INT), "xs": list_of(INT)}
BINDINGS: dict[str, Any] = {
    "n": 3,
    "d": {"a": {"b": [1, 2]}, "text": "x"},
    "ages": {"ann": 30},
    "xs": [1, 2, 3],
}
ENVIRONMENT = Environment(KUBERNETES, VARIABLES, macros={**MACROS, **BINDING_MACROS})


def value_of(expression: str) -> Any:
    return ENVIRONMENT.compile(expression).evaluate(BINDINGS).value


@pytest.mark.parametrize(
    "expression",
    [
        # literals
        "0x1F == 31 && -0x10 == -16 && 0xFFu == 255u",
        ".5 == 0.5 && 1e3 == 1000.0 && -1.5e-2 == -0.015",
        r""" "\x41\u00e4\101\n" == 'Aä' + "A" + '''
''' """,
        r"""r"\d" == '\\d' && R'''a'b''' == "a'b" && b"\xff" != b'ÿ' && br'\n'.size() == 2 """,
        "'''a\r\nb''' == 'a\\nb'",
        "[1, 2,] == [1, 2] && [,] == [] && {'a': 1,} == {'a': 1} && {,} == {}",
        "1 // a comment\n + 1 == 2",
        # operators
        "1 + 2 * 3 - 4 / 2 == 5 && (1 + 2) * 3 == 9 && 7 % 3 == 1",
        "-7 / 2 == -3 && -7 % 2 == -1 && 7 % -2 == 1",
        "--1 == 1 && !!true && - 1 == -1 && 1--1 == 2",
        "1.0 / 0.0 > 1e308 && -1.0 / 0.0 < -1e308 && 0.0 / 0.0 != 0.0 / 0.0",
        "true ? (false ? false : true) : false",
        "!(false && 1 / 0 == 1) && (1 / 0 == 1 || true) && !(1 / 0 == 1 && false)",
        "'a' < 'b' && 'ä' > 'z' && b'a' < b'b' && false < true && duration('1s') < duration('1m')",
        "1 < 2.5 && 3u > 2 && 2.0 <= 2u && 9223372036854775807 <= 9223372036854775808.0",
        "[1] + [2, 3] == [1, 2, 3] && 'a' + 'b' == 'ab' && b'a' + b'b' == b'ab'",
        # equality and keys
        "dyn(1) == 1u && dyn(1) == 1.0 && dyn(1) != true && dyn(1) != '1' && null == dyn(null)",
        "dyn(9007199254740993) == 9007199254740992.0",
        "[dyn(1), dyn(2u)] == [dyn(1.0), dyn(2)] && {'a': [1]} == {'a': [1]} && {'a': 1} != {'b': 1}",
        "{1: 'a'}[dyn(1u)] == 'a' && {1u: 'a'}[dyn(1.0)] == 'a'",
        "dyn(1) in {1u: 2} && !(dyn(true) in {1: 2})",
        "{dyn(1): 1, dyn(true): 2, dyn(1u): 3, dyn(1.0): 4}.size() == 4",
        "1 in [3, 2, 1] && dyn(1.0) in [1, 2] && !('a' in ['b']) && 'ann' in ages && !('bob' in ages)",
        "optional.of(1) == optional.of(1) && optional.none() == optional.none()",
        "optional.of(1) != optional.none()",
        # selection
        "d.a.b[1] == 2 && d['a']['b'][0] == 1 && d.a.b[dyn(1u)] == 2 && ages.ann == 30",
        "has(ages.ann) && !has(ages.bob) && has(d.a) && !has(d.a.c)",
        "d.?a.?c.hasValue() == false && d.?a.b.value() == [1, 2]",
        "xs[?7].orValue(0) == 0 && xs[?0] == optional.of(1)",
        "(n == 3 ? {'x': 1} : {'x': 2}).x == 1",
        # macros
        "xs.all(x, x > 0) && xs.exists(x, x == 2) && xs.exists_one(x, x == 2) && !xs.exists_one(x, x > 1)",
        "xs.map(x, x * 2) == [2, 4, 6] && xs.map(x, x > 1, x * 2) == [4, 6] && xs.filter(x, x > 1) == [2, 3]",
        "ages.all(k, ages[k] == 30) && ages.map(k, k) == ['ann']",
        "xs.all(i, x, x == i + 1) && xs.exists(i, x, i == x - 1) && xs.existsOne(i, x, i == 1)",
        "xs.transformList(i, x, i * x) == [0, 2, 6] && xs.transformList(i, x, i > 0, x) == [2, 3]",
        "xs.transformMap(i, x, x * 2)[2] == 6 && ages.transformMap(k, v, v + 1).ann == 31",
        "xs.transformMapEntry(i, x, {x: i}) == {1: 0, 2: 1, 3: 2}",
        "xs.map(x, xs.map(y, x * y).size()).size() == 3 && xs.map(x, xs.filter(x, x > 2)) == [[3], [3], [3]]",
        "cel.bind(a, n + 1, cel.bind(a, a * 2, a == 8)) && cel.bind(unused, 1 / 0, true)",
        "xs.sortBy(x, -x) == [3, 2, 1]",
        "[0, 1].all(x, 1 / x == 5) == false && [0, 1].exists(x, 1 / x == 1)",
        # optional values
        "optional.of(n).optMap(x, x + 1).value() == 4 && !optional.none().optMap(x, x + 1).hasValue()",
        "optional.of(n).optFlatMap(x, optional.of(x * 2)) == optional.of(6)",
        "optional.of(1).or(optional.of(1 / 0)).value() == 1 && optional.of(1).orValue(1 / 0) == 1",
        "optional.ofNonZeroValue(0) == optional.none() && optional.ofNonZeroValue('a').value() == 'a'",
        "[1, ?optional.none(), ?optional.of(2)] == [1, 2]",
        "{?'a': optional.none(), ?'b': optional.of(1)} == {'b': 1}",
        "[1, 2].first().value() == 1 && [1, 2].last().value() == 2 && !xs.filter(x, false).last().hasValue()",
        "optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(1)].unwrapOpt() == [1]",
        # conversions
        "int('-12') == -12 && int(3.9) == 3 && int(-3.9) == -3 && int(7u) == 7",
        "uint('7') == 7u && uint(7.5) == 7u",
        "double('0x1p-2') == 0.25 && double('1_0') == 10.0 && double('inf') > 1e308 && double(3) == 3.0",
        "string(1e21) == '1e+21' && string(0.1) == '0.1' && string(-5) == '-5' && string(true) == 'true'",
        "bool('t') && !bool('False') && bytes('ä') == b'\\xc3\\xa4' && string(b'abc') == 'abc'",
        "type(1) == int && type(xs) == list && type(ages) == map",
        "type(type(1)) == type && type(null) == null_type",
        "size('ä€') == 2 && b'ä'.size() == 2 && size(xs) == 3 && ages.size() == 1",
        "'abc'.contains('bc') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'abc'.matches('b.$')",
        # times
        "timestamp('2024-02-29T12:34:56.789Z').getFullYear() == 2024",
        "timestamp('2024-02-29T12:34:56Z').getMonth() == 1",
        "timestamp('2024-02-29T12:34:56Z').getDate() == 29",
        "timestamp('2024-02-29T12:34:56Z').getDayOfYear() == 59 && timestamp(0).getDayOfWeek() == 4",
        "timestamp('2024-02-29T23:30:00Z').getHours('+01:30') == 1 && timestamp(0).getHours('-05:00') == 19",
        "timestamp('1969-12-31T23:59:59.9Z').getMilliseconds() == 900",
        "int(timestamp('1969-12-31T23:59:59.9Z')) == -1",
        "string(timestamp('2024-01-01T00:00:00.120+02:00')) == '2024-01-01T00:00:00.12+02:00'",
        "timestamp('2024-03-01T00:00:00Z') - timestamp('2024-02-28T00:00:00Z') == duration('48h')",
        "timestamp(0) + duration('1.5h') == timestamp('1970-01-01T01:30:00Z')",
        "duration('1h15m30.5s') == duration('4530500ms') && string(duration('-90m')) == '-5400s'",
        "duration('90m').getHours() == 1 && duration('-90m').getMinutes() == -90",
        "int(duration('1us')) == 1000",
    ],
)
def test_it_is_true_that(expression: str) -> None:
    assert value_of(expression) is True


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1u", Uint(1)),
        ("{'a': 1}", {"a": 1}),
        ("xs.map(x, string(x))", ("1", "2", "3")),
        ("duration('1s')", Duration(10**9)),
        ("timestamp('1970-01-01T00:00:01+01:00')", Timestamp(-3599 * 10**9)),
        ("b'\\001'", b"\x01"),
        ("null", None),
    ],
)
def test_values(expression: str, value: Any) -> None:
    found = value_of(expression)
    assert found == value
    assert isinstance(found, type(value))


def test_a_map_tells_its_keys_apart() -> None:
    found = value_of("{dyn(1): 'one', dyn(true): 'yes'}")
    assert isinstance(found, Map)
    assert [type(key) for key in found] == [int, bool]
    assert found[1.0] == "one"
    assert found[Uint(1)] == "one"
    assert found[True] == "yes"
    assert 0 not in found


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 / (n - 3)", "division by zero"),
        ("1 % (n - 3)", "modulus by zero"),
        ("9223372036854775807 + n", "integer overflow"),
        ("-9223372036854775808 - n", "integer overflow"),
        ("9223372036854775807 * n", "integer overflow"),
        ("uint(n) - 4u", "unsigned integer overflow"),
        ("xs[n]", "index out of bounds: 3"),
        ("xs[-1]", "index out of bounds: -1"),
        ("ages.bob", "no such key: bob"),
        ("ages['bob']", "no such key: bob"),
        ("d.a.x", "no such key: x"),
        ("d.a.b.x", "unsupported index type 'string' in list"),
        ("d + 1", "no such overload: _+_"),
        ("dyn('a') + n", "no such overload"),
        ("d.contains('a')", "no such overload"),
        ("size(dyn(n))", "no such overload: size"),
        ("int(d.text)", "type conversion error from 'string' to 'int'"),
        ("string(dyn(b'\\xff') == b'' ? b'' : b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"),
        ("optional.none().value()", "optional.none() dereference"),
        ("dyn(0.0) / 0.0 < 1.0", "NaN values cannot be ordered"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
        ("timestamp(0).getHours('Nowhere/Land')", "unknown time zone Nowhere/Land"),
        ("xs.transformMapEntry(i, x, {'k': x})", "insert failed: key k already exists"),
        ("d.map(x, x.y)", "no such key: y"),
        ("dyn(1) && true", "no such overload"),
        ("quantity('1') == dyn('1')", "no such overload"),
        ("[1, 2][dyn(0.5)]", "unsupported index value 0.5 in list"),
        # what looks like an int to the checker, because of what is done with it
        ("dyn([1.5]).reverse()[0] + 1", "no such overload"),
        ("(dyn([1.5]) + [1])[0] + 1", "no such overload"),
        ("dyn(optional.of(1.5)).orValue(2) + 1", "no such overload"),
        ("dyn(['b', 'a']).distinct().isSorted()", "no such overload: isSorted(list)"),
    ],
)
def test_what_fails(expression: str, message: str) -> None:
    with pytest.raises(EvaluationError) as error:
        value_of(expression)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 == 1.0", "1:3: found no matching overload for '_==_' applied to '(int, double)'"),
        ("xs.size() + 'a'", "1:11: found no matching overload for '_+_' applied to '(int, string)'"),
        ("'a'.foo()", "1:8: undeclared reference to 'foo' (in container '')"),
        ("foo.bar", "1:1: undeclared reference to 'foo' (in container '')"),
        ("n.a", "1:2: type 'int' does not support field selection"),
        ("n.all(x, true)", "1:1: expression of type 'int' cannot be range of a comprehension "
         "(must be list, map, or dynamic)"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}", "1:15: expected type 'int' but found 'string'"),
        ("[?1]", "1:3: expected type 'optional_type(int)' but found 'int'"),
        ("true && 1", "1:9: expected type 'bool' but found 'int'"),
        ("xs.all(x, x)", "1:11: expected type 'bool' but found 'int'"),
        ("true ? 1 : 'a'", "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
        ("[1].all(a.b, true)", "1:10: argument must be a simple name"),
        ("[1].map(__result__, true)", "1:9: iteration variable overwrites accumulator variable"),
        ("xs.all(x, x, true)", "1:11: duplicate variable name: x"),
        ("has(n)", "1:5: invalid argument to has() macro"),
        ("duration('1x')", "1:10: invalid duration argument"),
        ("duration(1)", "1:10: invalid duration argument"),
        ("timestamp('2024-02-30T00:00:00Z')", "1:11: invalid timestamp argument"),
        ("'a'.matches('(')", "1:13: invalid matches argument"),
        ("for == 1", "1:1: reserved identifier: for"),
        ("9223372036854775808", "1:1: invalid int literal"),
        ("18446744073709551616u", "1:1: invalid uint literal"),
        ("1e400", "1:1: invalid double literal"),
        (r"'\ud800'", "1:1: invalid unicode code point"),
        ("n.`a`", "1:3: unsupported syntax: '`'"),
        ("Foo{a: 1}", "1:4: undeclared reference to 'Foo' (in container '')"),
        ("n ==", "1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', "
         "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"),
        ("n n", "1:3: Syntax error: extraneous input 'n' expecting <EOF>"),
        ("(n", "1:3: Syntax error: missing ')' at '<EOF>'"),
        ("n # n", "1:3: Syntax error: token recognition error at: '#'"),
    ],
)  # fmt: skip
def test_what_does_not_compile(expression: str, message: str) -> None:
    with pytest.raises(CompileError) as error:
        ENVIRONMENT.compile(expression)
    assert str(error.value).splitlines()[0] == f"ERROR: <input>:{message}"


def test_what_is_computed_beforehand_fails_beforehand() -> None:
    for expression in (
        "int('x') == 1",
        "[1][null] == 1",
        "'a'.matches(string('('))",
        "[int].exists(t, t == int)",
    ):
        with pytest.raises(CompileError):
            ENVIRONMENT.compile(expression)


def test_all_mistakes_are_shown_with_their_lines() -> None:
    with pytest.raises(CompileError) as error:
        ENVIRONMENT.compile("n == 'ä' &&\n\tfoo")
    assert str(error.value) == (
        "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'\n"
        " | n == 'ä' &&\n"
        " | ..^\n"
        "ERROR: <input>:2:2: undeclared reference to 'foo' (in container '')\n"
        " |  foo\n"
        " | .^"
    )
    assert [(issue.line, issue.column) for issue in error.value.issues] == [(1, 3), (2, 2)]


def test_wide_characters_have_wide_marks() -> None:
    with pytest.raises(CompileError) as error:
        ENVIRONMENT.compile("'ä' == 1")
    assert str(error.value).endswith(" | .．..^")


def test_result_types() -> None:
    assert ENVIRONMENT.compile("xs.map(x, [x])").result_type == list_of(list_of(INT))
    assert ENVIRONMENT.compile("d.a").result_type == DYN
    assert ENVIRONMENT.compile("optional.of(n)").result_type == Type("optional_type", (INT,))
    assert ENVIRONMENT.compile("[]").result_type == list_of(DYN)
