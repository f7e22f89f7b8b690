"""The IP addresses of the simulated network: those of nodes, and those of pods out of their node's range."""

from __future__ import annotations

import itertools
import sys
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network
from zlib import crc32

from moorage.cluster.base import parts
from moorage.cluster.base.store import Document, Stored

RANGES = 2**15  # ranges for pods; what nodes come after that do not get one of their own
LOOPBACK = "127.0.0.1"
_OVERFLOW = "100.64.0.0/10"


def node_address(number: int) -> str:
    """10.0.0.1 and on, in the lower half of 10.0.0.0/8."""
    return f"10.{number >> 16 & 127}.{number >> 8 & 255}.{number & 255}"


def pod_range(number: int) -> str:
    """10.128.1.0/24 and on, in the upper half of 10.0.0.0/8."""
    return f"10.{128 + (number >> 8)}.{number & 255}.0/24"


def address_of(node: Document) -> str:
    """The address at which a node is reached."""
    addresses = parts.records(node, "status", "addresses")
    internal = (parts.text(each, "address") for each in addresses if each.get("type") == "InternalIP")
    return next(internal, "")


def local_address(pod: Document) -> str:
    """Where the processes of a pod that really runs listen on this machine.

    Each pod has a loopback address of its own, as it would have a network of its own: several of them can use
    the same port. Only Linux has more than one; pods of the host's network share its address anywhere.
    """
    if sys.platform != "linux" or (pod.get("spec") or {}).get("hostNetwork"):
        return LOOPBACK
    number = crc32(pod["metadata"]["uid"].encode())
    return f"127.{1 + number % 254}.{number >> 8 & 255}.{1 + (number >> 16) % 254}"


class NodeNumbers:
    """Numbers whose address and range no node has yet."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers = itertools.count(1)

    def note(self, node: Stored) -> None:
        """Learns what a node has already."""
        self._taken.update(address.get("address", "") for address in node.status.get("addresses") or ())
        self._taken.update(node.spec.get("podCIDRs") or ())

    def take(self) -> int:
        number = next(self._numbers)
        while not self._taken.isdisjoint((node_address(number), pod_range(number))):
            number = next(self._numbers)
        return number


class PodAddresses:
    """Gives every pod an address of its own, and takes it back."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def note(self, uid: str, address: str) -> None:
        """Learns of an address that a pod has from earlier."""
        self._held[uid] = address
        self._used.add(address)

    def take(self, uid: str, node: Document) -> str:
        """The address of a pod, from its node's range as long as there are some."""
        if uid not in self._held:
            own = parts.text(node, "spec", "podCIDR")
            self.note(uid, self._from(own) or self._from(_OVERFLOW))
        return self._held[uid]

    def release(self, uid: str) -> None:
        self._used.discard(self._held.pop(uid, ""))

    def _from(self, text: str) -> str:
        network = _network(text)
        if network is None:
            return ""
        # One after the other and around again, so that an address is not used again at once.
        count = min(max(network.num_addresses - 2, 0), 2**20)
        start = self._next.get(text, 0)
        for step in range(count):
            offset = (start + step) % count
            address = str(network[1 + offset])
            if address not in self._used:
                self._next[text] = offset + 1
                return address
        return ""


@lru_cache(maxsize=8192)
def _network(text: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
