"""Strings in double quotes."""

from __future__ import annotations

ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
_TABLE = str.maketrans(ESCAPES)


def quoted(text: str) -> str:
    """With escapes for what expressions have escapes for."""
    return f'"{text.translate(_TABLE)}"'


def printable(text: str) -> str:
    """With escapes for whatever does not print."""
    return '"' + "".join(map(_printable, text)) + '"'


def _printable(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
