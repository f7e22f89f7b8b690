"""Texts from a cluster, made safe to show: nobody may move the cursor or colour a terminal with them."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text in one line; what a terminal would take as a command is shown as `\\x1b` and the like."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode() if letter.isascii() else f"\\u{ord(letter):04x}"
