from __future__ import annotations

import math
from typing import Any

import pytest

from moorage.config.document import DocumentError, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16", 16),
        ("1e3", 1000),
        ("16.0", 16),
        ("1.5", 1.5),
        ("0x10", 16),
        ("0o17", 15),
        ("010", 8),
        ("089", 89),
        ("0b11", 3),
        ("1_000", 1000),
        ("-7", -7),
        ("+7", 7),
        ("1:30", "1:30"),
        ("2001-12-14", "2001-12-14"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"),
        ("yes", True),
        ("Off", False),
        ("y", True),
        ("yEs", "yEs"),
        ("~", None),
        ("null", None),
        ("=", "="),
        ("'16'", "16"),
        ("!!str 16", "16"),
        ("!!int '16'", 16),
        ("99999999999999999999999", 99999999999999999999999),
        (".inf", math.inf),
        ("-.inf", -math.inf),
    ],
)
def test_scalars_are_read_as_kubernetes_reads_them(text: str, value: Any) -> None:
    result = read(f"key: {text}").value["key"]
    assert result == value
    assert type(result) is type(value)


def test_not_a_number() -> None:
    assert math.isnan(read(".nan").value)


def test_json_is_read_too() -> None:
    assert read('{\n\t"a": [1, 2.5, null, true, "x\\/y"],\n\t"b": {}\n}').value == {
        "a": [1, 2.5, None, True, "x/y"],
        "b": {},
    }


def test_keys_are_text() -> None:
    assert read("1: a\ntrue: b\n1.5: c").value == {"1": "a", "true": "b", "1.5": "c"}


def test_merge_keys_give_way_to_own_keys() -> None:
    text = "base: &b {x: 1, w: 2}\nmore: &m {x: 3, z: 4}\none: {<<: *b, w: 5}\ntwo: {<<: [*b, *m]}"
    value = read(text).value
    assert value["one"] == {"x": 1, "w": 5}
    assert value["two"] == {"x": 1, "w": 2, "z": 4}
    assert read(text).repeated == []


def test_repeated_keys_are_found_with_path_and_line() -> None:
    found = read("a:\n  - b: 1\n    b: 2\nc: 1\nc: 2").repeated
    assert [(key.path, key.key, key.line) for key in found] == [("a[0].b", "b", 3), ("c", "c", 5)]


def test_further_documents_are_noticed() -> None:
    assert read("a: 1\n---\nb: 2").more_follow
    assert read("a: 1\n---\nb: 2").value == {"a": 1}
    assert not read("---\na: 1\n...\n").more_follow
    assert read("").value is None
    assert read("# nothing\n").value is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c", "line 1, column 5: mapping values are not allowed in this context"),
        ("a: 'open", "line 1, column 9: while scanning a quoted scalar, found unexpected end of stream"),
        ("\tx: 1", "line 1, column 1: while scanning for the next token, found character"),
        ("a: !foo x", "line 1, column 4: unknown tag !foo"),
        ("a: !!binary aGk=", "line 1, column 4: unknown tag tag:yaml.org,2002:binary"),
        ("a: !!set {x}", "line 1, column 4: unknown tag tag:yaml.org,2002:set"),
        ("a: !!int x", "line 1, column 4: cannot decode 'x' as a tag:yaml.org,2002:int"),
        ("? [1]\n: 2", "line 1, column 3: a key must be a single value"),
        ("null: 1", "line 1, column 1: a key must be a single value that is not null"),
        ("a: *b", "line 1, column 4: unknown anchor 'b' referenced"),
        ("a: &b [*b]", "line 1, column 8: anchor 'b' value contains itself"),
        ("<<: 1", "line 1, column 5: map merge requires map or sequence of maps as the value"),
        ("[" * 100_000, "line 1, column 101: nested deeper than 100 levels"),
        ("- " * 5000, "line 1, column 201: nested deeper than 100 levels"),
    ],
)
def test_what_is_not_yaml_says_where(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text", [b"\x00\x01\x02", b"\x7fELF\x02\x01", b"\xff\xfe\xfd", b"\xc3\x28: 1", "a: \x01"]
)
def test_binary_garbage_is_refused_in_one_line(text: str | bytes) -> None:
    with pytest.raises(DocumentError) as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_nested_aliases_are_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(DocumentError, match="document contains excessive aliasing"):
        read("\n".join(levels))


def test_an_alias_is_a_copy() -> None:
    value = read("a: &x {k: []}\nb: *x").value
    value["a"]["k"].append(1)
    assert value["b"] == {"k": []}
