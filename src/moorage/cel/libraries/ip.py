"""`ip(...)`: addresses, and what kind of address they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, ClassVar

from moorage.cel.costs import STRING_TRAVERSAL, actual_size, scale
from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload
from moorage.cel.libraries.addresses import Address, AddressError, parse_address
from moorage.cel.libraries.call_costs import reading_overload
from moorage.cel.libraries.quoting import printable
from moorage.cel.types import BOOL, INT, STRING, Type, type_of
from moorage.cel.values import EvaluationError

IP_TYPE = Type("net.IP")


class IP:
    """An address without a zone; its length is that of its bytes."""

    __slots__ = ("address",)

    CEL_TYPE: ClassVar[Type] = IP_TYPE

    def __init__(self, address: Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IP) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __len__(self) -> int:
        return self.address.bits // 8

    def __str__(self) -> str:
        return str(self.address)


def parse_ip(text: str) -> IP:
    try:
        address = parse_address(text)
    except AddressError as error:
        raise EvaluationError(
            f"IP Address {printable(text)} parse error during conversion from string: "
            f"ParseAddr({printable(text)}): {error}"
        ) from None
    if address.zone:
        raise EvaluationError(f"IP address {printable(text)} with zone value is not allowed")
    if address.is_mapped:
        raise EvaluationError(f"IPv4-mapped IPv6 address {printable(text)} is not allowed")
    return IP(address)


def is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except EvaluationError:
        return False
    return True


def is_canonical(text: str) -> bool:
    return str(parse_ip(text)) == text


def family(ip: IP) -> int:
    return 4 if ip.address.bits == 32 else 6


def is_unspecified(ip: IP) -> bool:
    return ip.address.number == 0


def is_loopback(ip: IP) -> bool:
    return _begins_with(ip, 127, 8) if family(ip) == 4 else ip.address.number == 1


def is_link_local_multicast(ip: IP) -> bool:
    if family(ip) == 4:
        return _begins_with(ip, 0xE00000, 24)
    return ip.address.number >> 112 & 0xFF0F == 0xFF02


def is_link_local_unicast(ip: IP) -> bool:
    return _begins_with(ip, 0xA9FE, 16) if family(ip) == 4 else _begins_with(ip, 0xFE80 >> 6, 10)


def is_multicast(ip: IP) -> bool:
    return _begins_with(ip, 0xE, 4) if family(ip) == 4 else _begins_with(ip, 0xFF, 8)


def is_global_unicast(ip: IP) -> bool:
    """Private addresses are, too."""
    if is_unspecified(ip) or (family(ip) == 4 and ip.address.number == 2**32 - 1):
        return False
    return not (is_loopback(ip) or is_multicast(ip) or is_link_local_unicast(ip))


def _begins_with(ip: IP, prefix: int, bits: int) -> bool:
    return ip.address.number >> (ip.address.bits - bits) == prefix


def _canonical_cost(arguments: Sequence[Any], result: Any) -> int:
    """Read, and compared with how it should be written."""
    return ceil(actual_size(arguments[0]) * 2 * STRING_TRAVERSAL)


def _canonical_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    return CallEstimate(scale(arguments[0].size, 2 * STRING_TRAVERSAL))


def _asking(name: str, id: str, call: Callable[[IP], Any], result: Type = BOOL) -> Function:
    return Function(name, (Overload(id, (IP_TYPE,), result, call),))


_IS_CANONICAL = Overload(
    "ip_is_canonical",
    (STRING,),
    BOOL,
    is_canonical,
    is_member=False,
    actual_cost=_canonical_cost,
    estimate=_canonical_estimate,
)

LIBRARY = Library(
    (
        Function("ip", (reading_overload("string_to_ip", IP_TYPE, parse_ip),)),
        Function("isIP", (reading_overload("is_ip", BOOL, is_ip),)),
        Function("ip.isCanonical", (_IS_CANONICAL,)),
        Function("string", (Overload("ip_to_string", (IP_TYPE,), STRING, str, is_member=False),)),
        _asking("family", "ip_family", family, INT),
        _asking("isUnspecified", "ip_is_unspecified", is_unspecified),
        _asking("isLoopback", "ip_is_loopback", is_loopback),
        _asking("isLinkLocalMulticast", "ip_is_link_local_multicast", is_link_local_multicast),
        _asking("isLinkLocalUnicast", "ip_is_link_local_unicast", is_link_local_unicast),
        _asking("isGlobalUnicast", "ip_is_global_unicast", is_global_unicast),
    ),
    constants=(("net.IP", type_of(IP_TYPE), IP_TYPE),),
)
