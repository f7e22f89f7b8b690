"""IP addresses and ranges of them in fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.schema.forms import LEADING_ZEROS
from moorage.cluster.schema.forms import parse_address as parse


def version(text: str) -> str:
    return "IPv4" if isinstance(parse(text), IPv4Address) else "IPv6"


def family(text: str) -> str:
    """As `version`, but an IPv4 address in an IPv6 one is IPv4."""
    found = parse(text)
    return "IPv6" if isinstance(found, IPv6Address) and found.ipv4_mapped is None else "IPv4"


def endpoint_ip(field: str, value: str) -> Iterator[Cause]:
    """An address that traffic can be sent to."""
    found = parse(value)
    if found is None:
        yield invalid_value(field, value, "must be a valid IP address")
        return
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    if found.is_unspecified:
        yield invalid_value(field, value, f"may not be unspecified ({value})")
    if found.is_loopback:
        yield invalid_value(field, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if found.is_link_local:
        yield invalid_value(field, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_link_local_multicast(found):
        yield invalid_value(
            field, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        )


def _is_link_local_multicast(found: IPv4Address | IPv6Address) -> bool:
    packed = found.packed
    if isinstance(found, IPv4Address):
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 2


def cidr(field: str, value: str) -> Iterator[Cause]:
    """A range of addresses in a plain form."""
    address, slash, length = value.partition("/")
    found = parse(address)
    bits = -1
    if slash and length.isascii() and length.isdigit() and len(length) < 10:
        bits = int(length)
    if found is None or not 0 <= bits <= found.max_prefixlen:
        yield invalid_value(field, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    elif str(bits) != length or (isinstance(found, IPv4Address) and LEADING_ZEROS.search(address)):
        yield invalid_value(field, value, "must not have leading 0s in IP or prefix length")
    elif isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        yield invalid_value(field, value, "must not have an IPv4-mapped IPv6 address")
    elif ip_network((found, bits), strict=False).network_address != found:
        yield invalid_value(field, value, "must not have bits set beyond the prefix length")


def network(value: str) -> IPv4Network | IPv6Network | None:
    """The range that a text stands for, also one in an odd form; None if it stands for none."""
    address, slash, length = value.partition("/")
    found = parse(address)
    if found is None or not (slash and length.isascii() and length.isdigit() and len(length) < 10):
        return None
    if int(length) > found.max_prefixlen:
        return None
    return ip_network((found, int(length)), strict=False)


def canonical_cidr(field: str, value: str) -> Iterator[Cause]:
    """A range in the one form that is written for it."""
    problems = list(cidr(field, value))
    yield from problems
    found = network(value)
    if not problems and found is not None and str(found) != value:
        yield invalid_value(field, value, f'must be in canonical form ("{found}")')


def cidr_warnings(field: str, value: str) -> list[str]:
    """What there is to say about a range that is in order, but not in the usual form."""
    found = network(value)
    if isinstance(found, IPv6Network) and str(found) != value:
        text = f'IPv6 CIDR value "{value}" should be in RFC 5952 canonical format ("{found}")'
        return [f"{field}: {text}"]
    return []


def is_dual_stack(values: Sequence[str]) -> bool:
    """Whether there are addresses, or ranges, of both families."""
    return len({family(value.partition("/")[0]) for value in values}) == 2
