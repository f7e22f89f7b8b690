"""Which name was probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, whatever the case of its letters; None if none is."""
    import difflib

    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, 1, cutoff=0.7)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to add to a message about a name that nobody knows; empty if no known one is like it."""
    found = closest(name, known)
    return f'; did you mean "{found}"?' if found else ""
