from __future__ import annotations

import pytest

from moorage.cel.costs import fixed
from moorage.cel.declarations import Argument, Range
from moorage.cel.libraries.cidr import CIDR_TYPE
from moorage.cel.types import STRING
from moorage.cel.values import Failure
from tests.cel.libraries.calling import call, cost, estimate, fails, function_of


@pytest.mark.parametrize(
    ("text", "shown", "masked", "bits", "address"),
    [
        ("192.168.0.1/24", "192.168.0.1/24", "192.168.0.0/24", 24, "192.168.0.1"),
        ("10.255.0.0/0", "10.255.0.0/0", "0.0.0.0/0", 0, "10.255.0.0"),
        ("1.2.3.4/32", "1.2.3.4/32", "1.2.3.4/32", 32, "1.2.3.4"),
        ("2001:DB8::1/33", "2001:db8::1/33", "2001:db8::/33", 33, "2001:db8::1"),
        ("::1/128", "::1/128", "::1/128", 128, "::1"),
    ],
)
def test_networks(text: str, shown: str, masked: str, bits: int, address: str) -> None:
    network = call("string_to_cidr", text)
    assert call("is_cidr", text) is True
    assert call("cidr_to_string", network) == shown
    assert call("cidr_to_string", call("cidr_masked", network)) == masked
    assert call("cidr_prefix_length", network) == bits
    assert call("ip_to_string", call("cidr_ip", network)) == address


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1.2.3.4", "no '/'"),
        ("", "no '/'"),
        ("1.2.3.4/", 'bad bits after slash: ""'),
        ("1.2.3.4/08", 'bad bits after slash: "08"'),
        ("1.2.3.4/+8", 'bad bits after slash: "+8"'),
        ("1.2.3.4/33", "prefix length out of range"),
        ("::1/129", "prefix length out of range"),
        ("::1%e/64", "IPv6 zones cannot be present in a prefix"),
        ("1.2.3/8", "IPv4"),
        ("1.2.3.4/8/8", "IPv4"),
        ("::ffff:1.2.3.4/96", "IPv4-mapped IPv6 address"),
    ],
)
def test_what_is_not_a_network(text: str, reason: str) -> None:
    message = fails("string_to_cidr", text)
    assert message.startswith("network address parse error during conversion from string: ")
    assert reason in message
    assert call("is_cidr", text) is False


@pytest.mark.parametrize(
    ("network", "ip", "expected"),
    [
        ("192.168.0.0/24", "192.168.0.255", True),
        ("192.168.0.7/24", "192.168.0.255", True),
        ("192.168.0.0/24", "192.168.1.0", False),
        ("0.0.0.0/0", "255.255.255.255", True),
        ("0.0.0.0/0", "::1", False),
        ("::/0", "1.2.3.4", False),
        ("2001:db8::/32", "2001:db8:ffff::1", True),
    ],
)
def test_addresses_in_networks(network: str, ip: str, expected: bool) -> None:
    parsed = call("string_to_cidr", network)
    assert call("cidr_contains_ip_string", parsed, ip) is expected
    assert call("cidr_contains_ip_ip", parsed, call("string_to_ip", ip)) is expected


@pytest.mark.parametrize(
    ("network", "other", "expected"),
    [
        ("192.168.0.0/16", "192.168.10.0/24", True),
        ("192.168.0.0/16", "192.168.0.0/16", True),
        ("192.168.0.0/24", "192.168.0.0/16", False),
        ("192.168.0.0/24", "192.168.1.0/24", False),
        ("0.0.0.0/0", "10.0.0.0/8", True),
        ("0.0.0.0/0", "::/0", False),
    ],
)
def test_networks_in_networks(network: str, other: str, expected: bool) -> None:
    parsed = call("string_to_cidr", network)
    assert call("cidr_contains_cidr_string", parsed, other) is expected
    assert call("cidr_contains_cidr", parsed, call("string_to_cidr", other)) is expected


def test_malformed_arguments() -> None:
    network = call("string_to_cidr", "10.0.0.0/8")
    assert fails("cidr_contains_ip_string", network, "x") == fails("string_to_ip", "x")
    assert fails("cidr_contains_cidr_string", network, "x") == fails("string_to_cidr", "x")


def test_equality_is_that_of_all_bits() -> None:
    one, other = call("string_to_cidr", "10.0.0.1/8"), call("string_to_cidr", "10.0.0.0/8")
    assert one != other
    assert call("cidr_masked", one) == other
    assert hash(call("cidr_masked", one)) == hash(other)
    assert [len(call("string_to_cidr", f"1.2.3.4/{bits}")) for bits in (0, 1, 8, 9, 32)] == [0, 1, 1, 2, 4]


def test_costs() -> None:
    small, large = call("string_to_cidr", "10.0.0.0/8"), call("string_to_cidr", "::1/128")
    nothing = call("string_to_cidr", "0.0.0.0/0")
    ip = call("string_to_ip", "10.0.0.1")
    assert cost("string_to_cidr", "10.100.0.0/16") == 2
    assert cost("cidr_contains_ip_ip", small, ip) == 1
    assert cost("cidr_contains_ip_ip", large, ip) == 4
    assert cost("cidr_contains_ip_ip", nothing, ip) == 0
    assert cost("cidr_contains_ip_string", small, "10.100.100.1") == 1 + 2
    assert cost("cidr_contains_cidr", large, small) == 4 + 2 + 1
    assert cost("cidr_contains_cidr_string", large, "10.100.0.0/16") == 4 + 2 + 1 + 2
    assert cost("cidr_masked", small) == 1


def test_where_the_overload_is_open_the_text_is_not_counted() -> None:
    for name, expected in (("cidr_contains_ip_string", 1), ("cidr_contains_cidr_string", 3)):
        unresolved = function_of(name).unresolved_cost
        assert unresolved is not None
        assert unresolved([call("string_to_cidr", "10.0.0.0/8"), "10.100.100.100"], True) == expected
        assert unresolved([Failure("x"), Failure("x")], Failure("x")) == expected


def test_estimates() -> None:
    network, text = Argument(CIDR_TYPE), Argument(STRING, Range(0, 64))
    assert estimate("cidr_contains_ip_ip", network, text) == (Range(1, 4), None)
    assert estimate("cidr_contains_ip_string", network, text) == (Range(1, 11), None)
    assert estimate("cidr_contains_cidr", network, text) == (Range(3, 7), None)
    assert estimate("cidr_contains_cidr_string", network, text) == (Range(3, 14), None)
    assert estimate("cidr_ip", network) == (fixed(1), None)
