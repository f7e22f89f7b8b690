"""Amounts in words."""

from __future__ import annotations


def bytes_in_words(amount: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount} bytes"


def seconds_in_words(seconds: float) -> str:
    """The two largest units, such as `1 day 3 hours`."""
    whole = round(seconds)
    parts = []
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count} {unit}{'s' if count > 1 else ''}")
    return " ".join(parts[:2]) or "0 seconds"
