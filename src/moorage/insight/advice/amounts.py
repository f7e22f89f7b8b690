"""Amounts of resources, written as the API writes them."""

from __future__ import annotations

from moorage.api.meta import Quantity
from moorage.api.quantities import NANOS, NANOS_PER_MILLI, QuantityError, parse
from moorage.api.resources import CPU

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BYTES = ("memory", "ephemeral-storage", "storage")


def unit(name: str) -> int:
    """The nanos in the unit a scheduler counts a resource in."""
    return NANOS_PER_MILLI if name == CPU else NANOS


def nanos(quantity: Quantity | None) -> int:
    """What a document says; nothing, or nothing readable, is 0."""
    try:
        return 0 if quantity is None else parse(quantity)
    except QuantityError:
        return 0


def written(name: str, amount: int) -> str:
    """So many nanos of a resource, exact to the unit a scheduler counts in, rounded down."""
    if name == CPU:
        millis = amount // NANOS_PER_MILLI
        return f"{millis}m" if millis % 1000 else str(millis // 1000)
    whole = amount // NANOS
    suffix = ""
    if name in _BYTES or name.startswith("hugepages-"):
        for further in _BINARY:
            if not whole or whole % 1024:
                break
            whole, suffix = whole // 1024, further
    return f"{whole}{suffix}"
