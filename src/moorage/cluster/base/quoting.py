"""Texts in quotes, the way the API's messages have them."""

from __future__ import annotations

from collections.abc import Iterable

_SHORT = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quoted(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def quoted_list(texts: Iterable[str]) -> str:
    """`["a" "b"]`"""
    return f"[{' '.join(map(quoted, texts))}]"


def _escaped(letter: str) -> str:
    if letter in _SHORT:
        return _SHORT[letter]
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"  # half of a letter is none
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
