from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cel.costs import fixed
from moorage.cel.libraries.ip import IP
from tests.cel.libraries.calling import call, cost, estimate, fails, known


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::", "::"),
        ("0:0:0:0:0:0:0:0", "::"),
        ("2001:DB8::0001", "2001:db8::1"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"),
        ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("::1.2.3.4", "::102:304"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
    ],
)
def test_addresses(text: str, canonical: str) -> None:
    assert call("is_ip", text) is True
    assert call("ip_to_string", call("string_to_ip", text)) == canonical
    assert call("ip_is_canonical", text) is (text == canonical)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1.2.3",
        "1.2.3.4.5",
        "01.2.3.4",
        "1.2.3.256",
        "1.2..3",
        "1.2.3.4 ",
        "１.2.3.4",
        "1:2",
        "12345::",
        "::1::2",
        "1:2:3:4:5:6:7:8::",
        "1:2:3:4::5:6:7:8",
        ":1::2",
        "1::2:",
        "1.2.3.4::",
        "1:2:3:4:5:6:7:1.2.3.4",
        "g::",
        "fe80::1%",
        "%eth0",
    ],
)
def test_what_is_not_an_address(text: str) -> None:
    assert call("is_ip", text) is False
    assert "parse error during conversion from string" in fails("string_to_ip", text)
    assert fails("ip_is_canonical", text) == fails("string_to_ip", text)


def test_addresses_that_are_not_allowed() -> None:
    assert fails("string_to_ip", "fe80::1%eth0") == 'IP address "fe80::1%eth0" with zone value is not allowed'
    message = 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'
    assert fails("string_to_ip", "::ffff:1.2.3.4") == message


QUESTIONS = ("unspecified", "loopback", "link_local_multicast", "link_local_unicast", "global_unicast")


@pytest.mark.parametrize(
    ("text", "family", "truths"),
    [
        ("0.0.0.0", 4, {"unspecified"}),
        ("127.255.0.1", 4, {"loopback"}),
        ("224.0.0.1", 4, {"link_local_multicast"}),
        ("224.0.1.1", 4, set()),
        ("169.254.1.1", 4, {"link_local_unicast"}),
        ("192.168.0.1", 4, {"global_unicast"}),
        ("255.255.255.255", 4, set()),
        ("255.255.255.254", 4, {"global_unicast"}),
        ("::", 6, {"unspecified"}),
        ("::1", 6, {"loopback"}),
        ("ff02::1", 6, {"link_local_multicast"}),
        ("ff12::1", 6, {"link_local_multicast"}),
        ("ff05::1", 6, set()),
        ("febf::1", 6, {"link_local_unicast"}),
        ("fec0::1", 6, {"global_unicast"}),
        ("fd00::1", 6, {"global_unicast"}),
    ],
)
def test_questions(text: str, family: int, truths: set[str]) -> None:
    ip = call("string_to_ip", text)
    assert call("ip_family", ip) == family
    assert {question for question in QUESTIONS if call(f"ip_is_{question}", ip)} == truths


@given(st.ip_addresses())
def test_texts_are_those_of_everybody(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    text = str(address)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        assert call("is_ip", text) is False
    else:
        assert str(call("string_to_ip", text)) == text
        assert call("ip_is_canonical", text) is True


def test_equality_and_size() -> None:
    one, same, other = (call("string_to_ip", text) for text in ("::1", "0::1", "0.0.0.1"))
    assert isinstance(one, IP)
    assert one == same and hash(one) == hash(same)
    assert one != other
    assert (len(one), len(other)) == (16, 4)


def test_costs() -> None:
    assert cost("string_to_ip", "192.168.100.1") == 2
    assert cost("is_ip", "") == 0
    assert cost("ip_is_canonical", "1.2.3.4") == 2
    assert cost("ip_family", call("string_to_ip", "::1")) == 1
    assert estimate("string_to_ip", known("192.168.100.1")) == (fixed(2), None)
    assert estimate("ip_is_canonical", known("1.2.3.4")) == (fixed(2), None)
