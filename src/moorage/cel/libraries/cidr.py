"""`cidr(...)`: networks, and what lies in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar

from moorage.cel.costs import STRING_TRAVERSAL, actual_size, add, fixed, scale, string_cost
from moorage.cel.declarations import (
    ActualCost,
    Argument,
    CallEstimate,
    Estimate,
    Function,
    Library,
    Overload,
    Range,
)
from moorage.cel.libraries.addresses import Address, AddressError, parse_address
from moorage.cel.libraries.call_costs import reading_overload
from moorage.cel.libraries.ip import IP, IP_TYPE, parse_ip
from moorage.cel.libraries.quoting import printable
from moorage.cel.types import BOOL, INT, STRING, Type, type_of
from moorage.cel.values import EvaluationError

CIDR_TYPE = Type("net.CIDR")

_BITS = re.compile(r"0|[1-9][0-9]*")
_ERROR = "network address parse error during conversion from string: "


class CIDR:
    """An address and how many of its bits are those of the network; its length is that of those, in bytes."""

    __slots__ = ("address", "bits")

    CEL_TYPE: ClassVar[Type] = CIDR_TYPE

    def __init__(self, address: Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDR) and self.bits == other.bits and self.address == other.address

    def __hash__(self) -> int:
        return hash((self.address, self.bits))

    def __len__(self) -> int:
        return ceil(self.bits / 8)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def parse_cidr(text: str) -> CIDR:
    before, slash, after = text.rpartition("/")
    try:
        if not slash:
            raise AddressError("no '/'")
        address = parse_address(before)
        if address.zone:
            raise AddressError("IPv6 zones cannot be present in a prefix")
        if _BITS.fullmatch(after) is None:
            raise AddressError(f"bad bits after slash: {printable(after)}")
        if int(after) > address.bits:
            raise AddressError("prefix length out of range")
    except AddressError as error:
        raise EvaluationError(f"{_ERROR * 2}netip.ParsePrefix({printable(text)}): {error}") from None
    if address.is_mapped:
        raise EvaluationError(f"{_ERROR}IPv4-mapped IPv6 address {printable(text)} is not allowed")
    return CIDR(address, int(after))


def is_cidr(text: str) -> bool:
    try:
        parse_cidr(text)
    except EvaluationError:
        return False
    return True


def contains_ip(network: CIDR, ip: IP) -> bool:
    return _agree(network.address, ip.address, network.bits)


def contains_ip_text(network: CIDR, text: str) -> bool:
    return contains_ip(network, parse_ip(text))


def contains_cidr(network: CIDR, other: CIDR) -> bool:
    return network.bits <= other.bits and _agree(network.address, other.address, network.bits)


def contains_cidr_text(network: CIDR, text: str) -> bool:
    return contains_cidr(network, parse_cidr(text))


def address_of(network: CIDR) -> IP:
    return IP(network.address)


def prefix_length(network: CIDR) -> int:
    return network.bits


def masked(network: CIDR) -> CIDR:
    """Without the bits that are not the network's."""
    rest = network.address.bits - network.bits
    return CIDR(network.address._replace(number=network.address.number >> rest << rest), network.bits)


def _agree(left: Address, right: Address, bits: int) -> bool:
    return left.bits == right.bits and (left.number ^ right.number) >> (left.bits - bits) == 0


def _compared(arguments: Sequence[Any]) -> int:
    return ceil(2 * actual_size(arguments[0]) * STRING_TRAVERSAL)


def _contains_ip_cost(arguments: Sequence[Any], result: Any) -> int:
    return _compared(arguments)


def _contains_cidr_cost(arguments: Sequence[Any], result: Any) -> int:
    """The base of the network is reckoned, and the numbers of bits are compared."""
    return _compared(arguments) + string_cost(actual_size(arguments[0])) + 1


def _and_reading(cost: ActualCost) -> ActualCost:
    return lambda arguments, result: cost(arguments, result) + string_cost(actual_size(arguments[1]))


_ADDRESS_SIZE = Range(4, 16)
_COMPARED = scale(add(_ADDRESS_SIZE, _ADDRESS_SIZE), STRING_TRAVERSAL)
_CONTAINS_IP = CallEstimate(_COMPARED)
_CONTAINS_CIDR = CallEstimate(add(add(_COMPARED, scale(_ADDRESS_SIZE, STRING_TRAVERSAL)), fixed(1)))


def _estimate(known: CallEstimate) -> Estimate:
    return lambda arguments: known


def _estimate_with_reading(known: CallEstimate) -> Estimate:
    def estimate(arguments: Sequence[Argument]) -> CallEstimate:
        return CallEstimate(add(known.cost, scale(arguments[1].size, STRING_TRAVERSAL)))

    return estimate


_CONTAINS_IP_OVERLOADS = (
    Overload(
        "cidr_contains_ip_string",
        (CIDR_TYPE, STRING),
        BOOL,
        contains_ip_text,
        actual_cost=_and_reading(_contains_ip_cost),
        estimate=_estimate_with_reading(_CONTAINS_IP),
    ),
    Overload(
        "cidr_contains_ip_ip",
        (CIDR_TYPE, IP_TYPE),
        BOOL,
        contains_ip,
        actual_cost=_contains_ip_cost,
        estimate=_estimate(_CONTAINS_IP),
    ),
)
_CONTAINS_CIDR_OVERLOADS = (
    Overload(
        "cidr_contains_cidr_string",
        (CIDR_TYPE, STRING),
        BOOL,
        contains_cidr_text,
        actual_cost=_and_reading(_contains_cidr_cost),
        estimate=_estimate_with_reading(_CONTAINS_CIDR),
    ),
    Overload(
        "cidr_contains_cidr",
        (CIDR_TYPE, CIDR_TYPE),
        BOOL,
        contains_cidr,
        actual_cost=_contains_cidr_cost,
        estimate=_estimate(_CONTAINS_CIDR),
    ),
)

LIBRARY = Library(
    (
        Function("cidr", (reading_overload("string_to_cidr", CIDR_TYPE, parse_cidr),)),
        Function("isCIDR", (reading_overload("is_cidr", BOOL, is_cidr),)),
        Function("string", (Overload("cidr_to_string", (CIDR_TYPE,), STRING, str, is_member=False),)),
        Function("containsIP", _CONTAINS_IP_OVERLOADS, unresolved_cost=_contains_ip_cost),
        Function("containsCIDR", _CONTAINS_CIDR_OVERLOADS, unresolved_cost=_contains_cidr_cost),
        Function("ip", (Overload("cidr_ip", (CIDR_TYPE,), IP_TYPE, address_of),)),
        Function("prefixLength", (Overload("cidr_prefix_length", (CIDR_TYPE,), INT, prefix_length),)),
        Function("masked", (Overload("cidr_masked", (CIDR_TYPE,), CIDR_TYPE, masked),)),
    ),
    constants=(("net.CIDR", type_of(CIDR_TYPE), CIDR_TYPE),),
)
