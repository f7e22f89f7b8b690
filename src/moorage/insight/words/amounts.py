"""Times, numbers and amounts, as one would say them."""

from __future__ import annotations

from collections.abc import Sequence

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BYTES = ("memory", "ephemeral-storage", "storage")


def age(seconds: float) -> str:
    """How long something has lasted: `12 s`, `3 min`, `5 h 20 min`, `2 d 3 h`."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return _two(hours, "h", minutes, "min")
    return _two(hours // 24, "d", hours % 24, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit}" + (f" {small} {small_unit}" if small else "")


def duration(seconds: float) -> str:
    """How long something took: short times to two digits."""
    if seconds >= 1:
        return age(seconds)
    if seconds >= 0.001:
        return f"{seconds * 1000:.2g} ms" if seconds < 0.0995 else f"{seconds * 1000:.0f} ms"
    return "<1 µs" if 0 < seconds < 5e-7 else f"{max(0.0, seconds) * 1e6:.0f} µs"


def times(count: int) -> str:
    return {0: "not tried yet", 1: "tried once", 2: "tried twice"}.get(count, f"tried {count} times")


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def amount(resource: str, units: int) -> str:
    """So many units of a resource, cpu in millicores; bytes are rounded up to a tenth."""
    if resource == "cpu":
        return f"{units}m" if units % 1000 else str(units // 1000)
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        return str(units)
    suffix, size = "", 1
    for further in _BINARY:
        if units < size * 1024:
            break
        suffix, size = further, size * 1024
    tenths = -(-units * 10 // size)
    return f"{tenths // 10}{suffix}" if tenths % 10 == 0 else f"{tenths / 10:.1f}{suffix}"


def number(value: float) -> str:
    """A number without needless digits."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def listed(names: Sequence[str], most: int = 3, word: str = "and") -> str:
    """`a, b and c`, or `a, b, c and 7 more`."""
    if len(names) > most:
        return f"{', '.join(names[:most])} {word} {len(names) - most} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}"


def sentence(text: str) -> str:
    """The text with a capital at its beginning and a stop at its end."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", ":")) else ".")
