from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.names import (
    dns_label_problems,
    dns_subdomain_problems,
    is_label_value,
    is_qualified_name,
    label_value_problems,
    qualified_name_problems,
)

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "example.com/x", "x" * 63, "0"])
def test_good_qualified_names(name: str) -> None:
    assert qualified_name_problems(name) == []


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("", ["name part must be non-empty", f"name part {NAME_RULE}"]),
        ("-a", [f"name part {NAME_RULE}"]),
        ("a\n", [f"name part {NAME_RULE}"]),
        ("x" * 64, ["name part must be no more than 63 bytes"]),
        ("/a", ["prefix part must be non-empty"]),
        ("A.b/a", [f"prefix part {SUBDOMAIN_RULE}"]),
        (
            "a/b/c",
            [
                f"a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. "
                f"'example.com/MyName')"
            ],
        ),
    ],
)
def test_bad_qualified_names(name: str, problems: list[str]) -> None:
    assert qualified_name_problems(name) == problems


def test_label_values() -> None:
    assert label_value_problems("") == label_value_problems("a.b") == []
    assert label_value_problems("x" * 64) == ["must be no more than 63 bytes"]
    assert label_value_problems("-5")[0].startswith("a valid label must be an empty string or consist of")


def test_dns_names() -> None:
    assert dns_label_problems("my-name") == dns_subdomain_problems("my.name") == []
    assert dns_label_problems("my.name") == ["must not contain dots"]
    assert dns_label_problems("My")[0].startswith("a lowercase RFC 1123 label must consist of")
    assert dns_subdomain_problems("a" * 254) == ["must be no more than 253 bytes"]


@given(st.text("aA0-_./é\n", max_size=70))
def test_agrees_with_the_plain_predicates(name: str) -> None:
    assert (qualified_name_problems(name) == []) == is_qualified_name(name)
    assert (label_value_problems(name) == []) == is_label_value(name)
