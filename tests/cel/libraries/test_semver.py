from __future__ import annotations

import pytest

from moorage.cel.costs import fixed
from tests.cel.libraries.calling import call, cost, estimate, fails, known

IN_ORDER = (
    "0.0.0-0",
    "0.0.0",
    "1.0.0--",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-10.0",
    "1.0.0-A",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1",
    "1.2.0",
    "1.10.0",
    "2.0.0",
    "18446744073709551615.0.0",
)


def test_order() -> None:
    versions = [call("string_to_semver", text) for text in (*IN_ORDER[:2], *IN_ORDER[3:])]
    for place, one in enumerate(versions):
        for other_place, other in enumerate(versions):
            expected = (place > other_place) - (place < other_place)
            assert call("semver_compare_to", one, other) == expected
            assert call("semver_is_greater_than", one, other) is (expected > 0)
            assert call("semver_is_less_than", one, other) is (expected < 0)
            assert (one == other) is (expected == 0)


def test_a_dash_is_a_name_and_names_come_after_numbers() -> None:
    dash, number, name = (call("string_to_semver", f"1.0.0-{text}") for text in ("-", "9", "A"))
    assert call("semver_is_less_than", number, dash)
    assert call("semver_is_less_than", dash, name)


def test_what_a_version_was_built_from_does_not_count() -> None:
    one, other = call("string_to_semver", "1.0.0+a.1"), call("string_to_semver", "1.0.0")
    assert one == other and hash(one) == hash(other)
    assert call("semver_compare_to", one, other) == 0
    assert str(one) == "1.0.0+a.1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("1.2.x", 'Invalid character(s) found in patch number "x"'),
        ("1.2.", "invalid syntax"),
        ("１.2.3", "Invalid character(s) found in major number"),
        ("18446744073709551616.0.0", "value out of range"),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a..b", "Prerelease is empty"),
        ("1.2.3-01", "must not contain leading zeroes"),
        ("1.2.3-é", "Invalid character(s) found in prerelease"),
        ("1.2.3-18446744073709551616", "value out of range"),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+é", "Invalid character(s) found in build meta data"),
        ("1.2.3.4", "Invalid character(s) found in patch number"),
    ],
)
def test_what_is_not_a_version(text: str, reason: str) -> None:
    assert reason in fails("string_to_semver", text)
    assert call("is_semver_string", text) is False
    assert call("is_semver_string_bool", text, False) is False


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("v1.0.0", "1.0.0"),
        ("1", "1.0.0"),
        ("v1.10", "1.10.0"),
        ("01.02.003", "1.2.3"),
        ("000.00.00-rc.1", "0.0.0-rc.1"),
        ("1.2.03+b", "1.2.3+b"),
    ],
)
def test_normalisation(text: str, normal: str) -> None:
    assert str(call("string_bool_to_semver", text, True)) == normal
    assert call("is_semver_string_bool", text, True) is True


def test_normalisation_has_its_limits() -> None:
    assert "short version" in fails("string_bool_to_semver", "1.2-rc", True)
    assert "short version" in fails("string_bool_to_semver", "1+b", True)
    for text in ("", "v", "vv1", " 1.2.3", "1.2.3-01", "1..3"):
        assert call("is_semver_string_bool", text, True) is False


def test_numbers_have_64_bits_and_a_sign() -> None:
    version = call("string_to_semver", "9223372036854775808.9223372036854775807.3")
    assert call("semver_major", version) == -(2**63)
    assert call("semver_minor", version) == 2**63 - 1
    assert call("semver_patch", version) == 3


def test_costs() -> None:
    assert cost("string_to_semver", "1.2.3-rc.10") == 2
    assert cost("string_bool_to_semver", "v1", True) == 1
    assert cost("is_semver_string", "") == 0
    assert cost("semver_major", call("string_to_semver", "1.2.3")) == 1
    assert estimate("string_bool_to_semver", known("1.2.3-rc.10"), known(True)) == (fixed(2), None)
