from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cel.costs import fixed
from moorage.cel.declarations import UNKNOWN, Argument, Range
from moorage.cel.types import STRING, list_of
from moorage.cel.values import MAX_INT, MIN_INT, Failure
from tests.cel.libraries.calling import call, cost, estimate, fails, known, overload_of

FACE = "\U0001f600"


@pytest.mark.parametrize(
    ("id", "arguments", "expected"),
    [
        ("string_char_at_int", ("hello", 4), "o"),
        ("string_char_at_int", ("hello", 5), ""),
        ("string_char_at_int", (f"a{FACE}b", 1), FACE),
        ("string_char_at_int", ("", 0), ""),
        ("string_index_of_string", ("hello mellow", "ello"), 1),
        ("string_index_of_string", ("hello mellow", "jello"), -1),
        ("string_index_of_string", ("", "a"), -1),
        ("string_index_of_string", (f"{FACE}a", "a"), 1),
        ("string_index_of_string_int", ("hello mellow", "ello", 2), 7),
        ("string_index_of_string_int", ("hello mellow", "ello", 20), -1),
        ("string_index_of_string_int", ("hello mellow", "", 2), 2),
        ("string_index_of_string_int", ("a", "", -7), -7),
        ("string_index_of_string_int", ("a", "", MAX_INT), MAX_INT),
        ("string_last_index_of_string", ("hello mellow", ""), 12),
        ("string_last_index_of_string", ("hello mellow", "ello"), 7),
        ("string_last_index_of_string", ("", "a"), -1),
        ("string_last_index_of_string", ("é", "ab"), -1),
        ("string_last_index_of_string_int", ("hello mellow", "ello", 6), 1),
        ("string_last_index_of_string_int", ("hello mellow", "ello", 7), 7),
        ("string_last_index_of_string_int", ("hello mellow", "ello", 11), 7),
        ("string_last_index_of_string_int", ("hello mellow", "ello", 12), -1),
        ("string_last_index_of_string_int", ("a", "", 50), 50),
        ("string_lower_ascii", ("TacoCÆt Xii",), "tacocÆt xii"),
        ("string_upper_ascii", ("TacoCæt xii",), "TACOCæT XII"),
        ("string_replace_string_string", ("hello hello", "he", "we"), "wello wello"),
        ("string_replace_string_string", (f"a{FACE}", "", "_"), f"_a_{FACE}_"),
        ("string_replace_string_string", ("", "", "_"), "_"),
        ("string_replace_string_string_int", ("hello hello", "he", "we", 1), "wello hello"),
        ("string_replace_string_string_int", ("hello hello", "he", "we", 0), "hello hello"),
        ("string_replace_string_string_int", ("hello hello", "he", "we", MIN_INT), "wello wello"),
        ("string_replace_string_string_int", ("abc", "", "_", 2), "_a_bc"),
        ("string_split_string", ("a b c", " "), ("a", "b", "c")),
        ("string_split_string", (f"a{FACE}", ""), ("a", FACE)),
        ("string_split_string", ("", ""), ()),
        ("string_split_string", ("", ","), ("",)),
        ("string_split_string_int", ("a b c", " ", 0), ()),
        ("string_split_string_int", ("a b c", " ", 1), ("a b c",)),
        ("string_split_string_int", ("a b c", " ", 2), ("a", "b c")),
        ("string_split_string_int", ("a b c", " ", -1), ("a", "b", "c")),
        ("string_split_string_int", ("abc", "", 2), ("a", "bc")),
        ("string_split_string_int", ("abc", "", MAX_INT), ("a", "b", "c")),
        ("string_substring_int", ("tacocat", 4), "cat"),
        ("string_substring_int", ("tacocat", 7), ""),
        ("string_substring_int_int", ("tacocat", 0, 4), "taco"),
        ("string_substring_int_int", (f"a{FACE}b", 1, 2), FACE),
        ("string_trim", ("\u2003\u0085 \ttrim\n \u00a0",), "trim"),
        ("string_trim", ("\x1ctrim\u200b",), "\x1ctrim\u200b"),
        ("strings_quote", ('a"\\\a\b\f\n\r\t\vé\x00',), '"a\\"\\\\\\a\\b\\f\\n\\r\\t\\vé\x00"'),
        ("list_join", (("a", "b"),), "ab"),
        ("list_join", ((),), ""),
        ("list_join_string", (("a", "b"), ", "), "a, b"),
        ("list_join_string", ((), ", "), ""),
    ],
)
def test_results(id: str, arguments: tuple[object, ...], expected: object) -> None:
    assert call(id, *arguments) == expected


@pytest.mark.parametrize(
    ("id", "arguments", "text"),
    [
        ("string_char_at_int", ("hello", -1), "index out of range: -1"),
        ("string_char_at_int", ("hello", 6), "index out of range: 6"),
        ("string_index_of_string_int", ("hello", "l", -1), "index out of range: -1"),
        ("string_last_index_of_string_int", ("hello", "l", MIN_INT), f"index out of range: {MIN_INT}"),
        ("string_substring_int", ("hello", 6), "index out of range: 6"),
        ("string_substring_int_int", ("hello", 2, 1), "invalid substring range. start: 2, end: 1"),
        ("string_substring_int_int", ("hello", -1, 1), "index out of range: -1"),
        ("string_substring_int_int", ("hello", 1, MAX_INT), f"index out of range: {MAX_INT}"),
        ("list_join", (("a", 1),), "join: invalid input: 1"),
    ],
)
def test_errors(id: str, arguments: tuple[object, ...], text: str) -> None:
    assert fails(id, *arguments) == text


@given(st.text(max_size=20), st.text(max_size=3))
def test_split_and_join_undo_each_other(text: str, separator: str) -> None:
    assert call("list_join_string", call("string_split_string", text, separator), separator) == text


@pytest.mark.parametrize(
    ("id", "arguments", "expected"),
    [
        ("string_char_at_int", ("x" * 100, 1), 1),
        # searching counts bytes and rounds down
        ("string_index_of_string", ("x" * 19, "a"), 1),
        ("string_index_of_string", ("é" * 10, "a"), 2),
        ("string_last_index_of_string", ("", "a"), 0),
        # reading counts code points and rounds up
        ("string_lower_ascii", ("é" * 11,), 2),
        ("string_upper_ascii", ("",), 0),
        ("string_trim", ("x",), 1),
        ("string_substring_int", ("x" * 20, 99), 2),
        ("string_replace_string_string", ("x" * 11, "a", "b"), 3),
        ("string_split_string", ("x" * 5, ","), 1),
        ("list_join", (("x" * 6, "y" * 5),), 3),
        ("list_join", (("a", 1),), 1),
        ("strings_quote", ("x" * 21,), 3),
    ],
)
def test_costs(id: str, arguments: tuple[object, ...], expected: int) -> None:
    assert cost(id, *arguments) == expected


def test_a_receiver_of_the_wrong_type_has_its_own_size() -> None:
    for name, expected in (("string_lower_ascii", 3), ("string_split_string", 5)):
        reckoned = overload_of(name).actual_cost
        assert reckoned is not None
        assert reckoned([(1,) * 25, ","], Failure("no such overload")) == expected


TEXT = Argument(STRING, Range(0, 64))
UNBOUND = Argument(STRING)


def test_estimates_of_copies_are_as_long_as_the_original() -> None:
    for copy in ("string_lower_ascii", "string_upper_ascii", "string_trim", "string_substring_int"):
        assert estimate(copy, TEXT, known(1)) == (Range(0, 7), Range(0, 64))
    assert estimate("string_trim", UNBOUND) == (Range(0, 1844674407370955264), UNKNOWN)


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        (fixed(1), fixed(2), Range(0, 128)),
        (fixed(2), fixed(1), Range(0, 64)),
        (fixed(0), fixed(2), Range(2, 194)),
        (Range(0, 3), Range(1, 5), Range(0, 389)),
        (UNKNOWN, UNKNOWN, Range(0, UNKNOWN.max)),
    ],
)
def test_replaced_strings_grow_and_shrink(old: Range, new: Range, size: Range) -> None:
    found = estimate("string_replace_string_string", TEXT, Argument(STRING, old), Argument(STRING, new))
    assert found == (Range(0, 13), size)


def test_parts_of_a_split_are_limited_by_a_literal() -> None:
    assert estimate("string_split_string", TEXT, known(",")).result_size == Range(0, 64)
    assert estimate("string_split_string_int", TEXT, known(","), known(3)).result_size == Range(0, 3)
    assert estimate("string_split_string_int", TEXT, known(","), known(-1)).result_size == UNKNOWN
    limit = Argument(known(3).type)
    assert estimate("string_split_string_int", TEXT, known(","), limit).result_size == Range(0, 64)


def test_joined_strings_are_as_long_as_all_parts_and_separators() -> None:
    parts = Argument(list_of(STRING), Range(2, 3), element_size=Range(1, 5))
    assert estimate("list_join", parts) == (Range(1, 2), Range(2, 15))
    assert estimate("list_join_string", parts, known(", ")) == (Range(1, 2), Range(4, 19))
    assert estimate("list_join", Argument(list_of(STRING), fixed(1))).result_size == UNKNOWN


def test_quotes_double_a_string_at_most_in_64_bits() -> None:
    assert estimate("strings_quote", TEXT) == (Range(0, 7), Range(2, 130))
    assert estimate("strings_quote", UNBOUND).result_size == Range(2, 0)
