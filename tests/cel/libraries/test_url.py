from __future__ import annotations

import pytest

from moorage.cel.declarations import Argument, Range
from moorage.cel.types import STRING
from tests.cel.libraries.calling import call, cost, estimate, fails

PARTS = ("scheme", "host", "hostname", "port", "escaped_path")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("https://example.com:80/path?x=1#f", ("https", "example.com:80", "example.com", "80", "/path")),
        ("HTTP://Example.com", ("http", "Example.com", "Example.com", "", "")),
        ("https://[::1]:8080/x", ("https", "[::1]:8080", "::1", "8080", "/x")),
        ("https://[fe80::1%25en0]/", ("https", "[fe80::1%en0]", "fe80::1%en0", "", "/")),
        ("https://user:p@ss@host/", ("https", "host", "host", "", "/")),
        ("/a b/%2f/é", ("", "", "", "", "/a%20b/%2F/%C3%A9".replace("%2F/", "//"))),
        ("/a%20b/%2f", ("", "", "", "", "/a%20b/%2f")),
        ("//host/path", ("", "host", "host", "", "/path")),
        ("///path", ("", "", "", "", "///path")),
        ("mailto:someone@example.com", ("mailto", "", "", "", "")),
        ("http://%c3%a9:/", ("http", "é:", "é", "", "/")),
        ("postgres://a:1,b:2/db", ("postgres", "a:1,b:2", "a:1,b", "2", "/db")),
        ("*", ("", "", "", "", "*")),
        ("/path#with?question", ("", "", "", "", "/path")),
    ],
)
def test_parts(text: str, parts: tuple[str, ...]) -> None:
    url = call("string_to_url", text)
    assert tuple(call(f"url_get_{part}", url) for part in PARTS) == parts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty url"),
        ("example.com", "invalid URI for request"),
        ("?x", "invalid URI for request"),
        (":x", "missing protocol scheme"),
        ("http://h\x7f", "invalid control character in URL"),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://%41/", 'invalid URL escape "%41"'),
        ("/%zz", 'invalid URL escape "%zz"'),
        ("/%4", 'invalid URL escape "%4"'),
        ("http://h:a/", 'invalid port ":a" after host'),
        ("http://a:1:2/", 'invalid port ":1:2" after host'),
        ("http://[::1/", "missing ']' in host"),
        ("http://[::1]x/", 'invalid port "x" after host'),
        ("http://a[::1]/", "invalid IP-literal"),
        ("http://[1.2.3.4]/", "invalid IP-literal"),
        ("http://[g::1]/", "invalid host: "),
        ("http://[::1%25]/", "zone must be a non-empty string"),
        ("http://u é@h/", "invalid userinfo"),
        ("http://u%4@h/", 'invalid URL escape "%4"'),
    ],
)
def test_what_is_not_a_url(text: str, reason: str) -> None:
    message = fails("string_to_url", text)
    assert message.startswith("URL parse error during conversion from string: parse ")
    assert reason in message
    assert call("is_url_string", text) is False


def test_a_malformed_fragment_is_noticed_only_by_url() -> None:
    assert call("is_url_string", "http://h?x#%zz") is True
    assert 'invalid URL escape "%zz"' in fails("string_to_url", "http://h?x#%zz")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {}),
        ("?", {}),
        ("?a=1&b=2&a=3", {"a": ("1", "3"), "b": ("2",)}),
        ("?a&=x&&c==", {"a": ("",), "": ("x",), "c": ("=",)}),
        ("?a+b=%41+c", {"a b": ("A c",)}),
        ("?a=1;b=2&c=%zz&d=1", {"d": ("1",)}),
        ("?" + "a&" * 10_000, {}),
    ],
)
def test_query(query: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert call("url_get_query", call("string_to_url", "http://h/" + query)) == expected


def test_escapes_may_hide_bytes_that_are_no_text() -> None:
    host = call("url_get_host", call("string_to_url", "http://%ff/"))
    assert len(host) == 1
    assert cost("string_index_of_string", host * 10, "a") == 1
    assert call("string_format", "%x", [host]) == "ff"
    assert call("string_find_string", f"a{host}b", "b") == "b"
    assert call("url_get_host", call("string_to_url", f"http://{host}/")) == host
    assert call("format-validate", call("format.dns1123LabelPrefix"), f"{host}{host}-").has_value


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        ("http://h/a b", "http://h/a%20b", True),
        ("http://h/a%2fb", "http://h/a%2Fb", False),
        ("HTTP://h/", "http://h/", True),
        ("http://h", "http://h/", False),
        ("http://h?", "http://h", False),
        ("http://h/#", "http://h/", True),
        ("http://h/#a b", "http://h/#a%20b", True),
        ("http://u%40:p@h", "http://u%40:%70@h", True),
        ("http://é/", "http://%c3%a9/", True),
        ("file:/x", "file:///x", False),
        ("x:y", "x:z", False),
    ],
)
def test_equality(left: str, right: str, is_equal: bool) -> None:
    one, other = call("string_to_url", left), call("string_to_url", right)
    assert (one == other) is is_equal
    assert not is_equal or hash(one) == hash(other)


def test_costs() -> None:
    assert cost("string_to_url", "http://h/x") == 1
    assert cost("string_to_url", "no url, but long enough") == 3
    assert cost("is_url_string", "http://" + "h" * 50) == 1
    text = Argument(STRING, Range(0, 64))
    assert estimate("string_to_url", text) == (Range(0, 7), Range(0, 64))
    assert estimate("is_url_string", text) == (Range(1, 1), None)
