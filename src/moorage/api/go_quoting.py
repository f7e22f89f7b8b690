"""A text in quotes as messages write it that were first worded in Go."""

from __future__ import annotations

_SHORT = dict(zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True))
"""The letters that have a short form, which is a backslash and this."""


def quoted(text: str) -> str:
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(letter: str) -> str:
    if letter in _SHORT:
        return f"\\{_SHORT[letter]}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    if code < 0x80:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\ufffd"  # half of a letter is none
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
